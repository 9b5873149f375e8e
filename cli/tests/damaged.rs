//! Damaged GPU schedules through the command line: schedc refuses each with a code that `schedc explain`
//! knows, or emits its kernels, and the simulator predicts the model's results.

use crate::support::shell;
use sched_testing::{Rng, damaged};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Number of damaged schedules for each example.
const EACH: u64 = 4;

/// Number of rows to predict.
const ROWS: usize = 40;

/// Seconds after which a command counts as hanging.
const PATIENCE: u32 = 120;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(command: &str, folder: &Path) -> Result<Output> {
    Ok(shell(&format!("timeout {PATIENCE} {command}"), folder).output()?)
}

/// Whether a command succeeded. Returns an error unless it succeeded or failed with a known code.
fn succeeds(output: &Output, codes: &BTreeSet<String>) -> std::result::Result<bool, String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let known = stderr.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| codes.contains(word));
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) if known => Ok(false),
        status => Err(format!("status {status:?}: {stderr}")),
    }
}

/// The codes of errors that are not bugs.
fn codes(folder: &Path) -> Result<BTreeSet<String>> {
    let output = run("schedc explain", folder)?;
    let text = String::from_utf8(output.stdout)?;
    let codes = text.lines().filter_map(|line| line.split_whitespace().next());
    Ok(codes.filter(|code| !code.starts_with('X')).map(str::to_owned).collect())
}

fn numbers(text: &str) -> Vec<f64> {
    text.lines().skip(1).filter_map(|line| line.trim().parse().ok()).collect()
}

/// The first [`ROWS`] rows of a file, with its header.
fn first(path: &Path) -> Result<String> {
    Ok(fs::read_to_string(path)?.lines().take(1 + ROWS).map(|line| format!("{line}\n")).collect())
}

#[test]
fn damaged_gpu_schedules_are_refused_or_run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let (model, examples) = (repository().join("examples/model"), repository().join("examples/gpu"));
    fs::copy(model.join("breast_cancer.json"), folder.join("model.json"))?;
    fs::write(folder.join("rows.csv"), first(&model.join("rows.csv"))?)?;
    let expected = numbers(&first(&model.join("expected.csv"))?);
    let codes = codes(folder)?;
    assert!(codes.len() > 100 && expected.len() == ROWS, "{} codes, {} rows", codes.len(), expected.len());

    let mut paths = fs::read_dir(examples)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let (mut emitted, mut refused) = (0, 0);
    for (seed, path) in (0..EACH).flat_map(|seed| paths.iter().map(move |path| (seed, path))) {
        let text = damaged(&fs::read_to_string(path)?, &mut Rng(seed));
        fs::write(folder.join("damaged.sched"), &text)?;
        let report = |what: &str| format!("{} with seed {seed}: {what}\n{text}", path.display());

        let build = run("schedc build model.json -s damaged.sched --emit ptx -o out.ptx", folder)?;
        let built = succeeds(&build, &codes).map_err(|what| report(&format!("build: {what}")))?;
        let predict = run("schedc predict model.json -s damaged.sched --simulate -i rows.csv", folder)?;
        let predicted = succeeds(&predict, &codes).map_err(|what| report(&format!("predict: {what}")))?;
        assert!(predicted || !built, "{}", report("built, and not predicted"));
        if built {
            assert!(
                fs::read_to_string(folder.join("out.ptx"))?.contains(".entry"),
                "{}",
                report("no kernel")
            );
            fs::remove_file(folder.join("out.ptx"))?;
        }
        if predicted {
            let found = numbers(&String::from_utf8(predict.stdout)?);
            let close = found.len() == ROWS && found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close, "{}", report("the predictions are others"));
        }
        emitted += u32::from(built);
        refused += u32::from(!built);
    }
    println!("{emitted} damaged schedules are emitted, {refused} are refused");
    assert!(emitted >= 8 && refused >= 8, "{emitted} damaged schedules are emitted, {refused} are refused");
    Ok(())
}
