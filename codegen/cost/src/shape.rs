//! Properties of a model that its code does not show, such as the lengths of walks.

use sched_forest::{Forest, NodeRef};
use sched_ir::lir::WalkSteps;

/// Deepest level whose leaves are counted separately; deeper leaves count as leaves of this depth. The bound
/// keeps the search for leaves short. It costs little accuracy: at each node half of the rows are assumed to
/// go to each side, so few rows get there.
const MOST_LEVELS: usize = 64;

/// The properties of a model on which costs depend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelShape {
    /// Features of a row.
    pub features: f64,
    /// Margins of a row.
    pub margins: f64,
    /// Share of walks that take more than `n` steps, at index `n`.
    share_beyond: Vec<f64>,
}

/// The number of steps that a loop over walks is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedSteps {
    /// Mean number of steps until the last walk of the loop ends.
    pub steps: f64,
    /// Probability of another number of steps than the most frequent one. The processor then mispredicts the
    /// branch that ends the loop.
    pub misprediction: f64,
}

impl ModelShape {
    /// The properties of a forest, if rows go left and right equally often at each node.
    pub fn of(forest: &Forest) -> ModelShape {
        let mut ends = vec![0.0; MOST_LEVELS + 1];
        for tree in &forest.trees {
            let mut open = vec![(tree.root, 0usize)];
            while let Some((child, depth)) = open.pop() {
                let inner = match child {
                    NodeRef::Inner(n) if depth < MOST_LEVELS => tree.inner.get(n as usize),
                    _ => None,
                };
                match inner {
                    Some(node) => open.extend([(node.left, depth + 1), (node.right, depth + 1)]),
                    None => ends[depth] += 0.5f64.powi(depth as i32) / forest.trees.len().max(1) as f64,
                }
            }
        }
        let mut remaining = ends.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let total = remaining;
        let longer = ends.iter().map(|share| {
            remaining -= share;
            (remaining / total).clamp(0.0, 1.0)
        });
        ModelShape {
            features: forest.num_features as f64,
            margins: forest.num_margins as f64,
            share_beyond: longer.collect(),
        }
    }

    /// The expected steps of a loop in which `walks` walks take each step together.
    pub fn steps(&self, walks: f64, loop_steps: WalkSteps) -> ExpectedSteps {
        let (mut steps, mut before, mut likeliest) = (0.0, 1.0, 0.0f64);
        let levels = loop_steps.levels_per_step.max(1) as usize;
        for share in self.share_beyond.iter().step_by(levels).skip(loop_steps.steps_before as usize) {
            // Probability that at least one walk continues.
            let goes_on = 1.0 - (1.0 - share).powf(walks);
            likeliest = likeliest.max(before - goes_on);
            steps += before.min(goes_on);
            before = goes_on;
        }
        ExpectedSteps { steps, misprediction: (1.0 - likeliest).clamp(0.0, 1.0) }
    }
}
