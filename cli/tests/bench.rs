//! The measurement on a GPU by `bench/gpu`: its folder can be packed, parts that cannot run are left out, and
//! results become the tables of docs/gpu/measuring.md. `codegen/llvm/tests/device.rs` has the test that
//! measures.

use sched_nest::Layout;
use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Runs a program that must exit with a status. Returns its output and its messages.
fn run(command: &mut Command, status: i32) -> Result<(String, String)> {
    let Output { status: found, stdout, stderr } = command.current_dir(ROOT).output()?;
    let (out, err) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
    assert_eq!(found.code(), Some(status), "{command:?}: {out}{err}");
    Ok((out, err))
}

/// Python; without it, prints that a test is skipped.
fn python(test: &str) -> Option<Command> {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        println!("{test} is skipped: there is no python3");
    }
    found.then(|| {
        let mut python = Command::new("python3");
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    })
}

fn scripts() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["bench/gpu", "bench/gpu/parts"] {
        for entry in fs::read_dir(Path::new(ROOT).join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "sh") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 6, "{found:?}");
    Ok(found)
}

#[test]
fn scripts_of_the_measurement_are_read() -> Result<()> {
    for script in scripts()? {
        run(Command::new("bash").arg("-n").arg(&script), 0)?;
    }
    if Command::new("shellcheck").arg("--version").output().is_ok() {
        run(Command::new("shellcheck").arg("--external-sources").args(scripts()?), 0)?;
    }
    Ok(())
}

/// The families of the sweep have each layout that schedules for GPUs try.
#[test]
fn the_sweep_has_all_layouts_of_gpus() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/gpu/families.json");
    let families: serde_json::Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let lists = families.as_object().ok_or("no families")?.values();
    let layouts = lists.filter_map(|family| family["over"]["L"].as_array()).flatten();
    let found: BTreeSet<&str> = layouts.filter_map(|layout| layout.as_str()).collect();
    let of_gpus = Layout::ALL.iter().filter(|layout| layout.gpu_trial_position().is_some());
    assert_eq!(found, of_gpus.map(|layout| layout.word()).collect::<BTreeSet<&str>>());
    Ok(())
}

/// Packs the example with one schedule, and a script in place of the program, whose compression takes long.
/// Without a driver, the measurement ends.
#[test]
fn a_folder_is_packed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("packed");
    let program = folder.path().join("schedc");
    fs::write(&program, concat!("#!/bin/sh\nexec ", env!("CARGO_BIN_EXE_schedc"), " \"$@\"\n"))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let pack = |most: &str| {
        let mut pack = Command::new("bench/gpu/pack.sh");
        pack.arg(&out).env("SCHEDC", &program).env("MOST_MIB", most);
        pack.env("SCHEDULES", "examples/gpu/shared_rows.sched").env("GPU", "sm_90");
        pack.env("SAMPLE", "40").env("SCHEDC_CACHE", folder.path());
        pack
    };
    run(&mut pack("64"), 0)?;
    for name in ["schedc.xz", "models.tar.xz", "run.sh", "parts/basics.sh", "sweep.py", "families.json"] {
        assert!(out.join(name).exists(), "{name}");
    }
    let facts = fs::read_to_string(out.join("facts.jsonl"))?;
    let has = |words: &str| facts.lines().any(|line| line.contains(words));
    for words in [
        "{\"part\":\"packed\",\"gpu\":\"sm_90\",",
        "\"model\":\"breast_cancer\",\"trees\":100,\"depth\":5,\"features\":30,\"margins\":1}",
        "\"schedule\":\"chosen\",\"batch\":1000000,\"us\":",
        "\"schedule\":\"shared_rows\",\"batch\":1,\"us\":",
        "{\"part\":\"predicted\",\"model\":\"breast_cancer\",\"schedule\":\"shared_rows\",\"rows\":40,",
    ] {
        assert!(has(words), "{words}: {facts}");
    }
    for line in facts.lines() {
        let _: serde_json::Value = serde_json::from_str(line)?;
    }
    let mut names = Command::new("sh");
    names.arg("-c").arg("xz -dc \"$0\" | tar -t | sort").arg(out.join("models.tar.xz"));
    let (names, _) = run(&mut names, 0)?;
    let packed = ["chosen.so", "cpu.so", "expected.csv", "margins.npy", "model.json", "predictions.npy"];
    for name in packed.iter().chain(&["sample.npy", "shared_rows.so"]) {
        assert!(names.contains(&format!("breast_cancer/{name}")), "{name}: {names}");
    }
    let mut measure = Command::new(out.join("run.sh"));
    let (_, err) = run(measure.env("SCHEDC_CUDA_DRIVER", "no-such-driver.so"), 1)?;
    assert!(err.contains("this machine has no GPU or no driver"), "{err}");
    let (_, err) = run(&mut pack("0"), 1)?;
    assert!(err.contains("bytes: the program") && err.contains("bytes: the model breast_cancer"), "{err}");
    assert!(err.contains("MOST_MIB allows 0 MiB"), "{err}");
    Ok(())
}

const RESULT: &str = "cli/tests/bench/result.json";

/// A recorded result becomes tables, and so does the stored form of it.
#[test]
fn results_become_tables() -> Result<()> {
    let Some(mut python) = python("results_become_tables") else { return Ok(()) };
    let (tables, _) = run(python.args(["bench/gpu/tables.py", RESULT]), 0)?;
    let golden = Path::new(ROOT).join("cli/tests/bench/tables.md");
    if env::var_os("UPDATE").is_some() {
        fs::write(&golden, &tables)?;
    }
    assert_eq!(tables, fs::read_to_string(&golden)?);
    let folder = tempfile::tempdir()?;
    let store = format!(
        "import sys; sys.path.insert(0, 'bench/gpu'); import pathlib, tables; \
         print(tables.keep('{RESULT}', pathlib.Path(sys.argv[1])), end='')"
    );
    let mut storing = Command::new(python.get_program());
    let (path, _) =
        run(storing.env("PYTHONDONTWRITEBYTECODE", "1").args(["-c", &store]).arg(folder.path()), 0)?;
    assert!(path.ends_with("/test-gpu-2026-11-29.json"), "{path}");
    let mut again = Command::new(python.get_program());
    let (stored, _) = run(again.args(["bench/gpu/tables.py", &path]), 0)?;
    assert_eq!(stored, tables);
    assert!(fs::metadata(&path)?.len() < fs::metadata(Path::new(ROOT).join(RESULT))?.len());
    Ok(())
}

#[test]
fn pages_have_the_tables_of_the_stored_results() -> Result<()> {
    let Some(mut python) = python("pages_have_the_tables_of_the_stored_results") else { return Ok(()) };
    run(python.args(["bench/pages.py", "--check"]), 0)?;
    Ok(())
}

/// Each peer that is not installed is left out.
#[test]
fn missing_peers_are_left_out() -> Result<()> {
    let Some(mut python) = python("missing_peers_are_left_out") else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    // Without the packages of this machine.
    python.args(["-S", "-E", "bench/gpu/peers.py"]).arg(folder.path());
    let (out, _) = run(&mut python, 0)?;
    for peer in ["nvForest", "XGBoost", "Hummingbird"] {
        let line =
            format!("{{\"part\":\"peer\",\"peer\":\"{peer}\",\"of\":\"{peer}\",\"left_out\":\"it is not");
        assert!(out.contains(&line), "{out}");
    }
    Ok(())
}
