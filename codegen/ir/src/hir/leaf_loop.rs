//! Leaf loops of a nest, with the requirements on their walks that the checker derives.

use crate::error::CompileError;
use sched_nest::sym::Sym;
use sched_nest::walks;
use sched_nest::{Layout, LoopId, Nest};
use std::collections::BTreeMap;

pub use sched_nest::walks::LeafLoop;

/// Value of a symbol, which must be a number after the check with the model.
pub fn number_of(sym: &Sym) -> Result<i64, CompileError> {
    sym.as_int().ok_or_else(symbolic_nest)
}

fn symbolic_nest() -> CompileError {
    CompileError::symbolic()
}

/// All leaf loops of a nest. `deepest` is the depth of each tree in the order of the nest.
pub fn collect(
    nest: &Nest,
    deepest: &[u32],
    layout: Layout,
) -> Result<BTreeMap<LoopId, LeafLoop>, CompileError> {
    walks::leaf_loops(nest, deepest, layout).map_err(|_| symbolic_nest())
}
