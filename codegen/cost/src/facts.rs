//! What is known of a model besides its code: how far walks go.

use sched_forest::{Forest, NodeRef};
use sched_ir::lir::WalkSteps;

/// Deepest leaf that is told apart.
const DEEPEST: usize = 64;

/// What is known of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Features of a row.
    pub features: f64,
    /// Sums of a row.
    pub margins: f64,
    /// The share of walks that take more than so many steps.
    longer: Vec<f64>,
}

/// How many steps a loop of walks takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// On average, until the last of its walks ends.
    pub steps: f64,
    /// How often that is another number than the most frequent one.
    pub surprise: f64,
}

impl Facts {
    /// The facts of a model whose rows go left and right equally often.
    pub fn of(forest: &Forest) -> Facts {
        let mut ends = vec![0.0; DEEPEST + 1];
        for tree in &forest.trees {
            let mut open = vec![(tree.root, 0usize)];
            while let Some((child, depth)) = open.pop() {
                let inner = match child {
                    NodeRef::Inner(n) if depth < DEEPEST => tree.inner.get(n as usize),
                    _ => None,
                };
                match inner {
                    Some(node) => open.extend([(node.left, depth + 1), (node.right, depth + 1)]),
                    None => ends[depth] += 0.5f64.powi(depth as i32) / forest.trees.len().max(1) as f64,
                }
            }
        }
        let mut left = ends.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let total = left;
        let longer = ends.iter().map(|share| {
            left -= share;
            (left / total).clamp(0.0, 1.0)
        });
        Facts {
            features: forest.num_features as f64,
            margins: forest.num_margins as f64,
            longer: longer.collect(),
        }
    }

    /// The steps of a loop of so many walks.
    pub fn steps(&self, walks: f64, known: WalkSteps) -> Steps {
        let (mut steps, mut before, mut likeliest) = (0.0, 1.0, 0.0f64);
        let levels = known.levels.max(1) as usize;
        for share in self.longer.iter().step_by(levels).skip(known.taken as usize) {
            // Some walk goes on.
            let goes_on = 1.0 - (1.0 - share).powf(walks);
            likeliest = likeliest.max(before - goes_on);
            steps += before.min(goes_on);
            before = goes_on;
        }
        Steps { steps, surprise: (1.0 - likeliest).clamp(0.0, 1.0) }
    }
}
