//! The walks of a nest, as the checker finds them too.

use crate::error::CompileError;
use sched_nest::sym::Sym;
use sched_nest::walks;
use sched_nest::{Layout, LoopId, Nest};
use std::collections::BTreeMap;

pub use sched_nest::walks::LeafLoop;

/// The value of a symbol that a bound model must have made known.
pub fn known(sym: &Sym) -> Result<i64, CompileError> {
    sym.as_int().ok_or_else(not_known)
}

fn not_known() -> CompileError {
    CompileError::symbolic()
}

/// All walks of a nest by leaf loop. `deepest` holds the depth of each tree in the order of the nest.
pub fn collect(
    nest: &Nest,
    deepest: &[u32],
    layout: Layout,
) -> Result<BTreeMap<LoopId, LeafLoop>, CompileError> {
    walks::collect(nest, deepest, layout).map_err(|_| not_known())
}
