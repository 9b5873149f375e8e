//! Checks that builds of programs, tests and Python's module share compiled crates. Cargo compiles a crate
//! once for each set of its features, and for each set of its dependencies' features.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Each package that a build compiles, with its features.
fn packages(options: &[&str]) -> Result<BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--prefix", "none", "--no-dedupe"]);
    command.args(["--format", "{p} {f}"]).args(options);
    let output = command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// Packages of the first set whose names have other features in the second.
fn compiled_again(first: &BTreeSet<String>, second: &BTreeSet<String>) -> Vec<String> {
    let name = |package: &String| package.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let names: BTreeSet<String> = second.iter().map(name).collect();
    first.difference(second).filter(|package| names.contains(&name(package))).cloned().collect()
}

#[test]
fn each_crate_is_compiled_once_for_programs_tests_and_python() -> Result<()> {
    let programs = packages(&["--edges", "normal,build"])?;
    let tests = packages(&["--edges", "normal,build,dev"])?;
    let python = packages(&["--package", "schedc-python-compiler", "--edges", "normal,build"])?;
    assert!(programs.len() > 100 && tests.len() > 100 && python.len() > 100);
    for (name, build) in [("programs", &programs), ("Python's module", &python)] {
        let again = compiled_again(build, &tests);
        assert!(again.is_empty(), "crates of {name} that tests compile with other features: {again:#?}");
    }
    Ok(())
}
