//! Outputs of a model: their kernels, and how many columns they have.

use crate::Failure;
use sched_diagnostics::usage;
use sched_forest::Forest;
use sched_ir::lir::{KernelKind, Module};
use sched_ir::lower::class_columns;
use sched_llvm::runtime::{Counts, Kind, Needs};

/// The kernel that finishes or walks for an output alone; that of margins for [`Kind::Raw`].
pub const fn kernel(kind: Kind) -> KernelKind {
    match kind {
        Kind::Value => KernelKind::Value,
        Kind::Raw => KernelKind::Raw,
        Kind::Class => KernelKind::Class,
        Kind::Leaf => KernelKind::Leaf,
        Kind::Tree => KernelKind::Tree,
    }
}

/// The kernel that walks the trees for an output.
pub const fn walk(kind: Kind) -> KernelKind {
    if kind.walks_itself() { kernel(kind) } else { KernelKind::Raw }
}

/// The kernels of all outputs: margins first, then the others in the order of outputs.
pub const KERNELS: [KernelKind; Kind::ALL.len()] = {
    let mut kernels = [KernelKind::Raw; Kind::ALL.len()];
    let (mut from, mut to) = (0, 1);
    while from < Kind::ALL.len() {
        if !matches!(Kind::ALL[from], Kind::Raw) {
            kernels[to] = kernel(Kind::ALL[from]);
            to += 1;
        }
        from += 1;
    }
    kernels
};

/// The counts of a model that its outputs depend on.
pub fn counts(forest: &Forest) -> Counts {
    Counts {
        values: forest.num_outputs(),
        margins: forest.num_margins,
        classes: if forest.is_classifier() { forest.num_classes_out() } else { 0 },
        trees: forest.trees.len(),
        tree_values: forest.num_tree_values(),
    }
}

/// The columns of an output of compiled code; 0 if the code lacks a kernel that the output needs.
pub fn columns(kind: Kind, forest: &Forest, module: &Module) -> usize {
    let is_there = module.kernels.iter().any(|(found, _)| *found == kernel(kind));
    let is_needed = matches!(kind.needs(), Needs::FinishOrNone | Needs::Walk);
    if is_there || !is_needed { kind.columns(&counts(forest)) } else { 0 }
}

/// The columns of an output of code with all kernels; 0 if the model lacks the output.
pub fn columns_of(kind: Kind, forest: &Forest) -> usize {
    let is_there = kind.needs() != Needs::FinishOrNone || class_columns(forest) == 1;
    if is_there { kind.columns(&counts(forest)) } else { 0 }
}

/// The output with this word.
///
/// # Errors
/// When there is no such output, or the model lacks it.
pub fn of_word(word: &str, forest: &Forest) -> Result<Kind, Failure> {
    let has = |kind: Kind| columns_of(kind, forest) > 0;
    Kind::of_word(word).filter(|kind| has(*kind)).ok_or_else(|| lacked(word, has))
}

/// The refusal of an output that a model or its code lacks, with the outputs that it has.
pub fn lacked(word: &str, has: impl Fn(Kind) -> bool) -> Failure {
    let (message, known) = (format!("the model has no output `{word}`"), Kind::words(has));
    Failure::new(usage::NO_SUCH_OUTPUT, message, format!("choose {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_has_a_kernel_of_its_own() {
        assert_eq!(KERNELS[0], KernelKind::Raw);
        for kind in Kind::ALL {
            let count = KERNELS.iter().filter(|other| **other == kernel(kind)).count();
            assert_eq!(count, 1, "{kind:?}");
        }
    }
}
