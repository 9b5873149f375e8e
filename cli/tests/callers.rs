//! Builds and runs the programs in `examples/` that call compiled models, in several languages, by the
//! instructions in their first lines. C, C++ and Rust are required; tests of other languages print a note if
//! the language is not installed.

use crate::support::shell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example model's predictions for the rows of the programs.
const PREDICTIONS: &str = "0.797404\n0.788098\n0.788098\n0.788098\n";

fn repository() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()
}

/// The commands in the first comment of a source file: lines indented by more than one space, or by a tab.
fn instructions(source: &str) -> String {
    let comment = |line: &str| {
        let text = line.trim_start_matches("/*").trim_start_matches(" *").trim_start_matches("//!");
        text.trim_start_matches("//").to_string()
    };
    let lines =
        source.lines().take_while(|line| line.starts_with('/') || line.starts_with(" *")).map(comment);
    let commands =
        lines.filter(|line| line.starts_with("    ") || line.starts_with("     ") || line.starts_with('\t'));
    commands.map(|line| line.trim().trim_end_matches("*/").trim().to_string() + "\n").collect()
}

/// Runs an example program by its instructions, in a new folder. Returns its output.
fn run(program: &str) -> io::Result<String> {
    let repository = repository()?;
    let folder = tempfile::tempdir()?;
    let source = repository.join("examples").join(program);
    let name = source.file_name().ok_or(io::ErrorKind::NotFound)?;
    fs::copy(&source, folder.path().join(name))?;
    let model = "breast_cancer.json";
    fs::copy(repository.join("examples/model").join(model), folder.path().join(model))?;
    let commands = instructions(&fs::read_to_string(&source)?)
        .replace("MODEL", model)
        .replace("OTHER", &format!("{model} --iterations 0..10"));
    assert!(commands.lines().count() >= 2, "{program}: there are no instructions");
    let mut shell = shell(&format!("set -e\n{commands}"), folder.path());
    // Compilers need these variables to be found and to use their caches.
    for kept in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "GOCACHE", "JAVA_HOME"] {
        if let Some(value) = std::env::var_os(kept) {
            shell.env(kept, value);
        }
    }
    let output = shell.env("GOTOOLCHAIN", "local").output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {}\n{commands}{stderr}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first line of a program's version; `None` if it is not installed.
fn version(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().next().map(str::to_string)
}

#[test]
fn c_swaps_models() -> io::Result<()> {
    let output = run("c/swap.c")?;
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].starts_with("./first.so: functions schedc_..., 30 features, 0."), "{output}");
    assert!(lines[1].starts_with("./second.so: functions other_..., 30 features, 0."), "{output}");
    assert_ne!(lines[0].rsplit(' ').next(), lines[1].rsplit(' ').next(), "the models predict the same");
    assert_eq!(lines[2], "200 swaps; each thread was served, every answer was that of one of the models");
    Ok(())
}

#[test]
fn cpp_opens_a_model() -> io::Result<()> {
    assert_eq!(run("cpp/predict.cpp")?, PREDICTIONS);
    Ok(())
}

#[test]
fn rust_has_a_model_inside() -> io::Result<()> {
    assert_eq!(run("rust/predict.rs")?, format!("{PREDICTIONS}400 values of trees\n"));
    Ok(())
}

#[test]
fn java_calls_a_model() -> io::Result<()> {
    let major = |line: String| line.split('"').nth(1)?.split('.').next()?.parse::<u32>().ok();
    match version("java", "-version").and_then(major) {
        Some(major) if major >= 22 => assert_eq!(run("java/Predict.java")?, PREDICTIONS),
        Some(old) => eprintln!("skipped: Java {old} has no foreign functions; they are there from 22 on"),
        None => eprintln!("skipped: Java is not installed"),
    }
    Ok(())
}

#[test]
fn go_calls_a_model() -> io::Result<()> {
    match version("go", "version") {
        Some(_) => assert_eq!(run("go/predict.go")?, PREDICTIONS),
        None => eprintln!("skipped: Go is not installed"),
    }
    Ok(())
}

#[test]
fn csharp_calls_a_model() -> io::Result<()> {
    match (version("mcs", "--version"), version("mono", "--version")) {
        (Some(_), Some(_)) => assert_eq!(run("csharp/Predict.cs")?, PREDICTIONS),
        _ => eprintln!("skipped: Mono is not installed"),
    }
    Ok(())
}

/// Programs link with each kind of library by pkg-config's flags alone.
#[test]
fn pkg_config_finds_libraries() -> io::Result<()> {
    if version("pkg-config", "--version").is_none() {
        eprintln!("skipped: pkg-config is not installed");
        return Ok(());
    }
    let repository = repository()?;
    let folder = tempfile::tempdir()?;
    fs::copy(repository.join("examples/model/breast_cancer.json"), folder.path().join("model.json"))?;
    fs::write(
        folder.path().join("main.c"),
        "#include <libmodel.h>\n#include <stdio.h>\nint main(void) \
         { return printf(\"%d\\n\", (int)schedc_num_features()) < 0; }\n",
    )?;
    for (emit, file) in
        [("so", "libmodel.so"), ("static", "libmodel.a"), ("obj", "libmodel.o"), ("so", "odd.so")]
    {
        let name = file.split('.').next().unwrap_or_default();
        let commands = format!(
            "set -e\nmkdir lib\nschedc build model.json --emit {emit} -o lib/{file} --pkg-config \
             2>/dev/null\n\
             mv lib/odd.h lib/libmodel.h 2>/dev/null || true\nmv lib moved\n\
             cc main.c -o main $(PKG_CONFIG_PATH=moved pkg-config --cflags --libs {name})\n\
             LD_LIBRARY_PATH=moved ./main\nrm -r moved main\n"
        );
        let output = shell(&commands, folder.path()).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "30\n", "{file}: {stderr}");
    }
    Ok(())
}
