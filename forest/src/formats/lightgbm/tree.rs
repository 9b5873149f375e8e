//! Converts the lines of a tree to a [`Tree`].

use super::text::{KeyedValues, SAVE_AGAIN_HELP, excerpt};
use crate::MAX_DEPTH;
use crate::category::{CategorySet, NEARLY_ZERO};
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Inner, Leaf, LinearLeaf, NodeRef, Predicate, Tree, TreeTarget};
use sched_diagnostics::Code;
use std::collections::HashMap;

/// Properties of the model that the conversion of a tree uses.
pub(super) struct TreeTextContext {
    pub num_features: usize,
    pub target: u32,
    /// The tree's position in the file.
    pub source: u32,
}

/// Sets of categories, each stored once.
pub(super) struct FileSets {
    places: HashMap<CategorySet, u32>,
    /// Number of members that may still be added.
    room: usize,
}

impl FileSets {
    /// An empty collection for a file of `bytes` bytes, which limits the number of members. A few bytes of
    /// text encode up to 32 members, so that without a limit a small file could exhaust memory. LightGBM's
    /// own files stay below the limit, since it puts at most half of a feature's categories into a set.
    pub(super) fn of_file(bytes: usize) -> FileSets {
        FileSets { places: HashMap::new(), room: bytes.saturating_mul(2) }
    }

    fn place(&mut self, words: &[u32]) -> Option<u32> {
        let count: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        let room = self.room.checked_sub(count)?;
        let next = self.places.len() as u32;
        let place = *self.places.entry(members(words, count)).or_insert(next);
        if place == next {
            self.room = room;
        }
        Some(place)
    }

    /// The sets in the order of their indices.
    pub(super) fn into_vec(self) -> Vec<CategorySet> {
        let mut sets = vec![CategorySet::default(); self.places.len()];
        for (set, place) in self.places {
            sets[place as usize] = set;
        }
        sets
    }
}

const KEYS: [&str; 15] = [
    "num_leaves",
    "num_cat",
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_value",
    "cat_boundaries",
    "cat_threshold",
    "is_linear",
    "leaf_const",
    "num_features",
    "leaf_features",
    "leaf_coeff",
];

type TreeLines<'a> = KeyedValues<'a, 15>;

/// Converts a tree. The list has its linear leaves; it is empty if all leaves are constants.
pub(super) fn convert(
    text: &str,
    context: &TreeTextContext,
    sets: &mut FileSets,
) -> Result<(Tree, Vec<LinearLeaf>), ModelError> {
    let (lines, bare) = KeyedValues::read(text, &KEYS);
    if let Some(line) = bare {
        let message = format!("the tree has the line `{}`, which has no value", excerpt(line));
        return Err(ModelError::new(codes::SYNTAX, message).help(SAVE_AGAIN_HELP));
    }
    let num_leaves = lines.count("num_leaves")?;
    if num_leaves == 0 {
        return Err(damaged(codes::BAD_PARAMETER, "the tree has no leaves".into(), "num_leaves", None));
    }
    let values = numbers(&lines, "leaf_value", num_leaves)?;
    let mut linear = match lines.get("is_linear").map(str::trim) {
        None | Some("0" | "") => Vec::new(),
        Some("1") => linear_leaves(&lines, num_leaves, context)?,
        Some(_) => {
            let message = "`is_linear` is neither 0 nor 1";
            return Err(damaged(codes::BAD_PARAMETER, message.into(), "is_linear", None));
        }
    };
    let nodes = match num_leaves {
        1 => InnerArrays::default(),
        _ => InnerArrays::read(&lines, num_leaves - 1, context)?,
    };
    let mut categories = TreeSets::read(&lines, num_leaves)?;
    let mut tree = sort_nodes(&nodes, &values, context, |node| categories.predicate(&nodes, node, sets))?;
    if linear.iter().all(|leaf| leaf.terms.is_empty()) {
        // If all linear leaves are constants, they become plain leaves.
        for leaf in &mut tree.leaves {
            if let Some(linear) = linear.get(leaf.source as usize) {
                leaf.values = [linear.constant].into();
            }
        }
        return Ok((tree, Vec::new()));
    }
    let linear = tree.leaves.iter().map(|leaf| std::mem::take(&mut linear[leaf.source as usize])).collect();
    Ok((tree, linear))
}

/// Help for leaves that are NaN.
const NAN_LEAF_HELP: &str = "LightGBM predicts NaN for rows that reach the leaf: labels, weights or \
                             gradients were NaN, infinite or too \
                             large; scale or remove them and train again";

/// A list of numbers, none of them NaN.
fn numbers(lines: &TreeLines<'_>, key: &str, count: usize) -> Result<Vec<f64>, ModelError> {
    let numbers: Vec<f64> = lines.list(key, count)?;
    match numbers.iter().position(|number| number.is_nan()) {
        Some(at) => {
            let error = damaged(codes::BAD_VALUE, format!("`{key}` has a NaN"), key, at);
            Err(if key == "threshold" { error } else { error.help(NAN_LEAF_HELP) })
        }
        None => Ok(numbers),
    }
}

/// The arrays of inner nodes.
#[derive(Default)]
struct InnerArrays {
    features: Vec<u32>,
    thresholds: Vec<f64>,
    kinds: Vec<u8>,
    left: Vec<i32>,
    right: Vec<i32>,
}

/// Bits of `decision_type`.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;

/// The values that a numeric node treats as missing.
#[derive(Clone, Copy, PartialEq)]
enum MissingType {
    Nothing,
    Zero,
    Nan,
}

impl MissingType {
    fn of(kind: u8) -> Option<MissingType> {
        match kind >> 2 {
            0 => Some(MissingType::Nothing),
            1 => Some(MissingType::Zero),
            2 => Some(MissingType::Nan),
            _ => None,
        }
    }
}

impl InnerArrays {
    fn read(
        lines: &TreeLines<'_>,
        count: usize,
        context: &TreeTextContext,
    ) -> Result<InnerArrays, ModelError> {
        let nodes = InnerArrays {
            features: lines.list("split_feature", count)?,
            thresholds: numbers(lines, "threshold", count)?,
            kinds: match lines.get("decision_type") {
                Some(_) => lines.list("decision_type", count)?,
                None => vec![0; count],
            },
            left: lines.list("left_child", count)?,
            right: lines.list("right_child", count)?,
        };
        if let Some(at) = nodes.kinds.iter().position(|kind| MissingType::of(*kind).is_none()) {
            let message = format!("node {at} has the decision type {}, which is not known", nodes.kinds[at]);
            return Err(ModelError::new(codes::UNKNOWN_SPLIT, message)
                .at(format!("decision_type[{at}]"))
                .help(
                    "the model is of a later release, or damaged: save it with a release of LightGBM up to 4",
                ));
        }
        check_features(&nodes.features, "split_feature", context)?;
        Ok(nodes)
    }

    /// The test of a numeric node, and whether a missing value goes left.
    ///
    /// LightGBM replaces values that are nearly zero by zero before a node tests them, and NaN too unless the
    /// node treats it as missing. So a threshold that is nearly zero is moved until all such values go to the
    /// side of zero.
    fn numeric(&self, node: usize, missing: MissingType) -> (Predicate, bool) {
        let threshold = match self.thresholds[node] {
            near if near.abs() > NEARLY_ZERO => near,
            near if near >= 0.0 => NEARLY_ZERO,
            _ => (-NEARLY_ZERO).next_down(),
        };
        let default_left = self.kinds[node] & DEFAULT_LEFT != 0;
        match missing {
            MissingType::Nothing => (Predicate::Numeric { threshold }, 0.0 <= threshold),
            MissingType::Zero => (Predicate::NumericNotZero { threshold }, default_left),
            MissingType::Nan => (Predicate::Numeric { threshold }, default_left),
        }
    }
}

fn check_features(features: &[u32], key: &str, context: &TreeTextContext) -> Result<(), ModelError> {
    let bad = features.iter().position(|feature| *feature as usize >= context.num_features);
    bad.map_or(Ok(()), |at| {
        let (feature, count) = (features[at], context.num_features);
        let message = format!("feature {feature} is used, and the model has {count} features");
        Err(damaged(codes::FEATURE_OUT_OF_RANGE, message, key, at))
    })
}

/// The sets of categories of a tree: consecutive ranges of a list of 32-bit words.
struct TreeSets {
    bounds: Vec<usize>,
    words: Vec<u32>,
    /// For each set of the tree, its index among the forest's sets; `None` until a node uses the set.
    places: Vec<Option<u32>>,
}

impl TreeSets {
    fn read(lines: &TreeLines<'_>, num_leaves: usize) -> Result<TreeSets, ModelError> {
        let count = match lines.get("num_cat") {
            Some(_) if num_leaves > 1 => lines.count("num_cat")?,
            _ => 0,
        };
        if count == 0 {
            return Ok(TreeSets { bounds: vec![0], words: Vec::new(), places: Vec::new() });
        }
        let bounds: Vec<usize> = lines.list("cat_boundaries", count.saturating_add(1))?;
        if bounds.first() != Some(&0) || !bounds.is_sorted() {
            let message = "`cat_boundaries` does not ascend from 0";
            return Err(damaged(codes::BAD_VALUE, message.into(), "cat_boundaries", None));
        }
        let words = lines.list("cat_threshold", bounds[count])?;
        Ok(TreeSets { bounds, words, places: vec![None; count] })
    }

    /// The test of a node, and whether a missing value goes left. Members go left; NaN is no category.
    fn predicate(
        &mut self,
        nodes: &InnerArrays,
        node: usize,
        sets: &mut FileSets,
    ) -> Result<(Predicate, bool), ModelError> {
        let kind = nodes.kinds[node];
        if kind & CATEGORICAL == 0 {
            return Ok(nodes.numeric(node, MissingType::of(kind).unwrap_or(MissingType::Nothing)));
        }
        // The threshold of a categorical node is the number of its set.
        let number = nodes.thresholds[node];
        let index =
            Some(number as usize).filter(|&index| index as f64 == number && index < self.places.len());
        let Some(index) = index else {
            let count = self.places.len();
            let message =
                format!("node {node} tests set {number} of categories, and the tree has {count} sets");
            return Err(damaged(codes::BAD_VALUE, message, "threshold", node));
        };
        let set = match self.places[index] {
            Some(place) => place,
            None => {
                let words = &self.words[self.bounds[index]..self.bounds[index + 1]];
                let too_many = || {
                    let message =
                        "the sets of categories have more members than a file of this size can have";
                    damaged(codes::TOO_LARGE, message.into(), "cat_threshold", None)
                };
                sets.place(words).ok_or_else(too_many)?
            }
        };
        self.places[index] = Some(set);
        Ok((Predicate::Member { set }, false))
    }
}

/// The categories whose bits are set; `count` is their number.
fn members(words: &[u32], count: usize) -> CategorySet {
    let mut members = Vec::with_capacity(count);
    // Categories are below 2^31, so no row matches a bit of a later word.
    for (word, &bits) in (0..1 << 26).zip(words) {
        let mut left = bits;
        while left != 0 {
            members.push(word * 32 + left.trailing_zeros());
            left &= left - 1;
        }
    }
    members.into_iter().collect()
}

/// The linear leaves in the file's order.
fn linear_leaves(
    lines: &TreeLines<'_>,
    num_leaves: usize,
    context: &TreeTextContext,
) -> Result<Vec<LinearLeaf>, ModelError> {
    let constants = numbers(lines, "leaf_const", num_leaves)?;
    let counts: Vec<u32> = lines.list("num_features", num_leaves)?;
    let terms = counts.iter().map(|&count| count as usize).fold(0, usize::saturating_add);
    let features: Vec<u32> = lines.list("leaf_features", terms)?;
    let coefficients = numbers(lines, "leaf_coeff", terms)?;
    check_features(&features, "leaf_features", context)?;
    let mut terms = features.into_iter().zip(coefficients);
    let leaf = |(constant, count): (f64, u32)| {
        let mut leaf = LinearLeaf { constant, terms: Vec::with_capacity(count as usize) };
        leaf.terms.extend(terms.by_ref().take(count as usize));
        leaf
    };
    Ok(constants.into_iter().zip(counts).map(leaf).collect())
}

/// A node to visit. A negative number is the bitwise complement of a leaf's index; others are inner nodes.
struct UnreadNode {
    node: i32,
    depth: u32,
    link: Option<ChildSlot>,
}

/// The child slot of a parent, to be filled with a node.
#[derive(Clone, Copy)]
struct ChildSlot {
    /// The parent in the forest.
    inner: usize,
    /// The parent in the file.
    parent: usize,
    is_left: bool,
}

/// Sorts the nodes into depth-first order.
fn sort_nodes(
    nodes: &InnerArrays,
    values: &[f64],
    context: &TreeTextContext,
    mut predicate: impl FnMut(usize) -> Result<(Predicate, bool), ModelError>,
) -> Result<Tree, ModelError> {
    let count = nodes.features.len();
    let mut visited = VisitedNodes { inner: vec![false; count], leaves: vec![false; values.len()] };
    let mut tree = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::with_capacity(count),
        leaves: Vec::with_capacity(values.len()),
        target: TreeTarget::One(context.target),
        source: context.source,
    };
    let root = if count == 0 { !0 } else { 0 };
    let mut todo = vec![UnreadNode { node: root, depth: 0, link: None }];
    while let Some(UnreadNode { node, depth, link }) = todo.pop() {
        let index = visited.mark(node, link)?;
        if depth > MAX_DEPTH {
            let message = format!("the tree is deeper than {MAX_DEPTH} levels");
            return Err(
                ModelError::new(codes::TOO_DEEP, message).help("train with max_depth or fewer leaves")
            );
        }
        let new = if node < 0 {
            tree.leaves.push(Leaf { source: index as u32, values: [values[index]].into() });
            NodeRef::Leaf(tree.leaves.len() as u32 - 1)
        } else {
            let (predicate, missing_left) = predicate(index)?;
            let inner = tree.inner.len();
            for (child, is_left) in [(nodes.right[index], false), (nodes.left[index], true)] {
                let link = Some(ChildSlot { inner, parent: index, is_left });
                todo.push(UnreadNode { node: child, depth: depth + 1, link });
            }
            let waiting = NodeRef::Leaf(u32::MAX);
            let feature = nodes.features[index];
            tree.inner.push(Inner { feature, predicate, missing_left, left: waiting, right: waiting });
            NodeRef::Inner(inner as u32)
        };
        match link {
            None => tree.root = new,
            Some(ChildSlot { inner, is_left: true, .. }) => tree.inner[inner].left = new,
            Some(ChildSlot { inner, is_left: false, .. }) => tree.inner[inner].right = new,
        }
    }
    if tree.inner.len() < count {
        let message = format!("{} nodes are not reached from the root", count - tree.inner.len());
        return Err(damaged(codes::NODE_ORDER, message, "left_child", None));
    }
    Ok(tree)
}

/// The nodes visited so far, to detect cycles and shared children.
struct VisitedNodes {
    inner: Vec<bool>,
    leaves: Vec<bool>,
}

impl VisitedNodes {
    /// Marks a node as visited. Returns its index among inner nodes or leaves.
    ///
    /// # Errors
    /// `NOT_A_TREE` if it was visited before, `CHILD_OUT_OF_RANGE` if it does not exist.
    fn mark(&mut self, node: i32, link: Option<ChildSlot>) -> Result<usize, ModelError> {
        let (array, parent) = match link {
            Some(ChildSlot { parent, is_left: false, .. }) => ("right_child", parent),
            Some(ChildSlot { parent, .. }) => ("left_child", parent),
            None => ("left_child", 0),
        };
        let (index, list) = match node >= 0 {
            true => (node as usize, &mut self.inner),
            false => (!node as usize, &mut self.leaves),
        };
        match list.get_mut(index) {
            Some(seen @ false) => *seen = true,
            Some(true) => {
                let message = format!(
                    "child {node} of node {parent} is reached twice, so the nodes do not form a tree"
                );
                return Err(damaged(codes::NOT_A_TREE, message, array, parent));
            }
            None => {
                let leaves = self.leaves.len();
                let message =
                    format!("child {node} of node {parent} does not exist: the tree has {leaves} leaves");
                return Err(damaged(codes::CHILD_OUT_OF_RANGE, message, array, parent));
            }
        }
        Ok(index)
    }
}

fn damaged(code: Code, message: String, array: &str, at: impl Into<Option<usize>>) -> ModelError {
    let place = match at.into() {
        Some(at) => format!("{array}[{at}]"),
        None => array.to_owned(),
    };
    ModelError::new(code, message).at(place).help(SAVE_AGAIN_HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_bits_of_words() {
        assert_eq!(members(&[0b1001, 0, 1 << 31], 3).members(), [0, 3, 95]);
        assert!(members(&[], 0).members().is_empty());
    }

    #[test]
    fn thresholds_near_zero_send_values_where_zero_goes() {
        let edge = NEARLY_ZERO;
        let values =
            [-1.0, (-edge).next_down(), -edge, -1e-40, -0.0, 0.0, 1e-40, edge, edge.next_up(), 1.0, f64::NAN];
        for threshold in
            [-1.0, (-edge).next_down(), -edge, -1e-40, -0.0, 0.0, 1e-40, edge, edge.next_up(), 1.0]
        {
            let nodes = InnerArrays {
                thresholds: vec![threshold],
                kinds: vec![DEFAULT_LEFT],
                ..InnerArrays::default()
            };
            for missing in [MissingType::Nothing, MissingType::Zero, MissingType::Nan] {
                for value in values {
                    let zero = |x: f64| if x.abs() <= edge { 0.0 } else { x };
                    let expected = match (missing, value) {
                        (MissingType::Nan, x) if x.is_nan() => true,
                        (MissingType::Zero, x) if x.is_nan() || zero(x) == 0.0 => true,
                        (_, x) if x.is_nan() => 0.0 <= threshold,
                        (_, x) => zero(x) <= threshold,
                    };
                    let found = match nodes.numeric(0, missing) {
                        (_, missing_left) if value.is_nan() => missing_left,
                        (Predicate::NumericNotZero { .. }, left) if value.abs() <= edge => left,
                        (Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold }, _) => {
                            value <= threshold
                        }
                        _ => panic!("a numeric node"),
                    };
                    assert_eq!(found, expected, "{value} <= {threshold}");
                }
            }
        }
    }
}
