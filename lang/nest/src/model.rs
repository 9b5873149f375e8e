//! What is known of a model before it is compiled: plain numbers.

use crate::Layout;
use std::sync::OnceLock;

/// What the checker needs to know of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// How many trees the model has; `depths` has as many entries.
    pub num_trees: u32,
    /// How many features a row has.
    pub num_features: u32,
    /// How many of them some tree tests; 0 if that is not known.
    pub tested_features: u32,
    /// How many outputs a row has.
    pub num_classes: u32,
    /// The depth of each tree in edges, in the model's order.
    pub depths: Depths,
    /// How many leaves each tree has at each depth, in the model's order; empty if that is not known. Without it what
    /// would need too much memory may be found only when compiling.
    pub leaves: Vec<Vec<u32>>,
    /// Whether each tree is oblivious, in the model's order: complete, and all nodes of a level make one test. Empty if that
    /// is not known.
    pub oblivious: Vec<bool>,
    /// Whether some leaf has a value for each of several outputs.
    pub leaf_vectors: bool,
    /// Bytes of a value of a row; 0 if that is not known.
    pub value_bytes: u32,
    /// Bytes of a sum; 0 if that is not known.
    pub sum_bytes: u32,
    /// Bytes of a bin of a quantized row; 0 if that is not known.
    pub bin_bytes: u32,
    /// How many features have categories that nodes ask for.
    pub category_features: u32,
    /// How many of them have so many sets of categories that the classes of categories are fewer: as columns of rows these
    /// sets would cost more than walks. They are among the features of a row as columns all the same.
    pub class_features: u32,
    /// Whether a profile says how often each leaf is reached.
    pub profiled: bool,
    /// What follows from the rest, kept from the first time that it is asked for.
    pub sizes: Sizes,
}

impl ModelInfo {
    /// The depth of the deepest tree.
    pub fn max_depth(&self) -> u32 {
        self.depths.deepest
    }

    /// How many features are at least in a copy of rows that trees in this layout walk: bins are those of features that
    /// are tested.
    pub fn copied_features(&self, layout: Layout) -> u32 {
        if layout.is_coded() && self.tested_features > 0 { self.tested_features } else { self.num_features }
    }

    /// Bytes of a row at least in a copy that trees in this layout walk.
    pub fn copied_bytes(&self, layout: Layout) -> u64 {
        let value = if layout.is_coded() { 0 } else { self.value_bytes.into() };
        u64::from(self.copied_features(layout)).saturating_mul(layout.value_bytes().max(value))
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
