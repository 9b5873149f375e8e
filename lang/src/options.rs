//! What a check is told besides the text: the model, overrides and the target, all as plain data.

use std::sync::{Arc, OnceLock};

use sched_grammar::ast::{Stmt, StmtKind};

/// What the checker needs to know of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// How many trees the model has; `depths` has as many entries.
    pub num_trees: u32,
    /// How many features a row has.
    pub num_features: u32,
    /// How many outputs a row has.
    pub num_classes: u32,
    /// The depth of each tree in edges, in the model's order.
    pub depths: Depths,
    /// How many leaves each tree has at each depth, in the model's order; empty if that is not known. Without it what
    /// would need too much memory may be found only when compiling.
    pub leaves: Vec<Vec<u32>>,
    /// Whether a profile says how often each leaf is reached.
    pub profiled: bool,
    /// What follows from the rest, kept from the first time that it is asked for.
    pub sizes: Sizes,
}

impl ModelFacts {
    /// The depth of the deepest tree.
    pub fn max_depth(&self) -> u32 {
        self.depths.deepest
    }

    /// How many nodes so many trees have at least, whichever they are.
    pub fn least_nodes(&self, trees: u64) -> u64 {
        let sums = self.sizes.0.get_or_init(|| {
            let mut nodes: Vec<u64> = (0..self.depths.len()).map(|tree| self.nodes(tree)).collect();
            nodes.sort_unstable();
            let add = |sum: &mut u64, nodes: u64| {
                *sum = sum.saturating_add(nodes);
                Some(*sum)
            };
            nodes.into_iter().scan(0, add).collect()
        });
        let last = usize::try_from(trees).unwrap_or(usize::MAX).min(sums.len());
        last.checked_sub(1).map_or(0, |last| sums[last])
    }

    /// How many trees are no deeper than `depth`.
    pub fn trees_to_depth(&self, depth: i64) -> i64 {
        self.depths.iter().filter(|d| i64::from(**d) <= depth).count() as i64
    }
}

/// How many nodes the smallest trees have together: one, two, three and so on.
#[derive(Clone, Debug, Default)]
pub struct Sizes(OnceLock<Vec<u64>>);

impl PartialEq for Sizes {
    /// Sizes follow from the leaves and depths beside them.
    fn eq(&self, _: &Sizes) -> bool {
        true
    }
}

impl Eq for Sizes {}

/// The depth of each tree. What is asked for at every keystroke is at hand: models have many trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    each: Vec<u32>,
    deepest: u32,
    changes: usize,
}

impl Depths {
    /// How many trees have another depth than the one before.
    pub fn changes(&self) -> usize {
        self.changes
    }
}

impl From<Vec<u32>> for Depths {
    fn from(each: Vec<u32>) -> Self {
        let deepest = each.iter().copied().max().unwrap_or(0);
        let changes = each.windows(2).filter(|pair| pair[0] != pair[1]).count();
        Depths { each, deepest, changes }
    }
}

impl FromIterator<u32> for Depths {
    fn from_iter<I: IntoIterator<Item = u32>>(depths: I) -> Self {
        Vec::from_iter(depths).into()
    }
}

impl std::ops::Deref for Depths {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.each
    }
}

/// Which kind of machine code is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// What to make code for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// CPU or GPU.
    pub kind: TargetKind,
    /// Features or architectures: `avx512`, `sm_90`.
    pub options: Vec<String>,
}

impl Target {
    /// The host's CPU, without special wishes.
    pub fn cpu() -> Self {
        Target { kind: TargetKind::Cpu, options: Vec::new() }
    }

    /// Any GPU.
    pub fn gpu() -> Self {
        Target { kind: TargetKind::Gpu, options: Vec::new() }
    }
}

impl std::str::FromStr for Target {
    type Err = ();

    /// Reads what stands in a `target` line after the word: `cpu`, `cpu(avx512)`, `gpu(sm_90)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let file = sched_grammar::parse_strict(&format!("target {text}")).map_err(drop)?;
        let [Stmt { kind: StmtKind::Target { kind, options }, .. }] = file.stmts.as_slice() else {
            return Err(());
        };
        let kind = match kind.text.as_str() {
            "cpu" => TargetKind::Cpu,
            "gpu" => TargetKind::Gpu,
            _ => return Err(()),
        };
        Ok(Target { kind, options: options.iter().map(|option| option.text.clone()).collect() })
    }
}

/// What the caller wants to do with the schedule, and so what it must be able to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supported {
    /// Only look at it: the whole language is fine.
    #[default]
    Everything,
    /// Compile it: a directive that no code generator lowers is an error, and so is a fact that is not known.
    Compilable,
}

/// What a check is told besides the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The model; without one, ranges are symbolic. Shared, because models may have many trees and checks are many.
    pub facts: Option<Arc<ModelFacts>>,
    /// Most rows that one run of the nest handles.
    pub batch_size: Option<u64>,
    /// Values that override params, in order.
    pub sets: Vec<(String, i64)>,
    /// Overrides the file's target.
    pub target: Option<Target>,
    /// What cannot be decided is an error.
    pub strict: bool,
    /// What the caller wants to do with the schedule.
    pub supported: Supported,
}
