//! Properties of a model before compilation, as plain numbers.

use crate::{Layout, StageInfo};
use std::sync::OnceLock;

/// Properties of a model that the checker needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// Number of trees, which is the length of `depths`.
    pub num_trees: u32,
    /// Number of features of a row; of columns, if some test is not numeric.
    pub num_features: u32,
    /// Number of features, or of columns, that some tree tests, or that leaves add if no tree has a test; 0
    /// if unknown.
    pub tested_features: u32,
    /// Number of columns that kernels compute for each row, as the tests of trees read them.
    pub computed_columns: u32,
    /// Number of outputs of a row.
    pub num_classes: u32,
    /// Depth of each tree in edges, in the model's order.
    pub depths: Depths,
    /// Number of leaves of each tree at each depth, in the model's order; empty if unknown. Without it, only
    /// the compiler finds some tables that are too large.
    pub leaves: Vec<Vec<u32>>,
    /// Whether each tree is oblivious, in the model's order: complete, with one test for all nodes of a
    /// level. Empty if unknown.
    pub oblivious: Vec<bool>,
    /// Whether leaves are vectors, which add a value to each margin.
    pub has_leaf_vectors: bool,
    /// Whether trees add to several margins in turn: tree `i` to margin `i` modulo `num_classes`.
    pub takes_margins_in_turn: bool,
    /// Bytes of a value of a row; 0 if unknown.
    pub value_bytes: u32,
    /// Bytes of a sum; 0 if unknown.
    pub sum_bytes: u32,
    /// Bytes of a bin of a quantized row; 0 if unknown.
    pub bin_bytes: u32,
    /// Number of bins of a quantized row; 0 if unknown. A feature has two if missing values go left at some
    /// nodes and right at others, and more if it has more thresholds than a bin has values.
    pub bins_per_row: u32,
    /// Steps of the searches for all bins of a row; 0 if unknown.
    pub search_steps: u32,
    /// Number of features with categories that nodes test.
    pub category_features: u32,
    /// Number of features whose sets of categories `preorder` tests by class. Other layouts have a column for
    /// each set, which `num_features` counts, and which would cost more than the walks.
    pub class_features: u32,
    /// Whether a profile has the frequency of each leaf.
    pub has_profile: bool,
    /// The stages in the order in which they run; the last one has the trees. Empty if unknown.
    pub stages: Vec<StageInfo>,
    /// Values derived from the other fields at their first use.
    pub smallest_tree_nodes: SmallestTreeNodes,
}

impl ModelInfo {
    /// The depth of the deepest tree.
    pub fn max_depth(&self) -> u32 {
        self.depths.deepest
    }

    /// Smallest number of features in a copy of rows for trees in this layout. Bins exist for tested features
    /// only.
    pub fn copied_features(&self, layout: Layout) -> u32 {
        if layout.compares_bins() && self.tested_features > 0 {
            self.tested_features
        } else {
            self.num_features
        }
    }

    /// Smallest number of features in a copy of rows in a GPU's shared memory: those that trees test, if they
    /// are known.
    pub fn shared_features(&self) -> u32 {
        if self.tested_features > 0 { self.tested_features } else { self.num_features }
    }

    /// Number of values of a row in a copy in a GPU's shared memory, for trees in this layout: of bins if the
    /// layout compares bins and their number is known, otherwise [`ModelInfo::shared_features`].
    pub fn shared_values(&self, layout: Layout) -> u32 {
        if layout.compares_bins() && self.bins_per_row > 0 {
            self.bins_per_row
        } else {
            self.shared_features()
        }
    }

    /// Whether a node's bin and the number of its column are a byte each, so that nodes have 16 bits, and
    /// vectors of rows on GPUs share a word.
    pub fn has_byte_bins(&self) -> bool {
        self.bin_bytes <= 1 && self.shared_values(Layout::Quantized) <= 1 << 8
    }

    /// Smallest number of bytes of a row in a copy for trees in this layout.
    pub fn copied_bytes(&self, layout: Layout) -> u64 {
        u64::from(self.copied_features(layout)).saturating_mul(self.copied_value_bytes(layout))
    }

    /// Smallest number of bytes of a row in a copy in a GPU's shared memory, for trees in this layout.
    pub fn shared_bytes(&self, layout: Layout) -> u64 {
        u64::from(self.shared_features()).saturating_mul(self.copied_value_bytes(layout))
    }

    /// Smallest number of bytes of a value of a row in a copy for trees in this layout.
    pub fn copied_value_bytes(&self, layout: Layout) -> u64 {
        let value = if layout.compares_bins() { 0 } else { self.value_bytes.into() };
        layout.value_bytes().max(value)
    }

    /// Smallest number of nodes of any `trees` trees.
    pub fn least_nodes(&self, trees: u64) -> u64 {
        let sums = self.smallest_tree_nodes.0.get_or_init(|| {
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

    /// Number of trees of depth `depth` or less.
    pub fn trees_to_depth(&self, depth: i64) -> i64 {
        self.depths.iter().filter(|d| i64::from(**d) <= depth).count() as i64
    }
}

/// Total nodes of the smallest tree, of the two smallest trees, and so on.
#[derive(Clone, Debug, Default)]
pub struct SmallestTreeNodes(OnceLock<Vec<u64>>);

impl PartialEq for SmallestTreeNodes {
    /// Always true: sizes derive from the other fields of [`ModelInfo`], which are compared.
    fn eq(&self, _: &SmallestTreeNodes) -> bool {
        true
    }
}

impl Eq for SmallestTreeNodes {}

/// Depth of each tree. Derived values are precomputed, because editors need them at every keystroke and
/// models have many trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    each: Vec<u32>,
    deepest: u32,
    changes: usize,
}

impl Depths {
    /// Number of trees whose depth differs from that of the tree before.
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
