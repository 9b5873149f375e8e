//! Checks the repository's scripts: bash parses them, shellcheck accepts them (if installed), they refuse
//! wrong arguments before any work, and their shared functions work. python/tests has the test of
//! check-wheel.py.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The bash programs, and the files that they source.
fn scripts() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("scripts"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            found.push(path);
        }
    }
    assert!(found.len() > 8, "{found:?}");
    found.sort();
    Ok(found)
}

fn run(command: &mut Command) -> Result<(Option<i32>, String)> {
    let Output { status, stdout, stderr } = command.current_dir(ROOT).output()?;
    Ok((status.code(), String::from_utf8(stdout)? + &String::from_utf8(stderr)?))
}

#[test]
fn scripts_are_read() -> Result<()> {
    for script in scripts()? {
        let result = run(Command::new("bash").arg("-n").arg(&script))?;
        assert_eq!(result, (Some(0), String::new()), "{}", script.display());
    }
    if Command::new("shellcheck").arg("--version").output().is_ok() {
        let result = run(Command::new("shellcheck").arg("--external-sources").args(scripts()?))?;
        assert_eq!(result, (Some(0), String::new()));
    }
    Ok(())
}

/// Newer releases of shellcheck refuse prose behind the words of a directive, older ones ignore it.
#[test]
fn directives_for_shellcheck_have_lines_of_their_own() -> Result<()> {
    let sourced = Path::new(ROOT).join("editors/vscode/test/prepare.sh");
    let mut directives = 0;
    for script in scripts()?.into_iter().chain([sourced]) {
        let text = fs::read_to_string(&script)?;
        for words in text.lines().filter_map(|line| line.trim_start().strip_prefix("# shellcheck ")) {
            let words = words.split_once(" #").map_or(words, |(words, _)| words);
            let is_setting = |word: &str| word.split_once('=').is_some_and(|(key, _)| !key.is_empty());
            assert!(words.split(' ').all(is_setting), "{}: {words}", script.display());
            directives += 1;
        }
    }
    assert!(directives > 8, "only {directives} directives");
    Ok(())
}

/// Scripts with `#!` are executable, and files that others source are not.
#[test]
fn scripts_can_be_run() -> Result<()> {
    for script in scripts()? {
        let begins = fs::read_to_string(&script)?.starts_with("#!/usr/bin/env bash\n");
        let runs = fs::metadata(&script)?.permissions().mode() & 0o111 != 0;
        assert_eq!(runs, begins, "{}", script.display());
    }
    Ok(())
}

#[test]
fn wrong_arguments_are_refused() -> Result<()> {
    let out = tempfile::tempdir()?;
    let folder = out.path().join("out");
    let folder = folder.to_str().ok_or("a path that is no text")?;
    let cases: [(&[&str], i32, &str); 13] = [
        (&["dist.sh"], 2, "usage: scripts/dist.sh OUT"),
        (&["dist.sh", "--help"], 2, "usage: scripts/dist.sh OUT"),
        (&["dist.sh", folder, "more"], 2, "usage: scripts/dist.sh OUT"),
        (&["wheels.sh"], 2, "usage: scripts/wheels.sh OUT [schedc-runtime|schedc]..."),
        (
            &["wheels.sh", folder, "sched"],
            1,
            "error: there is no package sched: there are schedc-runtime and schedc",
        ),
        (&["test-wheels.sh"], 2, "usage: scripts/test-wheels.sh WHEELS..."),
        (&["test-wheels.sh", "missing.whl"], 1, "error: there is no wheel missing.whl"),
        (&["setup.sh", "--dynamic"], 2, "usage: scripts/setup.sh [--static]"),
        (&["release-notes.sh"], 2, "usage: scripts/release-notes.sh VERSION"),
        (
            &["release-notes.sh", "9.9.9"],
            1,
            concat!("error: Cargo.toml has version ", env!("CARGO_PKG_VERSION"), ", not 9.9.9"),
        ),
        (&["site.sh"], 2, "usage: scripts/site.sh OUT"),
        (&["fuzz.sh", "guess", "10"], 2, "error: there is no target `guess`; targets are check csv"),
        (&["test.sh", "most"], 2, "error: there is no part `most`"),
    ];
    for (words, status, message) in cases {
        let (found, output) = run(Command::new(format!("{ROOT}/scripts/{}", words[0])).args(&words[1..]))?;
        assert_eq!(found, Some(status), "{words:?}: {output}");
        assert!(output.contains(message), "{words:?}: {output}");
    }
    assert!(!Path::new(folder).exists());
    Ok(())
}

/// Scripts that hosted workflows run exist, and the nightly run has every fuzz target.
#[test]
fn workflows_run_existing_scripts_and_every_fuzz_target() -> Result<()> {
    let mut seen = 0;
    for entry in fs::read_dir(Path::new(ROOT).join(".github/workflows"))? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        for word in text.split_whitespace().map(|word| word.trim_matches('`')) {
            let Some(at) = ["scripts/", "bench/"].into_iter().find_map(|folder| word.find(folder)) else {
                continue;
            };
            assert!(Path::new(ROOT).join(&word[at..]).exists(), "{}: {word} does not exist", path.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} scripts are seen");
    let mut targets: Vec<String> = fs::read_dir(Path::new(ROOT).join("fuzz/fuzz_targets"))?
        .map(|entry| Ok(entry?.path().file_stem().ok_or("no name")?.to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    targets.sort();
    let nightly = fs::read_to_string(Path::new(ROOT).join(".github/workflows/nightly.yml"))?;
    let matrix = format!("target: [{}]", targets.join(", "));
    assert!(nightly.contains(&matrix), "nightly.yml lacks `{matrix}`");
    Ok(())
}

/// Builds a program that needs a function of this version of this library.
fn program(folder: &Path, library: &str, version: &str) -> Result<PathBuf> {
    let folder = folder.join(version);
    fs::create_dir(&folder)?;
    fs::write(folder.join("stub.map"), format!("{version} {{ global: needed; }};"))?;
    fs::write(folder.join("stub.c"), "int needed(void) { return 0; }")?;
    fs::write(folder.join("made.c"), "int needed(void); int call(void) { return needed(); }")?;
    let soname = format!("-Wl,-soname,{library}");
    let with_library = format!("./{library}");
    for words in [
        &["stub.c", "-Wl,--version-script=stub.map", &soname, "-o", library][..],
        &["made.c", &with_library, "-o", "made"],
    ] {
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-nostdlib"])
            .args(words)
            .current_dir(&folder)
            .status()?;
        assert!(status.success(), "{words:?}");
    }
    Ok(folder.join("made"))
}

#[test]
fn programs_that_systems_cannot_run_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let right = program(folder.path(), "libc.so.6", "GLIBC_2.34")?;
    let newer = program(folder.path(), "libc.so.6", "GLIBC_2.101")?;
    let other = program(folder.path(), "libLLVM.so.19.1", "LLVM_19.1")?;
    let script = format!("{ROOT}/scripts/check-static.sh");
    assert_eq!(run(Command::new(&script).arg(&right))?, (Some(0), String::new()));
    let (status, output) = run(Command::new(&script).args([&right, &newer, &other]))?;
    assert_eq!(status, Some(1));
    let expected = [
        format!("{} needs version 2.101 of the C library, but may need at most 2.34", newer.display()),
        format!("{} is linked with libLLVM.so.19.1", other.display()),
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
    Ok(())
}

/// An environment is created once for each content of its list, without packages of an older list.
#[test]
fn environments_are_those_of_their_lists() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let python = folder.path().join("python3");
    // Stands in for Python: creates an environment with itself as Python, and prints the arguments of pip.
    let stands_in = "#!/bin/sh\ncase \"$1 $2\" in\n-m\\ venv) mkdir -p $3/bin && cp \"$0\" $3/bin/python ;;\n\
                     -m\\ pip) echo \"$@\" ;;\nesac\n";
    fs::write(&python, stands_in)?;
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH")?);
    let list = folder.path().join("list.txt");
    let environment = folder.path().join("deep/environment");
    let make = || {
        let text = format!(
            "set -euo pipefail; say() {{ echo \"$1\"; }}; . scripts/packages.sh; python_environment {} {} \
             --no-deps",
            environment.display(),
            list.display()
        );
        run(Command::new("bash").args(["-c", &text]).env("PATH", &path))
    };
    let installing = format!(
        "the packages of {0}\n-m pip install --quiet --disable-pip-version-check -r {0} --no-deps\n",
        list.display()
    );
    for packages in ["one==1\n", "two==2\n"] {
        fs::write(&list, packages)?;
        assert_eq!(make()?, (Some(0), installing.clone()));
        assert!(!environment.join("left").exists());
        fs::write(environment.join("left"), "")?;
        assert_eq!(make()?, (Some(0), String::new()));
        assert!(environment.join("left").exists());
    }
    Ok(())
}
