//! Checks the invariants of `ARCHITECTURE.md` that manifests and source text show: dependencies of crates,
//! the homes of heavy dependencies, crates without input and output, and the length of files.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Every crate with the crates of the workspace that it may depend on. Tests may use more.
const CRATES: &[(&str, &[&str])] = &[
    ("sched-diagnostics", &[]),
    ("sched-grammar", &["sched-diagnostics"]),
    ("sched-categories", &[]),
    ("sched-columns", &[]),
    ("sched-outputs", &[]),
    ("sched-forest", &["sched-categories", "sched-columns", "sched-diagnostics", "sched-outputs"]),
    ("sched-pipeline", &["sched-columns", "sched-forest"]),
    ("sched-machines", &[]),
    ("sched-nest", &[]),
    ("sched-lang", &["sched-diagnostics", "sched-grammar", "sched-machines", "sched-nest"]),
    ("sched-ide", &["sched-grammar", "sched-lang", "sched-machines", "sched-nest"]),
    (
        "sched-ir",
        &[
            "sched-columns",
            "sched-diagnostics",
            "sched-forest",
            "sched-nest",
            "sched-outputs",
            "sched-pipeline",
        ],
    ),
    ("sched-cost", &["sched-forest", "sched-ir", "sched-machines", "sched-nest"]),
    ("sched-library", &["sched-outputs"]),
    ("sched-llvm", &["sched-diagnostics", "sched-ir", "sched-library", "sched-machines"]),
    ("sched-gpu", &["sched-library", "sched-llvm", "sched-machines"]),
    ("sched-testing", &["sched-columns", "sched-forest", "sched-lang", "sched-nest", "sched-pipeline"]),
    ("sched-lsp", &["sched-grammar", "sched-ide", "sched-lang", "sched-machines", "sched-nest"]),
    ("schedc-data", &["sched-categories", "sched-diagnostics"]),
    (
        "schedc-driver",
        &[
            "sched-categories",
            "sched-columns",
            "sched-cost",
            "sched-diagnostics",
            "sched-forest",
            "sched-ir",
            "sched-lang",
            "sched-llvm",
            "sched-nest",
            "sched-pipeline",
        ],
    ),
    (
        "schedc-measure",
        &[
            "sched-cost",
            "sched-diagnostics",
            "sched-forest",
            "sched-gpu",
            "sched-ir",
            "sched-lang",
            "sched-llvm",
            "sched-nest",
            "schedc-driver",
        ],
    ),
    ("schedc-tune", &["sched-lang", "sched-llvm", "sched-nest", "schedc-driver", "schedc-measure"]),
    (
        "schedc-verify",
        &[
            "sched-diagnostics",
            "sched-forest",
            "sched-lang",
            "sched-llvm",
            "sched-nest",
            "schedc-data",
            "schedc-driver",
        ],
    ),
    (
        "schedc",
        &[
            "schedc-data",
            "schedc-driver",
            "schedc-measure",
            "schedc-tune",
            "schedc-verify",
            "sched-categories",
            "sched-diagnostics",
            "sched-forest",
            "sched-gpu",
            "sched-ir",
            "sched-lang",
            "sched-llvm",
            "sched-lsp",
            "sched-machines",
            "sched-nest",
        ],
    ),
    ("schedc-python", &["sched-categories", "sched-library"]),
    (
        "schedc-python-compiler",
        &[
            "sched-diagnostics",
            "sched-forest",
            "sched-lang",
            "sched-llvm",
            "sched-nest",
            "schedc",
            "schedc-driver",
        ],
    ),
];

/// Crates that need Python to be built and tested.
const OF_PYTHON: &[&str] = &["schedc-python", "schedc-python-compiler"];

/// Heavy dependencies, each with the only crate that may use it.
const HOMES: &[(&str, &str)] = &[
    ("ar_archive_writer", "sched-llvm"),
    ("ariadne", "sched-lang"),
    ("arrow-array", "schedc-data"),
    ("arrow-ipc", "schedc-data"),
    ("arrow-schema", "schedc-data"),
    ("clap", "schedc"),
    ("csv", "schedc-data"),
    ("cust", "sched-gpu"),
    ("indicatif", "schedc"),
    ("inkwell", "sched-llvm"),
    ("lalrpop", "sched-grammar"),
    ("lalrpop-util", "sched-grammar"),
    ("libloading", "sched-library"),
    ("logos", "sched-grammar"),
    ("numpy", "schedc-python"),
    ("parquet", "schedc-data"),
    ("tokio", "sched-lsp"),
    ("tower-lsp-server", "sched-lsp"),
    ("zip", "schedc-data"),
];

/// Heavy dependencies that tests of other crates may use.
const IN_TESTS: &[(&str, &str)] = &[("libloading", "sched-llvm")];

/// Dependencies of heavy dependencies, which crates reach only through their owner.
const NOT_DIRECTLY: &[&str] = &["llvm-sys", "ls-types"];

/// Crates without input and output: bytes and texts in, bytes and texts out.
const WITHOUT_IO: &[&str] = &[
    "sched-diagnostics",
    "sched-grammar",
    "sched-categories",
    "sched-columns",
    "sched-outputs",
    "sched-forest",
    "sched-pipeline",
    "sched-machines",
    "sched-nest",
    "sched-lang",
    "sched-ide",
    "sched-ir",
    "sched-cost",
];

/// Modules of the standard library that reach outside the process.
const IO: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread", "time"];

/// Source files must have fewer lines. Tests are separate and may be longer.
const MOST_LINES: usize = 500;

struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    for_tests: bool,
    optional: bool,
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value[key].as_str().ok_or_else(|| format!("cargo metadata has no `{key}`").into())
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value]> {
    Ok(value[key].as_array().ok_or_else(|| format!("cargo metadata has no `{key}`"))?)
}

/// The workspace's own crates, as their manifests describe them.
fn packages() -> Result<Vec<Package>> {
    list(&metadata()?, "packages")?.iter().map(package).collect()
}

/// The workspace's metadata, by cargo.
fn metadata() -> Result<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn package(value: &Value) -> Result<Package> {
    let dependency = |value: &Value| {
        Ok(Dependency {
            name: text(value, "name")?.to_string(),
            for_tests: value["kind"] == "dev",
            optional: value["optional"] == true,
        })
    };
    let manifest = Path::new(text(value, "manifest_path")?);
    Ok(Package {
        name: text(value, "name")?.to_string(),
        folder: manifest.parent().ok_or("a manifest lies in a folder")?.to_path_buf(),
        dependencies: list(value, "dependencies")?.iter().map(dependency).collect::<Result<_>>()?,
    })
}

/// All files below a folder that hold source code, without tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, into)?;
        } else if path.extension().is_some_and(|ext| ["rs", "c", "h", "lalrpop"].iter().any(|e| ext == *e)) {
            into.push(path);
        }
    }
    Ok(())
}

/// The source files of a crate: its `src`, and the C runtime of the back end.
fn sources_of(package: &Package) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["src", "runtime"].map(|name| package.folder.join(name)) {
        if folder.is_dir() {
            sources(&folder, &mut files)?;
        }
    }
    assert!(!files.is_empty(), "{} has no source files", package.name);
    Ok(files)
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{}\nARCHITECTURE.md says why", problems.join("\n"));
}

#[test]
fn crates_depend_only_on_what_lies_below_them() -> Result<()> {
    let packages = packages()?;
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let ruled: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ruled, "the workspace's crates and the table of this test");

    let mut problems = Vec::new();
    for package in &packages {
        let allowed =
            CRATES.iter().find(|(name, _)| *name == package.name).map_or(&[][..], |(_, below)| below);
        let built_on = package.dependencies.iter().filter(|dependency| !dependency.for_tests);
        for Dependency { name, .. } in built_on {
            if names.contains(name.as_str()) && !allowed.contains(&name.as_str()) {
                problems.push(format!("{} must not know {name}", package.name));
            }
        }
    }
    assert_none(&problems);
    Ok(())
}

#[test]
fn all_crates_but_those_of_python_are_default_members() -> Result<()> {
    let metadata = metadata()?;
    let default = list(&metadata, "workspace_default_members")?;
    let left_out = list(&metadata, "packages")?.iter().filter(|package| !default.contains(&package["id"]));
    let left_out: BTreeSet<&str> = left_out.map(|package| text(package, "name")).collect::<Result<_>>()?;
    assert_eq!(
        left_out,
        OF_PYTHON.iter().copied().collect(),
        "`cargo test` leaves out what is no default member"
    );
    Ok(())
}

/// In crates that list one program of tests, every file of tests is a module of it: Cargo compiles no other
/// file.
#[test]
fn every_file_of_tests_is_a_program_or_a_module_of_one() -> Result<()> {
    let (mut problems, mut listed) = (Vec::new(), 0);
    for package in packages()? {
        let Ok(main) = fs::read_to_string(package.folder.join("tests/main.rs")) else { continue };
        let manifest = fs::read_to_string(package.folder.join("Cargo.toml"))?;
        for entry in fs::read_dir(package.folder.join("tests"))? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_none_or(|extension| extension != "rs") && !path.join("mod.rs").exists() {
                continue;
            }
            let is_program = manifest.contains(&format!("path = \"tests/{name}.rs\""));
            let is_module = main.lines().any(|line| line == format!("mod {name};"));
            listed += 1;
            if !is_program && !is_module {
                problems.push(format!("{}: tests/main.rs of {} lacks it", path.display(), package.name));
            }
        }
    }
    assert!(listed > 50, "only {listed} files");
    assert_none(&problems);
    Ok(())
}

/// Whether a source file has an example in its documentation, which `cargo test` would run.
fn has_example(source: &str) -> bool {
    let fences = source.lines().filter_map(|line| {
        let comment = line.trim_start().strip_prefix("///").or(line.trim_start().strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```")
    });
    fences.step_by(2).any(|fence| !fence.starts_with("text"))
}

/// No manifest switches off a program that has tests. Programs without tests are switched off to save their
/// compile time.
#[test]
fn no_test_is_switched_off() -> Result<()> {
    let (mut problems, mut without) = (Vec::new(), 0);
    for package in packages()? {
        let manifest = fs::read_to_string(package.folder.join("Cargo.toml"))?;
        let library = manifest.split("\n[").find(|table| table.starts_with("lib]")).unwrap_or_default();
        let (tests, examples) = (!library.contains("\ntest = false"), !library.contains("\ndoctest = false"));
        without += usize::from(!tests) + usize::from(!examples);
        for path in sources_of(&package)?.into_iter().filter(|_| !OF_PYTHON.contains(&package.name.as_str()))
        {
            let source = fs::read_to_string(&path)?;
            if !tests && source.contains("#[test]") {
                problems.push(format!("{}: {} has `test = false`", path.display(), package.name));
            }
            if !examples && has_example(&source) {
                problems.push(format!("{}: {} has `doctest = false`", path.display(), package.name));
            }
        }
    }
    assert!(has_example("/// ```\n/// f();\n/// ```") && !has_example("//! ```text\n//! f\n//! ```"));
    assert!(without > 10, "only {without} programs are switched off");
    assert_none(&problems);
    Ok(())
}

/// A package of a lock file.
struct LockedPackage<'a> {
    name: &'a str,
    version: &'a str,
    built_on: Vec<&'a str>,
}

/// The quoted parts of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn locked(text: &str) -> Vec<LockedPackage<'_>> {
    fn package(text: &str) -> Option<LockedPackage<'_>> {
        let field = |key: &str| text.lines().find_map(|line| quoted(line.strip_prefix(key)?).next());
        let list = text.split_once("dependencies = [").map_or("", |(_, list)| list);
        Some(LockedPackage {
            name: field("name = ")?,
            version: field("version = ")?,
            // If several packages have the same name, the version follows it.
            built_on: quoted(list).filter_map(|name| name.split(' ').next()).collect(),
        })
    }
    text.split("[[package]]").filter_map(package).collect()
}

/// The lock file of the fuzz targets, which builds of the workspace ignore, has the present dependencies.
#[test]
fn the_lock_of_the_fuzz_targets_knows_the_crates_as_they_are() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (ours, theirs) =
        (fs::read_to_string(root.join("Cargo.lock"))?, fs::read_to_string(root.join("fuzz/Cargo.lock"))?);
    let (ours, theirs) = (locked(&ours), locked(&theirs));
    let versions = |packages: &[LockedPackage<'_>], name: &str| -> BTreeSet<String> {
        let named = packages.iter().filter(|package| package.name == name);
        named.map(|package| package.version.to_string()).collect()
    };
    let (mut problems, mut seen) = (Vec::new(), 0);
    for package in packages()? {
        let Some(locked) = theirs.iter().find(|locked| locked.name == package.name) else { continue };
        seen += 1;
        for Dependency { name, optional, .. } in package.dependencies.iter().filter(|it| !it.for_tests) {
            match locked.built_on.contains(&name.as_str()) {
                true if !versions(&theirs, name).is_subset(&versions(&ours, name)) => {
                    problems.push(format!("{name}, which {} is built on, has another version", package.name));
                }
                false if !optional => problems.push(format!("{} is built on {name}", package.name)),
                _ => {}
            }
        }
    }
    assert!(seen > 4, "{seen} crates are fuzzed");
    let help = "cp Cargo.lock fuzz/Cargo.lock; cd fuzz; cargo metadata --format-version 1 >/dev/null";
    assert!(problems.is_empty(), "fuzz/Cargo.lock:\n{}\nrun {help}", problems.join("\n"));
    Ok(())
}

#[test]
fn heavy_dependencies_have_one_home() -> Result<()> {
    let mut problems = Vec::new();
    let mut at_home = BTreeSet::new();
    for package in packages()? {
        for Dependency { name, for_tests, .. } in &package.dependencies {
            if *for_tests && IN_TESTS.contains(&(name, &package.name)) {
                continue;
            }
            match HOMES.iter().find(|(dependency, _)| dependency == name) {
                Some((_, home)) if *home == package.name => {
                    at_home.insert(name.clone());
                }
                Some((_, home)) => problems.push(format!("{} uses {name}, as only {home} may", package.name)),
                None if NOT_DIRECTLY.contains(&name.as_str()) => {
                    problems.push(format!(
                        "{} names {name} instead of reaching it through its owner",
                        package.name
                    ));
                }
                None => {}
            }
        }
    }
    let gone = HOMES.iter().filter(|(name, _)| !at_home.contains(*name));
    problems.extend(gone.map(|(name, home)| format!("{home} has no {name}: drop it from the table")));
    assert_none(&problems);
    Ok(())
}

#[test]
fn pure_crates_do_no_io() -> Result<()> {
    let mut problems = Vec::new();
    let pure = packages()?.into_iter().filter(|package| WITHOUT_IO.contains(&package.name.as_str()));
    for path in pure.map(|package| sources_of(&package)).collect::<Result<Vec<_>>>()?.concat() {
        let content = fs::read_to_string(&path)?;
        problems.extend(io_modules(&content).map(|module| format!("{}: std::{module}", path.display())));
    }
    assert_none(&problems);
    Ok(())
}

/// The modules of [`IO`] that code names, as `std::fs` or within `std::{fmt, fs}`.
fn io_modules(content: &str) -> impl Iterator<Item = &'static str> {
    let code: String = content.lines().filter_map(|line| line.split("//").next()).collect();
    let mut named = BTreeSet::new();
    for path in code.split("std::").skip(1) {
        let list = path.strip_prefix('{').and_then(|rest| rest.split(';').next());
        let words = list.unwrap_or(path).split(|c: char| !c.is_alphanumeric() && c != '_');
        named.extend(words.take(if list.is_some() { usize::MAX } else { 1 }).map(str::to_string));
    }
    IO.iter().copied().filter(move |module| named.contains(*module))
}

#[test]
fn io_is_seen_however_it_is_named() {
    let seen = |code: &str| io_modules(code).collect::<Vec<_>>();
    assert_eq!(seen("use std::fs::File;"), ["fs"]);
    assert_eq!(seen("use std::{collections::BTreeMap,\n    fmt, io};"), ["io"]);
    assert_eq!(seen("let now = std::time::Instant::now();"), ["time"]);
    assert_eq!(seen("use std::fmt; // std::fs\nlet times = 3;"), Vec::<&str>::new());
}

#[test]
fn source_files_are_short() -> Result<()> {
    let mut problems = Vec::new();
    for path in packages()?.iter().map(sources_of).collect::<Result<Vec<_>>>()?.concat() {
        let lines = fs::read_to_string(&path)?.lines().count();
        if lines >= MOST_LINES {
            problems.push(format!("{} has {lines} lines: split it by what its parts do", path.display()));
        }
    }
    assert_none(&problems);
    Ok(())
}

/// Words of one kind of machine, and the only folder that may contain them.
const MACHINES: &[(&str, &[&str])] =
    &[("codegen/llvm/src/emit/x86", &["llvm.x86.", "Level::V", "AVX", "zmm"])];

/// Code that serves every machine.
const FOR_EVERY_MACHINE: &[&str] = &["codegen/ir/src/lir", "codegen/ir/src/interp", "codegen/llvm/src/emit"];

#[test]
fn machines_are_known_in_their_own_folders() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in FOR_EVERY_MACHINE {
        sources(&root.join(folder), &mut files)?;
    }
    let mut problems = Vec::new();
    for (home, words) in MACHINES {
        let (own, others): (Vec<_>, Vec<_>) =
            files.iter().partition(|path| path.starts_with(root.join(home)));
        let text = |path: &PathBuf| fs::read_to_string(path);
        let own = own.into_iter().map(text).collect::<std::io::Result<String>>()?;
        assert!(own.contains(words[0]), "{home} is the home of {words:?}");
        for path in others {
            let text = text(path)?;
            let known = words.iter().filter(|word| text.contains(**word));
            problems.extend(known.map(|word| format!("{}: {word} belongs to {home}", path.display())));
        }
    }
    assert_none(&problems);
    Ok(())
}

/// A module of a crate, with its imports of other modules.
struct Module {
    path: Vec<String>,
    /// Imports: paths from the crate's root, each with the imported name at its end.
    imports: Vec<Vec<String>>,
    /// Re-exported names, and their paths.
    passed_on: BTreeMap<String, Vec<String>>,
}

/// The path of a source file's module.
fn module_path(file: &Path, root: &Path) -> Result<Vec<String>> {
    let inside = file.strip_prefix(root)?.with_extension("");
    let mut path: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    Ok(path)
}

/// The paths of a `use` tree, braces resolved and renames dropped.
fn use_paths(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        return if path.is_empty() { Vec::new() } else { vec![path.to_string()] };
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut items) = (0, vec![String::new()]);
    for c in inside.chars() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        match items.last_mut() {
            Some(item) if c != ',' || depth > 0 => item.push(c),
            _ => items.push(String::new()),
        }
    }
    items
        .iter()
        .flat_map(|item| use_paths(item.trim()))
        .map(|path| format!("{}{path}", before.trim()))
        .collect()
}

/// A path in `module` as one from the crate's root.
fn from_root(path: &str, module: &[String]) -> Option<Vec<String>> {
    let mut parts = path.split("::").map(str::to_string).peekable();
    let mut whole = match parts.next()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        // The root has no parent: this is a module written inside its file.
        "super" => module.split_last().map_or_else(Vec::new, |(_, parent)| parent.to_vec()),
        // A module inside this one. For another crate, the path leads to this module itself.
        inside => module.iter().cloned().chain([inside.to_string()]).collect(),
    };
    while parts.next_if(|part| part == "super").is_some() {
        whole.pop()?;
    }
    whole.extend(parts.filter(|part| part != "self"));
    Some(whole)
}

/// Code without the paths in `pub(in path)`, which are no imports.
fn without_visibilities(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |before, part| before + "pub " + part.split_once(')').map_or(part, |(_, after)| after))
}

/// Parses the imports of a module's source, without the tests at its end.
fn module(path: Vec<String>, source: &str) -> Module {
    let code: Vec<&str> = source.split("#[cfg(test)]\nmod ").next().unwrap_or(source).lines().collect();
    let code: String = code.iter().flat_map(|line| [line.split("//").next().unwrap_or(line), "\n"]).collect();
    let code = without_visibilities(&code);
    let (mut imports, mut passed_on) = (Vec::new(), BTreeMap::new());
    for statement in code.split(';') {
        let last = statement.rsplit("\n\n").next().unwrap_or(statement).trim_start();
        let tree = match last.split_once("use ") {
            Some(("", tree)) => Some((false, tree)),
            Some((before, tree)) if before.starts_with("pub") && !before.contains('{') => Some((true, tree)),
            _ => None,
        };
        let Some((public, tree)) = tree else {
            // Paths in code that need no import.
            let words = statement.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let paths = words.map(|word| word.trim_matches(':')).filter(|word| word.contains("::"));
            imports.extend(paths.filter_map(|word| from_root(word, &path)));
            continue;
        };
        for whole in use_paths(tree).iter().filter_map(|import| from_root(import, &path)) {
            match (public, whole.last()) {
                (true, Some(name)) => {
                    passed_on.insert(name.clone(), whole);
                }
                _ => imports.push(whole),
            }
        }
    }
    Module { path, imports, passed_on }
}

/// The module that an import leads to: the module of the longest known path, or the owner of a re-exported
/// name.
fn target(import: &[String], modules: &BTreeMap<Vec<String>, Module>) -> Option<Vec<String>> {
    let mut import = import.to_vec();
    for _ in 0..8 {
        let at = (0..=import.len()).rev().find(|end| modules.contains_key(&import[..*end]))?;
        let (owner, rest) = import.split_at(at);
        match rest.first().and_then(|name| modules.get(owner)?.passed_on.get(name)) {
            Some(elsewhere) => import = elsewhere.iter().chain(&rest[1..]).cloned().collect(),
            None => return Some(owner.to_vec()),
        }
    }
    None
}

/// The other modules that each module imports from.
fn imported(modules: &BTreeMap<Vec<String>, Module>) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let others = |module: &Module| {
        let all = module.imports.iter().filter_map(|import| target(import, modules));
        all.filter(|other| *other != module.path).collect()
    };
    modules.values().map(|module| (module.path.clone(), others(module))).collect()
}

/// Modules that import each other in a circle, if there are any.
fn circle(modules: &BTreeMap<Vec<String>, Module>) -> Option<Vec<String>> {
    let mut open = imported(modules);
    // A module without imports of others, or without importers, is in no circle.
    loop {
        let is_imported = |path: &Vec<String>| open.values().any(|imports| imports.contains(path));
        let free = |(path, imports): &(&Vec<String>, &BTreeSet<Vec<String>>)| {
            imports.is_empty() || !is_imported(path)
        };
        let free: Vec<Vec<String>> = open.iter().filter(free).map(|(path, _)| path.clone()).collect();
        if free.is_empty() {
            break;
        }
        for path in free {
            open.remove(&path);
            open.values_mut().for_each(|imports| {
                imports.remove(&path);
            });
        }
    }
    let mut way: Vec<Vec<String>> = vec![open.keys().next()?.clone()];
    loop {
        let next = open.get(way.last()?)?.first()?.clone();
        if let Some(start) = way.iter().position(|path| *path == next) {
            let name = |path: &Vec<String>| if path.is_empty() { "crate".into() } else { path.join("::") };
            return Some(way[start..].iter().map(name).collect());
        }
        way.push(next);
    }
}

/// Fewest imports between modules that the test must find in all crates together.
const MIN_IMPORTS: usize = 1500;

/// The rooms of `codegen/ir`, floor by floor: each imports only from the floors below.
const FLOORS: &[&[&str]] = &[
    &["budget", "codes", "error", "fault", "lir"],
    &["bytes", "tiles", "verify"],
    &["interp", "rows"],
    &["columns"],
    &["quantize"],
    &["forests"],
    &["hir", "repr"],
    &["mir"],
    &["plan"],
    &["lower"],
];

/// The modules of a crate.
fn modules_of(name: &str) -> Result<BTreeMap<Vec<String>, Module>> {
    let package = packages()?.into_iter().find(|package| package.name == name).ok_or(format!("no {name}"))?;
    let root = package.folder.join("src");
    let mut files = Vec::new();
    sources(&root, &mut files)?;
    let mut modules = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ext| ext == "rs")) {
        let path = module_path(file, &root)?;
        modules.insert(path.clone(), module(path, &fs::read_to_string(file)?));
    }
    Ok(modules)
}

#[test]
fn modules_import_each_other_in_no_circle() -> Result<()> {
    let (mut problems, mut all) = (Vec::new(), 0);
    for (name, _) in CRATES {
        let modules = modules_of(name)?;
        let seen: usize = imported(&modules).values().map(BTreeSet::len).sum();
        assert!(seen > 0 || modules.len() == 1, "no imports of {name} are seen");
        all += seen;
        let circle = circle(&modules);
        problems.extend(circle.map(|circle| format!("{name}: {} and back", circle.join(" -> "))));
    }
    assert!(all > MIN_IMPORTS, "only {all} imports are seen");
    assert_none(&problems);
    Ok(())
}

#[test]
fn rooms_of_the_middle_stand_on_those_below() -> Result<()> {
    let modules = modules_of("sched-ir")?;
    let floor = |path: &[String]| {
        let room = path.first()?;
        FLOORS.iter().position(|rooms| rooms.contains(&room.as_str()))
    };
    let mut problems = Vec::new();
    for module in modules.values().filter(|module| !module.path.is_empty()) {
        let name = module.path.join("::");
        if floor(&module.path).is_none() {
            problems.push(format!("{name} is on no floor"));
        }
        for import in module.imports.iter().filter_map(|import| target(import, &modules)) {
            let below = floor(&import) < floor(&module.path) || import.first() == module.path.first();
            if !import.is_empty() && !below {
                problems.push(format!("{name} must not import {}", import.join("::")));
            }
        }
    }
    problems.dedup();
    assert_none(&problems);
    Ok(())
}

#[test]
fn circles_are_seen_however_names_are_imported() {
    let circle_of = |files: &[(&str, &str)]| {
        let modules = files.iter().map(|(path, source)| {
            let path: Vec<String> =
                path.split("::").filter(|part| !part.is_empty()).map(str::to_string).collect();
            (path.clone(), module(path, source))
        });
        circle(&modules.collect()).map(|circle| circle.join(" "))
    };
    let shared = ("shared", "pub struct Shared;");
    assert_eq!(circle_of(&[("", "mod a;\npub use a::A;"), ("a", "use crate::b::B;"), ("b", "")]), None);
    assert_eq!(
        circle_of(&[("a", "use super::b::B;"), ("b", "use crate::{a::A, shared::Shared};"), shared]),
        Some("a b".into())
    );
    assert_eq!(
        circle_of(&[("a", "fn f(x: &crate::b::B) {}"), ("b", "use crate::a;"), shared]),
        Some("a b".into())
    );
    // A re-exported name counts as imported from its definition.
    let room = ("room", "mod one;\nmod two;\npub use one::One;\npub use two::Two;");
    assert_eq!(circle_of(&[room, ("room::one", "use super::Two;"), ("room::two", "")]), None);
    assert_eq!(
        circle_of(&[room, ("room::one", "use super::Two;"), ("room::two", "use super::one::One;")]),
        Some("room::one room::two".into())
    );
    // The root takes part, also by a module written inside its file.
    assert_eq!(
        circle_of(&[("", "mod exported {\n    #[mark]\n    use super::a::A;\n}"), ("a", "use crate::Root;")]),
        Some("crate a".into())
    );
    // A visibility is no import.
    assert_eq!(circle_of(&[("a", "use crate::b::B;"), ("b", "pub(in crate::a) struct B;"), shared]), None);
    // Tests import what they test.
    assert_eq!(
        circle_of(&[("a", "use crate::b::B;"), ("b", "#[cfg(test)]\nmod tests { use crate::a::A; }")]),
        None
    );
}

#[test]
fn all_crates_share_the_lints_and_the_release() -> Result<()> {
    let mut problems = Vec::new();
    for package in packages()? {
        let manifest = fs::read_to_string(package.folder.join("Cargo.toml"))?;
        for line in ["[lints]\nworkspace = true", "version.workspace = true", "rust-version.workspace = true"]
        {
            if !manifest.contains(line) {
                problems.push(format!("the manifest of {} lacks\n{line}", package.name));
            }
        }
    }
    assert_none(&problems);
    Ok(())
}
