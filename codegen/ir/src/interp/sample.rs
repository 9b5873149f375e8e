//! Sampling: runs a few blocks of each launch and passes events to their clocks.

use super::Machine;
use super::memory::Region;
use super::pace::Pace;
use super::warp::Warps;
use crate::lir::{Launch, Stmt, Value};

impl<'m> Machine<'_, 'm> {
    /// Clocks of a sampled launch, while it runs.
    #[inline]
    pub(super) fn pace(&mut self) -> Option<&mut Pace> {
        let running = self.tasks.in_launch();
        self.warps.as_mut().filter(|_| running).and_then(Warps::pace)
    }

    /// Passes a statement that is about to run to the clocks.
    #[inline]
    pub(super) fn pace_before(&mut self, stmt: &Stmt) {
        let function = self.function;
        if let Some(pace) = self.pace() {
            pace.before(function, stmt);
        }
    }

    /// Passes a finished statement to the clocks.
    #[inline]
    pub(super) fn pace_after(&mut self, stmt: &Stmt) {
        if let Some(pace) = self.pace() {
            pace.after(stmt);
        }
    }

    /// Passes the copy of a value to the clocks.
    #[inline]
    pub(super) fn pace_copy(&mut self, from: Value, to: Value) {
        if let Some(pace) = self.pace() {
            pace.copy(from, to);
        }
    }

    /// Passes an iteration, or a branch on a value, to the clocks.
    #[inline]
    pub(super) fn pace_branch(&mut self, by: Option<Value>) {
        if let Some(pace) = self.pace() {
            pace.branch(by);
        }
    }

    /// Temporary memory that threads share: outside launches, or in a block.
    pub(super) fn shared_region(&self, size: u64, depth: usize) -> Region<'m> {
        let mut region = Region::owned(size as usize, depth);
        if self.is_sampled() {
            region.disable_checks();
        }
        region
    }

    /// Whether only some blocks run.
    pub(super) fn is_sampled(&self) -> bool {
        self.warps.as_ref().is_some_and(Warps::is_sampled)
    }

    /// Number of blocks of a launch that run.
    pub(super) fn blocks_to_run(&mut self, all: u64) -> u64 {
        self.pace().map_or(all, |pace| pace.blocks(all))
    }
}

impl Warps {
    /// Starts the clocks of a block.
    pub(super) fn begin_block(&mut self, launch: &Launch) {
        let running = self.running();
        if let Some(pace) = self.pace() {
            pace.begin(running, launch.threads());
        }
    }

    /// Stops the clocks of a block.
    pub(super) fn end_block(&mut self) {
        let running = self.running();
        if let Some(pace) = self.pace() {
            pace.end(running);
        }
    }
}
