//! Trees whose results are columns.
//!
//! A node is 64 bits, which one load fetches: its operand, the distance to its first child, and its threshold
//! if that is in single precision. Both children are adjacent. A leaf leads to itself: its distance is 0, and
//! no value reaches its threshold, NaN. So all interleaved walks take as many steps as the deepest of their
//! trees. Code does not grow with the trees. The sums of all results are stored columns, to which the leaf
//! values of interleaved walks are added at a time.

use super::layers::{StoredPlaces, steps_of};
use super::numbers::{OperationParameter, ParameterSource};
use super::pools::Pools;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::Scalar;
use sched_columns::{
    ColumnId, ColumnTree, ColumnTrees, ColumnValue, Columns, Expr, Ties, TreeNode, TreeTest,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of trees whose walks are interleaved without a schedule for the stage: each step waits for three
/// loads.
pub(super) const INTERLEAVED_TREES: usize = 4;

/// Trees over stored columns, with the columns that are their results.
#[derive(Clone, Debug)]
pub(super) struct TreesRun {
    /// The names of the steps of the model's pipeline whose trees these are.
    pub pipeline_steps: Vec<Arc<str>>,
    /// Element type of operands and thresholds.
    pub operand_element: Scalar,
    /// Element type of the sums.
    pub sum_element: Scalar,
    pub ties: Ties,
    pub missing: MissingSide,
    /// Number of columns.
    pub units: i64,
    /// Number of trees.
    pub trees: i64,
    /// Number of steps of each tree: those to its deepest leaf.
    pub steps: ParameterSource,
    /// Position of the roots of all trees in the pool of integers.
    pub roots: i64,
    /// Position of the nodes in the pool of wide integers.
    pub nodes: i64,
    pub form: NodeForm,
    /// Position of the leaf values in the pool of the sums: for each node, a value for each column.
    pub values: i64,
    /// Position of the first summands in the pool of the sums: one for each column.
    pub starts: i64,
    /// Place of the first column.
    pub to: i64,
}

/// The parts of a node's 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeForm {
    /// The threshold, then the operand's number in this many bits, then the distance to the first child.
    PackedThreshold(u32),
    /// The operand's number and the distance to the first child, in 32 bits each. Thresholds are in the pool
    /// of their type, from this position on.
    SeparateThreshold(i64),
}

/// The side to which tests send NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingSide {
    /// Always left. The first child is the left one; if the comparison, which is false for NaN, holds, the
    /// walk goes right.
    Left,
    /// Always right. The first child is the right one; if the comparison, which is false for NaN, holds, the
    /// walk goes left.
    Right,
    /// Left or right, depending on the node. The first child is the left one. The lowest bit of an operand's
    /// number is set if NaN goes right; the other bits are the operand's place.
    Either,
}

/// Columns that are results of the same trees over the same operands.
struct SharedTrees<'a> {
    of: &'a Arc<[ColumnId]>,
    trees: &'a Arc<ColumnTrees>,
    /// The columns, each with the number of its result and its first summand.
    columns: Vec<(ColumnId, u32, ColumnValue)>,
}

/// The trees whose results are the columns in `wanted`. Gives the columns places.
pub(super) fn tree_runs(
    columns: &Columns,
    wanted: &[ColumnId],
    places: &mut StoredPlaces,
    pools: &mut Pools,
) -> Vec<TreesRun> {
    let mut all: Vec<SharedTrees> = Vec::new();
    let mut numbers: HashMap<(&Arc<[ColumnId]>, &Arc<ColumnTrees>), usize> = HashMap::new();
    for column in wanted {
        let Expr::Trees { of, start, trees, result } = columns.expr(*column) else { continue };
        let number = *numbers.entry((of, trees)).or_insert(all.len());
        if number == all.len() {
            all.push(SharedTrees { of, trees, columns: Vec::new() });
        }
        all[number].columns.push((*column, *result, *start));
    }
    let mut new = |shared: &SharedTrees| {
        let run = TreesRun::new(shared, &mut *places, &mut *pools);
        let pipeline_steps = steps_of(columns, shared.columns.iter().map(|(column, ..)| column));
        TreesRun { pipeline_steps, ..run }
    };
    all.iter().map(&mut new).collect()
}

impl TreesRun {
    fn new(shared: &SharedTrees, places: &mut StoredPlaces, pools: &mut Pools) -> TreesRun {
        let (properties, trees) = (shared.trees.shared_properties(), shared.trees.trees());
        let (operand_element, sum_element) = (scalar(properties.operand_type), scalar(properties.sum_type));
        let missing = MissingSide::of(trees);
        let operand_place = |operand: u32| {
            let column = shared.of.get(operand as usize);
            column.and_then(|column| places.get(*column)).unwrap_or(0)
        };
        let numbered = NumberedTrees::of(trees, properties.results as usize, missing);
        let operands: Vec<i64> = numbered
            .nodes
            .iter()
            // Leaves load operand 0 and ignore it.
            .map(|node| node.test.map_or((0, true), |test| (test.operand, test.missing_left)))
            .map(|(operand, missing_left)| missing.number(operand_place(operand), missing_left))
            .collect();
        let threshold = |node: &LinkedNode| node.test.map_or(f64::NAN, |test| test.threshold);
        let nodes = pools.len(Scalar::I64) as i64;
        let node_form =
            match place_bits(&operands, &numbered.nodes).filter(|_| operand_element == Scalar::F32) {
                Some(bits) => {
                    for (node, operand) in numbered.nodes.iter().zip(&operands) {
                        let threshold = i64::from((threshold(node) as f32).to_bits());
                        let word = (node.distance << bits | operand) << 32 | threshold;
                        pools.push_integer(Scalar::I64, word);
                    }
                    NodeForm::PackedThreshold(bits)
                }
                None => {
                    let position = pools.len(operand_element) as i64;
                    for (node, operand) in numbered.nodes.iter().zip(&operands) {
                        pools.push_integer(Scalar::I64, node.distance << 32 | operand);
                        pools.push_float(operand_element, threshold(node));
                    }
                    NodeForm::SeparateThreshold(position)
                }
            };
        let roots = pools.len(Scalar::I32) as i64;
        numbered.roots.iter().for_each(|root| pools.push_integer(Scalar::I32, *root));
        let values = pools.len(sum_element) as i64;
        for node in &numbered.nodes {
            for (_, result, _) in &shared.columns {
                // Adding -0 changes no sum.
                pools.push_float(sum_element, node.values.get(*result as usize).copied().unwrap_or(-0.0));
            }
        }
        let starts = pools.len(sum_element) as i64;
        shared.columns.iter().for_each(|(.., start)| pools.push_float(sum_element, start.to_f64()));
        let steps: Vec<OperationParameter> =
            numbered.steps.into_iter().map(OperationParameter::Number).collect();
        let columns: Vec<ColumnId> = shared.columns.iter().map(|(column, ..)| *column).collect();
        TreesRun {
            pipeline_steps: Vec::new(),
            operand_element,
            sum_element,
            ties: properties.ties,
            missing,
            units: columns.len() as i64,
            trees: trees.len() as i64,
            steps: ParameterSource::new(&steps, Scalar::I32, pools),
            roots,
            nodes,
            form: node_form,
            values,
            starts,
            to: places.add(&columns, properties.sum_type, 0),
        }
    }
}

/// Number of bits of operands' numbers, if these and the distances to children fit 32 bits.
fn place_bits(operands: &[i64], nodes: &[LinkedNode]) -> Option<u32> {
    let bits = |most: i64| i64::BITS - most.leading_zeros();
    let operand = bits(operands.iter().copied().max().unwrap_or(0));
    let distance = bits(nodes.iter().map(|node| node.distance).max().unwrap_or(0));
    // The highest of the 32 bits stays 0.
    (operand + distance < 32).then_some(operand)
}

/// A node with its distance to the first of two children; 0 for a leaf.
#[derive(Clone, Copy)]
struct LinkedNode<'a> {
    test: Option<&'a TreeTest>,
    distance: i64,
    /// The values of a leaf, one for each result.
    values: &'a [f64],
}

/// The nodes of trees.
struct NumberedTrees<'a> {
    nodes: Vec<LinkedNode<'a>>,
    /// The number of each tree's root. The trees are filled up to whole groups with single leaves without
    /// values.
    roots: Vec<i64>,
    /// The number of steps to each tree's deepest leaf.
    steps: Vec<i64>,
}

impl<'a> NumberedTrees<'a> {
    fn of(trees: &'a [ColumnTree], results: usize, missing: MissingSide) -> NumberedTrees<'a> {
        let (mut nodes, mut roots) = (Vec::new(), Vec::new());
        let leaf = LinkedNode { test: None, distance: 0, values: &[] };
        for tree in trees {
            roots.push(nodes.len() as i64);
            let mut open = vec![(nodes.len(), tree.root)];
            nodes.push(leaf);
            while let Some((at, node)) = open.pop() {
                nodes[at] = match node {
                    TreeNode::Leaf(number) => {
                        let values = tree.values.chunks(results.max(1)).nth(number as usize);
                        LinkedNode { values: values.unwrap_or_default(), ..leaf }
                    }
                    TreeNode::Test(number) => {
                        let (first, test) = (nodes.len(), &tree.tests[number as usize]);
                        let children = match missing {
                            MissingSide::Right => [test.right, test.left],
                            MissingSide::Left | MissingSide::Either => [test.left, test.right],
                        };
                        nodes.extend([leaf; 2]);
                        open.extend((first..).zip(children));
                        LinkedNode { test: Some(test), distance: (first - at) as i64, ..leaf }
                    }
                };
            }
        }
        let unfilled = trees.len().next_multiple_of(INTERLEAVED_TREES) - trees.len();
        roots.extend(vec![nodes.len() as i64; unfilled]);
        nodes.push(leaf);
        let lost = i64::from(seeded(Fault::ColumnWalksStopEarly));
        let steps = trees.iter().map(|tree| (i64::from(tree.depth()) - lost).max(0));
        let mut steps: Vec<i64> = steps.collect();
        // Trees that fill up the last group take as many steps as any other without a result.
        steps.resize(roots.len(), steps.last().copied().unwrap_or(0));
        NumberedTrees { nodes, roots, steps }
    }
}

impl MissingSide {
    /// The side to which the tests of some trees send NaN.
    fn of(trees: &[ColumnTree]) -> MissingSide {
        let mut tests = trees.iter().flat_map(|tree| &tree.tests);
        match tests.clone().all(|test| test.missing_left) {
            true => MissingSide::Left,
            false if tests.any(|test| test.missing_left) => MissingSide::Either,
            false => MissingSide::Right,
        }
    }

    /// The number in a node of the operand at `place`.
    fn number(self, place: i64, missing_left: bool) -> i64 {
        match self {
            MissingSide::Left | MissingSide::Right => place,
            MissingSide::Either => place << 1 | i64::from(!missing_left),
        }
    }
}
