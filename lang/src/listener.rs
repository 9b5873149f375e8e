//! Listeners to problems: a report, which puts them into words, or a counter.

use crate::illegal::Illegal;
use crate::lineage::NestBuilder;

/// Receives the problems of operations.
pub(crate) trait Listener {
    /// Receives a problem of an operation on the current nest.
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal);

    /// Adds to the work: number of loops made or visited.
    fn spend(&mut self, _work: usize) {}

    /// Whether the listener needs no more problems.
    fn has_enough(&self) -> bool {
        false
    }
}
