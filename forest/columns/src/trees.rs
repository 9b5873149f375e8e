//! Trees as columns: sums of the leaves in which a row ends, by tests of other columns.

use crate::float::Float;
use crate::ties::Ties;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A child or the root of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeNode {
    /// The test at this index of the tree.
    Test(u32),
    /// The leaf at this index of the tree.
    Leaf(u32),
}

/// A test of an operand against a threshold. A value that reaches the threshold goes right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeTest {
    /// The index of the operand.
    pub operand: u32,
    /// The threshold, in the type of the operands, widened.
    pub threshold: f64,
    /// Whether NaN goes left.
    pub missing_left: bool,
    /// The child for values below the threshold.
    pub left: TreeNode,
    /// The child for all other numbers.
    pub right: TreeNode,
}

/// A tree whose leaves hold a value for each result.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTree {
    /// The first node of each walk.
    pub root: TreeNode,
    /// The tests. Each child has one parent, whose index is smaller than its own.
    pub tests: Vec<TreeTest>,
    /// The values of all leaves, leaf by leaf, in the type of the sums, widened.
    pub values: Vec<f64>,
}

/// Trees with several results. A column adds one result of each leaf, and columns for other results share the
/// trees.
#[derive(Clone)]
pub struct ColumnTrees {
    shared: SharedTreeProperties,
    trees: Vec<ColumnTree>,
    digest: u64,
}

/// Properties that all trees of a [`ColumnTrees`] share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedTreeProperties {
    /// The number of operands.
    pub operands: u32,
    /// The number of values of a leaf, at least one.
    pub results: u32,
    /// The type of operands and thresholds.
    pub operand_type: Float,
    /// The type of leaf values and sums.
    pub sum_type: Float,
    /// The side of a value that lies on a threshold.
    pub ties: Ties,
}

/// Maximum number of tests and leaf values of all trees, so that 32-bit integers hold byte offsets of
/// four-byte entries too.
const MOST_NODES: usize = 1 << 28;

impl ColumnTrees {
    /// Trees with these properties. `None` if the nodes of a tree do not form a tree, or a test names an
    /// operand that does not exist. Also `None` if a number is NaN or needs a wider type, and for more than
    /// 2^28 tests and leaf values.
    pub fn new(shared: SharedTreeProperties, trees: Vec<ColumnTree>) -> Option<ColumnTrees> {
        let results = shared.results as usize;
        let nodes: usize = trees.iter().map(|tree| tree.tests.len() + tree.values.len()).sum();
        let fits = nodes <= MOST_NODES && results > 0 && trees.iter().all(|tree| tree.is_valid(&shared));
        let digest = digest(&shared, &trees);
        fits.then_some(ColumnTrees { shared, trees, digest })
    }

    /// The properties that all these trees have in common.
    pub fn shared_properties(&self) -> &SharedTreeProperties {
        &self.shared
    }

    /// The trees, in the order in which they are added.
    pub fn trees(&self) -> &[ColumnTree] {
        &self.trees
    }

    /// The sum of the depths of all trees.
    pub fn steps(&self) -> usize {
        self.trees.iter().map(|tree| tree.depth() as usize).sum()
    }
}

impl ColumnTree {
    /// The index of the leaf in which a walk ends. `operand` gives the value of an operand.
    pub(crate) fn leaf(&self, ties: Ties, operand: impl Fn(usize) -> f64) -> u32 {
        let mut node = self.root;
        loop {
            let test = match node {
                TreeNode::Leaf(leaf) => return leaf,
                TreeNode::Test(test) => &self.tests[test as usize],
            };
            node = if test.goes_left(ties, operand(test.operand as usize)) { test.left } else { test.right };
        }
    }

    /// Edges on the longest path from the root to a leaf.
    pub fn depth(&self) -> u32 {
        let mut below = vec![0; self.tests.len()];
        let depth = |node: TreeNode, below: &[u32]| match node {
            TreeNode::Leaf(_) => 0,
            TreeNode::Test(test) => below[test as usize],
        };
        for (index, test) in self.tests.iter().enumerate().rev() {
            below[index] = 1 + depth(test.left, &below).max(depth(test.right, &below));
        }
        depth(self.root, &below)
    }

    fn is_valid(&self, shared: &SharedTreeProperties) -> bool {
        let leaves = self.values.len() / shared.results.max(1) as usize;
        let exists = |node: TreeNode, first: usize| match node {
            TreeNode::Leaf(leaf) => (leaf as usize) < leaves,
            TreeNode::Test(test) => (first..self.tests.len()).contains(&(test as usize)),
        };
        let is_test = |(index, test): (usize, &TreeTest)| {
            test.operand < shared.operands
                && holds(shared.operand_type, test.threshold)
                && exists(test.left, index + 1)
                && exists(test.right, index + 1)
        };
        let nodes = || self.tests.iter().flat_map(|test| [test.left, test.right]).chain([self.root]);
        let mut parents = vec![0; self.tests.len()];
        self.values.len().is_multiple_of(shared.results.max(1) as usize)
            && exists(self.root, 0)
            && self.tests.iter().enumerate().all(is_test)
            && nodes().all(|node| match node {
                TreeNode::Leaf(_) => true,
                TreeNode::Test(test) => {
                    parents[test as usize] += 1;
                    parents[test as usize] == 1
                }
            })
            && self.values.iter().all(|value| holds(shared.sum_type, *value))
    }
}

impl TreeTest {
    fn goes_left(&self, ties: Ties, value: f64) -> bool {
        match ties {
            _ if value.is_nan() => self.missing_left,
            Ties::Above => value < self.threshold,
            Ties::Below => value <= self.threshold,
        }
    }
}

/// Whether a type holds a number without rounding.
fn holds(float: Float, number: f64) -> bool {
    match float {
        Float::F32 => f64::from(number as f32) == number,
        Float::F64 => !number.is_nan(),
    }
}

/// A hash of the trees, the same in each run of a program.
fn digest(shared: &SharedTreeProperties, trees: &[ColumnTree]) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |n: u64| digest = (digest ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let node = |node: TreeNode| match node {
        TreeNode::Test(test) => u64::from(test) << 1,
        TreeNode::Leaf(leaf) => u64::from(leaf) << 1 | 1,
    };
    mix(u64::from(shared.operands) << 32 | u64::from(shared.results));
    mix((shared.operand_type.bytes() << 8 | shared.sum_type.bytes() << 4) as u64
        | u64::from(shared.ties == Ties::Above));
    for tree in trees {
        mix((tree.tests.len() as u64) << 32 | tree.values.len() as u64);
        mix(node(tree.root));
        for test in &tree.tests {
            mix(u64::from(test.operand) << 1 | u64::from(test.missing_left));
            mix(test.threshold.to_bits());
            mix(node(test.left) << 32 | node(test.right));
        }
        tree.values.iter().for_each(|value| mix(value.to_bits()));
    }
    digest
}

impl PartialEq for ColumnTrees {
    /// Compares thresholds and values by their bits, so -0 differs from 0.
    fn eq(&self, other: &ColumnTrees) -> bool {
        self.digest == other.digest && self.shared == other.shared && self.trees == other.trees
    }
}

impl Eq for ColumnTrees {}

impl Hash for ColumnTrees {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl fmt::Debug for ColumnTrees {
    /// Shows the shared properties and the digest, since trees may have thousands of nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnTrees")
            .field("shared", &self.shared)
            .field("trees", &self.trees.len())
            .field("digest", &format_args!("{:016x}", self.digest))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::expr::{ColumnId, Expr};
    use crate::value::ColumnValue;
    use std::sync::Arc;

    const FORM: SharedTreeProperties = SharedTreeProperties {
        operands: 2,
        results: 2,
        operand_type: Float::F32,
        sum_type: Float::F64,
        ties: Ties::Below,
    };

    /// `x0 <= 1 ? (x1 <= -1 ? leaf 0 : leaf 1) : leaf 2`, where missing `x1` go left.
    fn tree() -> ColumnTree {
        let test = |operand, threshold, missing_left, left, right| TreeTest {
            operand,
            threshold,
            missing_left,
            left,
            right,
        };
        let inner = test(1, -1.0, true, TreeNode::Leaf(0), TreeNode::Leaf(1));
        let tests = vec![test(0, 1.0, false, TreeNode::Test(1), TreeNode::Leaf(2)), inner];
        ColumnTree { root: TreeNode::Test(0), tests, values: vec![0.1, 10.0, 0.2, 20.0, 0.4, 40.0] }
    }

    fn results(shared: SharedTreeProperties, row: [f64; 2]) -> Vec<f64> {
        let mut columns = Columns::default();
        let of: Arc<[ColumnId]> = [0, 1].map(|x| columns.input(x, shared.operand_type)).into();
        let trees = Arc::new(ColumnTrees::new(shared, vec![tree(), tree()]).expect("two trees"));
        let start = ColumnValue::F64(1.0).cast(shared.sum_type.into());
        let result = |result| Expr::Trees { of: Arc::clone(&of), start, trees: Arc::clone(&trees), result };
        let wanted = [0, 1].map(|number| columns.add(result(number)).expect("operands of the type"));
        columns.evaluate(&wanted, &row).iter().map(|value| value.to_f64()).collect()
    }

    #[test]
    fn rows_end_in_their_leaves() {
        let nan = f64::NAN;
        let above = SharedTreeProperties { ties: Ties::Above, ..FORM };
        let leaf = |values: [f64; 2]| values.map(|value| 1.0 + value + value).to_vec();
        for (shared, row, expected) in [
            (FORM, [1.0, -1.0], [0.1, 10.0]),
            (above, [1.0, -1.0], [0.4, 40.0]),
            (above, [0.5, -1.0], [0.2, 20.0]),
            (FORM, [1.0, nan], [0.1, 10.0]),
            (FORM, [nan, nan], [0.4, 40.0]),
            (FORM, [f64::NEG_INFINITY, 0.0], [0.2, 20.0]),
        ] {
            assert_eq!(results(shared, row), leaf(expected), "{shared:?} {row:?}");
        }
    }

    #[test]
    fn sums_are_rounded_after_each_tree() {
        let mut columns = Columns::default();
        let single = SharedTreeProperties { operands: 0, results: 1, sum_type: Float::F32, ..FORM };
        let leaf = |value| ColumnTree { root: TreeNode::Leaf(0), tests: Vec::new(), values: vec![value] };
        let large = f64::from(1_u32 << 24);
        let trees = ColumnTrees::new(single, vec![leaf(large), leaf(1.0), leaf(1.0)]).expect("three trees");
        let start = ColumnValue::F32(0.0);
        let expr = Expr::Trees { of: Arc::default(), start, trees: Arc::new(trees), result: 0 };
        let sum = columns.add(expr).expect("no operands");
        assert_eq!(columns.evaluate(&[sum], &[]), [ColumnValue::F32(large as f32)]);
    }

    #[test]
    fn trees_are_checked() {
        let is_refused = |change: fn(&mut ColumnTree)| {
            let mut changed = tree();
            change(&mut changed);
            ColumnTrees::new(FORM, vec![tree(), changed]).is_none()
        };
        assert!(!is_refused(|_| {}));
        assert!(is_refused(|tree| tree.tests[1].left = TreeNode::Test(0)));
        assert!(is_refused(|tree| tree.tests[0].right = TreeNode::Leaf(3)));
        assert!(is_refused(|tree| tree.tests[0].operand = 2));
        assert!(is_refused(|tree| tree.tests[0].threshold = 0.1));
        assert!(is_refused(|tree| tree.values[0] = f64::NAN));
        assert!(is_refused(|tree| tree.values.truncate(5)));
        assert!(is_refused(|tree| tree.root = TreeNode::Test(2)));
        assert!(is_refused(|tree| tree.tests[0].right = TreeNode::Test(1)));
        assert_eq!((tree().depth(), ColumnTrees::new(FORM, vec![tree()]).map(|it| it.steps())), (2, Some(2)));
    }

    #[test]
    fn equal_trees_are_one_column() {
        let mut columns = Columns::default();
        let of: Arc<[ColumnId]> = [0, 1].map(|x| columns.input(x, Float::F32)).into();
        let mut add = |trees: Vec<ColumnTree>| {
            let trees = Arc::new(ColumnTrees::new(FORM, trees).expect("trees"));
            columns.add(Expr::Trees { of: Arc::clone(&of), start: ColumnValue::F64(0.0), trees, result: 1 })
        };
        let mut other = tree();
        other.values[3] = -20.0;
        let one = add(vec![tree()]);
        assert_eq!(add(vec![tree()]), one);
        assert_ne!(add(vec![other]), one);
    }

    #[test]
    fn operands_have_the_type_of_thresholds() {
        let mut columns = Columns::default();
        let [single, double] = [Float::F32, Float::F64].map(|float| columns.input(0, float));
        let trees = Arc::new(ColumnTrees::new(FORM, vec![tree()]).expect("a tree"));
        let expr = |of: [ColumnId; 2], start, result| {
            let (of, trees) = (Arc::from(of), Arc::clone(&trees));
            Expr::Trees { of, start, trees, result }
        };
        let zero = ColumnValue::F64(0.0);
        assert!(columns.add(expr([single, single], zero, 0)).is_ok());
        for refused in [
            expr([single, double], zero, 0),
            expr([single, single], ColumnValue::F32(0.0), 0),
            expr([single, single], zero, 2),
        ] {
            assert!(columns.add(refused).is_err());
        }
    }
}
