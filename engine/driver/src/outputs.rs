//! Outputs of a model: their kernels, and how many columns they have.

use crate::Failure;
use sched_diagnostics::usage;
use sched_forest::Forest;
use sched_ir::lir::Module;
use sched_llvm::runtime::OutputKind;

/// The kernels of all outputs: margins first, then the others in the order of outputs.
pub const KERNELS: [OutputKind; OutputKind::ALL.len()] = {
    let mut kinds = OutputKind::ALL;
    kinds.swap(OutputKind::Value as usize, OutputKind::Raw as usize);
    kinds
};

/// The columns of an output of compiled code; 0 if the code lacks a kernel that the output needs.
pub fn columns(kind: OutputKind, forest: &Forest, module: &Module) -> usize {
    kind.columns_of_code(&forest.counts(), module.has(kind.into()))
}

/// The output with this word.
///
/// # Errors
/// When there is no such output, or the model lacks it.
pub fn of_word(word: &str, forest: &Forest) -> Result<OutputKind, Failure> {
    let has = |kind: OutputKind| forest.columns_of_output(kind) > 0;
    OutputKind::of_word(word).filter(|kind| has(*kind)).ok_or_else(|| missing_output(word, has))
}

/// The refusal of an output that a model or its code lacks, with the outputs that it has.
pub fn missing_output(word: &str, has: impl Fn(OutputKind) -> bool) -> Failure {
    let (message, known) = (format!("the model has no output `{word}`"), OutputKind::words(has));
    Failure::new(usage::NO_SUCH_OUTPUT, message, format!("choose {known}"))
}
