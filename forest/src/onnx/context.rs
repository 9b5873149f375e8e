//! What readers of nodes are given.

use super::graph::Found;
use crate::forest::Float;

/// What readers of both kinds of nodes are given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub found: &'a Found<'a>,
    /// The type of thresholds, weights and sums.
    pub float: Float,
    /// How many values leaves may have in all, so that a small file does not become a large forest.
    pub most_values: usize,
}
