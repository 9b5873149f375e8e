//! Verifies the versions of a library for other processors, each in a separate process of this program.

use crate::args::Verify;
use crate::commands::inspect::targets;
use clap::ValueEnum;
use schedc_driver::{Failure, Model};
use schedc_verify::{VersionReport, other_versions};
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable that limits the instruction sets of code.
const LEVEL_VARIABLE: &str = "SCHEDC_CPU";

/// Verifies the versions that this process does not run. Does nothing if the environment selects a version.
pub fn verify_others(args: &Verify, path: &Path) -> Result<Vec<VersionReport>, Failure> {
    let targets = targets(path, &Model::bytes(path)?)?;
    if std::env::var_os(LEVEL_VARIABLE).is_some() {
        return Ok(Vec::new());
    }
    other_versions(&targets, |target| verify(args, path, target))
}

/// Verifies one version in a separate process.
fn verify(args: &Verify, path: &Path, target: &str) -> Result<serde_json::Value, Failure> {
    let program = crate::program::executable().map_err(|error| refused(target, &error))?;
    let mut command = Command::new(program);
    command.arg("verify").arg(&args.model).arg(path).arg("--json");
    command.arg("--name").arg(&args.name).arg("--budget").arg(format!("{}ms", args.budget.as_millis()));
    if let Some(iterations) = &args.reading.iterations {
        command.arg("--iterations").arg(iterations.to_string());
    }
    if let Some(release) = &args.reading.as_release {
        command.arg("--as-release").arg(release.to_string());
    }
    if let Some(input) = &args.input {
        command.arg("--input").arg(input);
    }
    if let Some(rows) = args.row_type.and_then(|rows| rows.to_possible_value()) {
        command.arg("--row-type").arg(rows.get_name());
    }
    if args.columns.by_position {
        command.arg("--by-position");
    }
    let output = command.env(LEVEL_VARIABLE, target).stdin(Stdio::null()).output();
    let output = output.map_err(|error| refused(target, &error))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let text = String::from_utf8_lossy(&output.stderr);
        refused(target, &text.lines().next().unwrap_or("it says nothing"))
    })
}

fn refused(target: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        sched_llvm::codes::PREDICTION,
        format!("the version for {target} cannot be verified: {why}"),
        format!("verify it alone: {LEVEL_VARIABLE}={target} schedc verify MODEL LIBRARY"),
    )
}
