//! Input of a check besides the text: the model, overrides and the target, as plain data.

use std::sync::Arc;

use sched_grammar::ast::{ScheduleStmt, StmtKind};
pub use sched_nest::ModelInfo;

/// Kind of machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// A target of compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// CPU or GPU.
    pub kind: TargetKind,
    /// Features or architectures: `avx512`, `sm_90`.
    pub options: Vec<String>,
}

impl Target {
    /// The host's CPU, without options.
    pub fn cpu() -> Self {
        Target { kind: TargetKind::Cpu, options: Vec::new() }
    }

    /// Any GPU.
    pub fn gpu() -> Self {
        Target { kind: TargetKind::Gpu, options: Vec::new() }
    }

    /// Whether the target is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.kind == TargetKind::Gpu
    }
}

impl std::str::FromStr for Target {
    type Err = ();

    /// Reads the text of a `target` line after the word: `cpu`, `cpu(avx512)`, `gpu(sm_90)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let file = sched_grammar::parse_strict(&format!("target {text}")).map_err(drop)?;
        let [ScheduleStmt { kind: StmtKind::Target { kind, options }, .. }] = file.stmts.as_slice() else {
            return Err(());
        };
        let kind = match kind.text.as_str() {
            "cpu" => TargetKind::Cpu,
            "gpu" => TargetKind::Gpu,
            _ => return Err(()),
        };
        Ok(Target { kind, options: options.iter().map(|option| option.text.clone()).collect() })
    }
}

/// Purpose of a check, which decides whether unknown properties are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckPurpose {
    /// Display of the schedule: properties may be unknown.
    #[default]
    Display,
    /// Compilation: an unknown property is an error.
    Compile,
}

impl CheckPurpose {
    /// Whether the caller compiles the schedule.
    pub fn is_compilation(self) -> bool {
        self != CheckPurpose::Display
    }
}

/// Input of a check besides the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOptions {
    /// The model; without one, ranges are symbolic. Shared, because models may have many trees and callers
    /// check often.
    pub model: Option<Arc<ModelInfo>>,
    /// Largest number of rows that the loops process at once.
    pub batch_size: Option<u64>,
    /// Values that override params, in order.
    pub param_values: Vec<(String, i64)>,
    /// Overrides the file's target.
    pub target: Option<Target>,
    /// Bits of the machine's vector registers if the target names no machine, if known.
    pub vector_bits: Option<u32>,
    /// Whether open obligations are errors.
    pub strict: bool,
    /// Purpose of the check.
    pub purpose: CheckPurpose,
}
