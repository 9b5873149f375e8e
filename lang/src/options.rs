//! What a check is told besides the text: the model, overrides and the target, all as plain data.

use std::sync::Arc;

use sched_grammar::ast::{Stmt, StmtKind};
pub use sched_nest::ModelInfo;

/// Which kind of machine code is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// What to make code for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// CPU or GPU.
    pub kind: TargetKind,
    /// Features or architectures: `avx512`, `sm_90`.
    pub options: Vec<String>,
}

impl Target {
    /// The host's CPU, without special wishes.
    pub fn cpu() -> Self {
        Target { kind: TargetKind::Cpu, options: Vec::new() }
    }

    /// Any GPU.
    pub fn gpu() -> Self {
        Target { kind: TargetKind::Gpu, options: Vec::new() }
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.kind == TargetKind::Gpu
    }
}

impl std::str::FromStr for Target {
    type Err = ();

    /// Reads what stands in a `target` line after the word: `cpu`, `cpu(avx512)`, `gpu(sm_90)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let file = sched_grammar::parse_strict(&format!("target {text}")).map_err(drop)?;
        let [Stmt { kind: StmtKind::Target { kind, options }, .. }] = file.stmts.as_slice() else {
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

/// What the caller wants to do with the schedule, and so what it must be able to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supported {
    /// Only look at it: the whole language is fine.
    #[default]
    Everything,
    /// Compile it: a fact that is not known is an error.
    Compilable,
}

impl Supported {
    /// Whether code is to be made, for whatever device.
    pub fn is_code(self) -> bool {
        self != Supported::Everything
    }
}

/// What a check is told besides the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The model; without one, ranges are symbolic. Shared, because models may have many trees and checks are many.
    pub model: Option<Arc<ModelInfo>>,
    /// Most rows that one run of the nest handles.
    pub batch_size: Option<u64>,
    /// Values that override params, in order.
    pub sets: Vec<(String, i64)>,
    /// Overrides the file's target.
    pub target: Option<Target>,
    /// Bits of the vector registers of the machine that the target means where it names none, if that is known.
    pub vector_bits: Option<u32>,
    /// What cannot be decided is an error.
    pub strict: bool,
    /// What the caller wants to do with the schedule.
    pub supported: Supported,
}
