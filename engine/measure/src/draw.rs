//! Random rows for timing without a file of rows. Their values lie between the thresholds of the model, so
//! that walks take both branches of each node.

use sched_forest::{Forest, Predicate};

/// Number of random rows. Larger calls repeat them.
const MAX_DRAWN_ROWS: usize = 4096;
/// Most random values. Models with very many features get fewer rows.
const MAX_DRAWN_VALUES: usize = 1 << 22;
/// Most thresholds of a feature between which values are drawn.
const MAX_THRESHOLDS: usize = 256;

/// The seed of the random rows.
pub const DRAW_SEED: u64 = 1;

/// Draws rows for a model, the same in every run. The result is row-major.
pub fn draw_rows(forest: &Forest) -> Vec<f64> {
    let mut thresholds: Vec<Vec<f64>> = vec![Vec::new(); forest.num_features];
    for node in forest.trees.iter().flat_map(|tree| &tree.inner) {
        if let (Predicate::Numeric { threshold }, Some(known)) =
            (&node.predicate, thresholds.get_mut(node.feature as usize))
            && known.len() < MAX_THRESHOLDS
        {
            known.push(*threshold);
        }
    }
    let rows = MAX_DRAWN_ROWS.min(MAX_DRAWN_VALUES / forest.num_features.max(1)).max(1);
    let mut state = DRAW_SEED;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    };
    let mut values = Vec::with_capacity(rows * forest.num_features);
    for _ in 0..rows {
        for known in &thresholds {
            let mut pick = || known.get((next() * known.len() as f64) as usize).copied().unwrap_or(0.0);
            let (a, b) = (pick(), pick());
            values.push(a + (b - a) * next());
        }
    }
    values
}
