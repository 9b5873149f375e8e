//! The invariants of `ARCHITECTURE.md` that manifests and source text show: who may depend on whom, which crate is
//! the only home of a heavy dependency, which crates do no input or output, and how long a file may be.

use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Every crate with the crates of the workspace that it may be built on. Tests may use more.
const CRATES: &[(&str, &[&str])] = &[
    ("sched-grammar", &[]),
    ("sched-forest", &[]),
    ("sched-nest", &[]),
    ("sched-lang", &["sched-grammar", "sched-nest"]),
    ("sched-ide", &["sched-grammar", "sched-lang", "sched-nest"]),
    ("sched-ir", &["sched-forest", "sched-nest"]),
    ("sched-llvm", &["sched-ir"]),
    ("sched-testing", &["sched-forest", "sched-lang", "sched-nest"]),
    ("sched-lsp", &["sched-grammar", "sched-ide", "sched-lang", "sched-nest"]),
    ("schedc-data", &[]),
    (
        "schedc",
        &["schedc-data", "sched-forest", "sched-ir", "sched-lang", "sched-llvm", "sched-lsp", "sched-nest"],
    ),
];

/// Dependencies that would spread knowledge if they spread, each with the one crate that has it.
const HOMES: &[(&str, &str)] = &[
    ("ariadne", "sched-lang"),
    ("clap", "schedc"),
    ("csv", "schedc-data"),
    ("indicatif", "schedc"),
    ("inkwell", "sched-llvm"),
    ("lalrpop", "sched-grammar"),
    ("lalrpop-util", "sched-grammar"),
    ("libloading", "sched-llvm"),
    ("logos", "sched-grammar"),
    ("tokio", "sched-lsp"),
    ("tower-lsp-server", "sched-lsp"),
];

/// Dependencies that come along with one that has a home and are reached through it.
const NOT_DIRECTLY: &[&str] = &["llvm-sys", "ls-types"];

/// Crates that turn data into data: bytes and texts come in, bytes and texts go out.
const WITHOUT_IO: &[&str] =
    &["sched-grammar", "sched-forest", "sched-nest", "sched-lang", "sched-ide", "sched-ir"];

/// Modules of the standard library that reach outside the process.
const IO: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread", "time"];

/// Lines that a source file has fewer than. Tests are apart and may be longer.
const MOST_LINES: usize = 500;

struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    for_tests: bool,
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value[key].as_str().ok_or_else(|| format!("cargo metadata has no `{key}`").into())
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value]> {
    Ok(value[key].as_array().ok_or_else(|| format!("cargo metadata has no `{key}`"))?)
}

/// The workspace's own crates, as their manifests describe them.
fn packages() -> Result<Vec<Package>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    list(&metadata, "packages")?.iter().map(package).collect()
}

fn package(value: &Value) -> Result<Package> {
    let dependency = |value: &Value| {
        Ok(Dependency { name: text(value, "name")?.to_string(), for_tests: value["kind"] == "dev" })
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
fn heavy_dependencies_have_one_home() -> Result<()> {
    let mut problems = Vec::new();
    let mut at_home = BTreeSet::new();
    for package in packages()? {
        for Dependency { name, .. } in &package.dependencies {
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
fn what_turns_data_into_data_does_no_io() -> Result<()> {
    let mut problems = Vec::new();
    let pure = packages()?.into_iter().filter(|package| WITHOUT_IO.contains(&package.name.as_str()));
    for path in pure.map(|package| sources_of(&package)).collect::<Result<Vec<_>>>()?.concat() {
        let content = fs::read_to_string(&path)?;
        problems.extend(io_modules(&content).map(|module| format!("{}: std::{module}", path.display())));
    }
    assert_none(&problems);
    Ok(())
}

/// The modules of [`IO`] that code names, as `std::fs` or among others in `std::{fmt, fs}`.
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

/// Words of one kind of machine, and the folder that is their home.
const MACHINES: &[(&str, &[&str])] = &[("codegen/llvm/src/emit/x86", &["llvm.x86.", "CPU_V", "AVX", "zmm"])];

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
