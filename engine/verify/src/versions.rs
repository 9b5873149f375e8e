//! The versions of a library for other processors. A process selects one version at its start, so each other
//! version is verified in a separate process.

use sched_llvm::Cpu;
use schedc_driver::Failure;
use serde_json::Value;

/// A version of a library.
pub struct VersionReport {
    /// The processors of the version.
    pub target: String,
    /// The report on the version; `None` if the version cannot run here.
    pub report: Option<Value>,
}

/// Verifies the versions that this process does not run: all except the most demanding one that the processor
/// supports. `targets` are the processors of all versions, the most demanding first. `verify` verifies the
/// version for a processor in a separate process, and returns its report as JSON.
///
/// # Errors
/// When `verify` fails.
pub fn other_versions(
    targets: &[String],
    mut verify: impl FnMut(&str) -> Result<Value, Failure>,
) -> Result<Vec<VersionReport>, Failure> {
    if targets.len() < 2 {
        return Ok(Vec::new());
    }
    let runs_here = |target: &String| target.parse::<Cpu>().is_ok_and(Cpu::runs_here);
    let own = targets.iter().position(runs_here);
    let mut versions = Vec::new();
    for (number, target) in targets.iter().enumerate().filter(|(number, _)| Some(*number) != own) {
        // This processor does not support versions above the one that runs, but all below it.
        let report = match own.is_some_and(|own| own < number) {
            true => Some(verify(target)?),
            false => None,
        };
        versions.push(VersionReport { target: target.clone(), report });
    }
    Ok(versions)
}
