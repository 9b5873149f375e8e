//! Verifies the versions of a library for other processors. A process selects one version at its start, so
//! each version is verified in a separate process.

use super::report::Version;
use crate::args::Verify;
use crate::commands::inspect::targets;
use sched_llvm::Cpu;
use schedc_driver::Failure;
use schedc_driver::Model;
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable that limits the instruction sets of code.
const LEVEL: &str = "SCHEDC_CPU";

/// Verifies the versions that this process does not run: all except the most demanding one that the processor
/// supports. Does nothing if the environment selects a version.
pub fn others(args: &Verify, path: &Path) -> Result<Vec<Version>, Failure> {
    let targets = targets(path, &Model::bytes(path)?)?;
    if targets.len() < 2 || std::env::var_os(LEVEL).is_some() {
        return Ok(Vec::new());
    }
    let runs_here = |target: &str| target.parse::<Cpu>().is_ok_and(Cpu::runs_here);
    let own = targets.iter().position(|target| runs_here(target));
    let mut versions = Vec::new();
    for (number, target) in targets.iter().enumerate().filter(|(number, _)| Some(*number) != own) {
        // Versions above the one that runs are unsupported here; those below are supported.
        let report = match own.is_some_and(|own| own < number) {
            true => Some(verify(args, path, target)?),
            false => None,
        };
        versions.push(Version { target: target.clone(), report });
    }
    Ok(versions)
}

/// Verifies one version in a separate process.
fn verify(args: &Verify, path: &Path, target: &str) -> Result<serde_json::Value, Failure> {
    let program = std::env::current_exe().map_err(|error| refused(target, &error))?;
    let mut command = Command::new(program);
    command.arg("verify").arg(&args.model).arg(path).arg("--json");
    command.arg("--name").arg(&args.name).arg("--seconds").arg(args.seconds.to_string());
    if let Some(iterations) = &args.reading.iterations {
        command.arg("--iterations").arg(iterations.to_string());
    }
    if let Some(release) = &args.reading.as_release {
        command.arg("--as-release").arg(release.to_string());
    }
    if let Some(input) = &args.input {
        command.arg("--input").arg(input);
    }
    if args.by_position {
        command.arg("--by-position");
    }
    let output = command.env(LEVEL, target).stdin(Stdio::null()).output();
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
        format!("verify it alone: {LEVEL}={target} schedc verify MODEL LIBRARY"),
    )
}
