//! Launches with their grids of blocks.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::last_block;
use crate::lir::{BuildStmts, Value};
use crate::mir::{Iter, MirLaunch};

impl EmitStmt for MirLaunch {
    /// Emits a launch with as many blocks as its longest loops need.
    fn emit(&self, k: &mut KernelBuilder) {
        let grid = self.grid.each_ref().map(|loops| extent(k, loops));
        let body = |k: &mut KernelBuilder| k.in_launch(self.block, |k| self.body.emit(k));
        match self.last_block.as_ref().filter(|last| last_block::has_work(k, last)) {
            Some(last) => last_block::launch_with_last_blocks(k, (self, last), grid, body),
            None => k.launch(&self.name, grid, self.block, body),
        }
    }
}

/// Number of iterations of the longest loop, or 1 if there is none.
fn extent(k: &mut KernelBuilder, loops: &[Iter]) -> Value {
    let mut longest = None;
    for iter in loops {
        let trips = k.trip(iter);
        longest = Some(longest.map_or(trips, |other| k.b.max(other, trips)));
    }
    longest.unwrap_or_else(|| k.b.int(1))
}
