//! Builds without a C toolchain: a program that contains a linker succeeds, others report the missing tool.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Runs schedc with an empty search path.
fn schedc(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
    Ok(command.args(arguments).current_dir(folder).env("PATH", empty).output()?)
}

fn succeeds(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = schedc(folder, arguments)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{arguments:?}: {stderr}").into()) }
}

#[test]
fn building_without_a_c_toolchain() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/model");
    let model = format!("{examples}/breast_cancer.json");
    let rows = format!("{examples}/rows.csv");
    let build = ["build", &model, "--cpu", "x86-64-v2", "-o", "model.so"];
    if !cfg!(feature = "lld") {
        let output = schedc(folder.path(), &build)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("L0007: linking needs the program `cc`, which is not installed"), "{stderr}");
        return Ok(());
    }
    succeeds(folder.path(), &build)?;
    let expected = succeeds(folder.path(), &["predict", &model, "-i", &rows, "-q"])?;
    let predictions = succeeds(folder.path(), &["predict", "model.so", "-i", &rows, "-q"])?;
    assert!(expected.len() > 1000);
    assert_eq!(predictions, expected);

    // Isolation forests call functions of the C math library.
    let forest = concat!(env!("CARGO_MANIFEST_DIR"), "/../forest/tests/fixtures/treelite/isolation.tl");
    std::fs::write(folder.path().join("four.csv"), "0.5,-1,0.25,2\n-0.1,0,3,-2\n")?;
    succeeds(folder.path(), &["build", forest, "--cpu", "x86-64-v2", "-o", "isolation.so"])?;
    let scores = succeeds(folder.path(), &["predict", forest, "-i", "four.csv", "-q"])?;
    assert_eq!(succeeds(folder.path(), &["predict", "isolation.so", "-i", "four.csv", "-q"])?, scores);

    // An object works with any toolchain.
    succeeds(folder.path(), &["build", &model, "--cpu", "x86-64-v2", "--emit", "obj", "-o", "model.o"])?;
    let linked = Command::new("cc")
        .args(["-shared", "-o", "linked.so", "model.o", "-pthread", "-lm"])
        .current_dir(folder.path())
        .status()?;
    assert!(linked.success());
    assert_eq!(succeeds(folder.path(), &["predict", "./linked.so", "-i", &rows, "-q"])?, expected);
    Ok(())
}
