//! The context that readers of nodes share.

use super::graph::Ensemble;
use crate::forest::Float;

/// The context of the readers of tree ensembles, [`nodes`](super::nodes) and [`v5`](super::v5).
#[derive(Clone, Copy, Debug)]
pub(super) struct EnsembleContext<'a> {
    pub ensemble: &'a Ensemble<'a>,
    /// The type of thresholds, weights and sums.
    pub float: Float,
    /// Maximum number of values in all leaf vectors, so that a small file cannot become a large forest.
    pub most_values: usize,
}
