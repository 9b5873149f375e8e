//! The operator TreeEnsemble: separate lists of inner nodes and leaves, comparisons as numbers, and sets.

use std::collections::HashMap;

use super::context::EnsembleContext;
use super::nodes::{feature, same_length, threshold, too_many_values, unsupported_aggregate};
use super::outcome::{self, PostTransform, unsupported};
use super::sets::DistinctSets;
use super::tree::{ConvertedTrees, EnsembleNode, InnerNode, InnerTest, NodeMarks, NodeMode};
use crate::ForestParts;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{LeafValues, TreeTarget};
use crate::loaded::Note;
use sched_columns::CategoryRule;
use smallvec::SmallVec;

/// Inner nodes and leaves of all trees.
struct EnsembleArrays {
    modes: Vec<NodeMode>,
    splits: Vec<f64>,
    features: Vec<i32>,
    children: [Vec<i32>; 2],
    /// Whether a child is a leaf.
    are_leaves: [Vec<i32>; 2],
    tracks: Vec<i32>,
    /// The test of each node that tests a set, by the node's number.
    members: HashMap<u32, InnerTest>,
    targets: Vec<i32>,
    weights: Vec<f64>,
}

const CHILDREN: [&str; 2] = ["nodes_truenodeids", "nodes_falsenodeids"];

pub(super) fn read(context: &EnsembleContext, notes: &mut Vec<Note>) -> Result<ForestParts, ModelError> {
    let attributes = context.ensemble.attributes;
    let mut sets = DistinctSets::default();
    let nodes = EnsembleArrays::read(context, &mut sets)?;
    let roots = attributes.ints("tree_roots")?;
    if roots.is_empty() {
        return Err(ModelError::new(codes::BAD_PARAMETER, "the model has no trees").at("tree_roots"));
    }
    let targets = outcome::count(attributes.int("n_targets")?.unwrap_or(0), "targets")?;
    let average = match attributes.int("aggregate_function")?.unwrap_or(1) {
        0 => Some(roots.len()),
        1 => None,
        2 => return Err(unsupported_aggregate("MIN")),
        3 => return Err(unsupported_aggregate("MAX")),
        other => return Err(unsupported_aggregate(&other.to_string())),
    };
    let post = post(attributes.int("post_transform")?.unwrap_or(0), targets, notes)?;
    let outcome = outcome::regressor(targets, post, average, &[])?;
    let trees = nodes.build(context, &roots, targets)?;
    let (trees, comparison) = trees.finish(context.float)?;
    Ok(ForestParts {
        trees,
        num_margins: targets,
        comparison,
        sets: sets.list,
        category_rule: CategoryRule::Whole,
        output: outcome.output,
        objective: "TreeEnsemble".into(),
        ..ForestParts::default()
    })
}

/// The meaning of a number in `post_transform`. ONNX Runtime and the operator's description exchange the
/// numbers of LOGISTIC and SOFTMAX.
fn post(number: i64, targets: usize, notes: &mut Vec<Note>) -> Result<PostTransform, ModelError> {
    let post = match number {
        0 => PostTransform::None,
        1 => PostTransform::Logistic,
        2 => PostTransform::Softmax,
        3 => PostTransform::SoftmaxZero,
        4 => PostTransform::Probit,
        other => {
            let message = format!("`post_transform` is {other}, which is not known");
            return Err(unsupported(message, "use a number from 0 to 4").at("post_transform"));
        }
    };
    if targets > 1 && matches!(post, PostTransform::Logistic | PostTransform::Softmax) {
        let (runtime, description) =
            if post == PostTransform::Logistic { ("LOGISTIC", "SOFTMAX") } else { ("SOFTMAX", "LOGISTIC") };
        notes.push(Note(format!(
            "`post_transform` is {number}: schedc computes {runtime}, as ONNX Runtime does; in the \
             operator's description, {number} is {description}"
        )));
    }
    Ok(post)
}

impl EnsembleArrays {
    fn read(context: &EnsembleContext, sets: &mut DistinctSets) -> Result<EnsembleArrays, ModelError> {
        let attributes = context.ensemble.attributes;
        let modes = modes(&attributes.tensor_bytes("nodes_modes")?)?;
        let count = modes.len();
        let checked = |name: &str| {
            let values = attributes.ints(name)?;
            same_length(name, values.len(), count, "nodes_modes").map(|()| values)
        };
        let floats = |name: &str| Ok(attributes.tensor_floats(name, context.float)?.unwrap_or_default());
        let splits: Vec<f64> = floats("nodes_splits")?;
        same_length("nodes_splits", splits.len(), count, "nodes_modes")?;
        let features = checked("nodes_featureids")?;
        let children = [checked(CHILDREN[0])?, checked(CHILDREN[1])?];
        let are_leaves = [checked("nodes_trueleafs")?, checked("nodes_falseleafs")?];
        let tracks = match attributes.has("nodes_missing_value_tracks_true")? {
            true => checked("nodes_missing_value_tracks_true")?,
            false => Vec::new(),
        };
        let members = members(&modes, &floats("membership_values")?, sets)?;
        let targets = attributes.ints("leaf_targetids")?;
        let weights = floats("leaf_weights")?;
        same_length("leaf_targetids", targets.len(), weights.len(), "leaf_weights")?;
        Ok(EnsembleArrays {
            modes,
            splits,
            features,
            children,
            are_leaves,
            tracks,
            members,
            targets,
            weights,
        })
    }

    fn build(
        &self,
        context: &EnsembleContext,
        roots: &[i32],
        num_targets: usize,
    ) -> Result<ConvertedTrees, ModelError> {
        let mut trees = ConvertedTrees::with_capacity(roots.len());
        let mut met = NodeMarks::new(self.modes.len());
        let mut values_left = context.most_values;
        // The target of each leaf of a tree.
        let mut targets = Vec::new();
        for (index, &root) in roots.iter().enumerate() {
            let place = || format!("tree_roots[{index}]");
            let Some(root) = u32::try_from(root).ok().filter(|&root| (root as usize) < self.modes.len())
            else {
                let message = format!("there is no node {root}");
                return Err(ModelError::new(codes::CHILD_OUT_OF_RANGE, message).at(place()));
            };
            targets.clear();
            trees.add(self.start(root)?, TreeTarget::One(0), |reference| {
                self.expand(reference, num_targets, &mut met, &mut targets)
            })?;
            let Some(tree) = trees.trees.last_mut() else { continue };
            let first = targets.first().copied().unwrap_or(0);
            if targets.iter().all(|&target| target == first) {
                tree.target = TreeTarget::One(first);
                continue;
            }
            tree.target = TreeTarget::All;
            for (leaf, &target) in tree.leaves.iter_mut().zip(&targets) {
                values_left =
                    values_left.checked_sub(num_targets).ok_or_else(|| too_many_values(num_targets))?;
                let mut values: LeafValues = SmallVec::from_elem(0.0, num_targets);
                values[target as usize] = leaf.values[0];
                leaf.values = values;
            }
        }
        Ok(trees)
    }

    /// The reference to a tree's root. The file stores a tree of one leaf as a node that has this leaf as
    /// both children; then the root is the leaf.
    fn start(&self, root: u32) -> Result<u32, ModelError> {
        let [if_true, if_false] = [self.child(root, 0)?, self.child(root, 1)?];
        Ok(if if_true == if_false && is_leaf(if_true) { if_true } else { reference(root, false) })
    }

    /// The child of a node, as a reference.
    fn child(&self, node: u32, side: usize) -> Result<u32, ModelError> {
        let number = self.children[side][node as usize];
        let is_leaf = self.are_leaves[side][node as usize] != 0;
        let count = if is_leaf { self.weights.len() } else { self.modes.len() };
        match u32::try_from(number) {
            Ok(number) if (number as usize) < count => Ok(reference(number, is_leaf)),
            _ => {
                let message = format!("there is no {} {number}", if is_leaf { "leaf" } else { "node" });
                Err(ModelError::new(codes::CHILD_OUT_OF_RANGE, message)
                    .at(format!("{}[{node}]", CHILDREN[side])))
            }
        }
    }

    fn expand(
        &self,
        reference: u32,
        num_targets: usize,
        met: &mut NodeMarks,
        targets: &mut Vec<u32>,
    ) -> Result<EnsembleNode, ModelError> {
        let number = reference >> 1;
        let at = number as usize;
        if is_leaf(reference) {
            let target = u32::try_from(self.targets[at]).ok().filter(|&it| (it as usize) < num_targets);
            let Some(target) = target else {
                let target = self.targets[at];
                let message = format!("a leaf adds to target {target}, and there are {num_targets} targets");
                return Err(
                    ModelError::new(codes::TARGET_OUT_OF_RANGE, message).at(format!("leaf_targetids[{at}]"))
                );
            };
            targets.push(target);
            return Ok(EnsembleNode::Leaf {
                source: number,
                values: SmallVec::from_slice(&[self.weights[at]]),
            });
        }
        let place = |name: &str| format!("{name}[{at}]");
        met.mark(at).map_err(|error| error.at(place("nodes_modes")))?;
        let tracks = self.tracks.get(at) == Some(&1);
        let mut inner = InnerNode::new(self.modes[at], self.splits[at], 0, tracks);
        match self.members.get(&number) {
            Some(&split) => inner.split = split,
            None => threshold(self.splits[at]).map_err(|error| error.at(place("nodes_splits")))?,
        }
        inner.feature = feature(self.features[at]).map_err(|error| error.at(place("nodes_featureids")))?;
        inner.children = [self.child(number, 0)?, self.child(number, 1)?];
        Ok(EnsembleNode::Inner(inner))
    }
}

/// A reference to an inner node or a leaf: its number, which is below 2^31, and a bit for the kind.
fn reference(number: u32, is_leaf: bool) -> u32 {
    number << 1 | u32::from(is_leaf)
}

fn is_leaf(reference: u32) -> bool {
    reference & 1 == 1
}

fn modes(numbers: &[u8]) -> Result<Vec<NodeMode>, ModelError> {
    let mode = |(index, &number): (usize, &u8)| {
        use NodeMode::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Member, NotEqual};
        let known = [LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual, Member];
        known.get(usize::from(number)).copied().ok_or_else(|| {
            let message = format!("a node has the mode {number}, which is not known");
            unsupported(message, "use a mode from 0 to 6").at(format!("nodes_modes[{index}]"))
        })
    };
    numbers.iter().enumerate().map(mode).collect()
}

/// The tests of nodes that test a set. `values` has the members of the sets in the order of the nodes, with a
/// NaN after each set.
fn members(
    modes: &[NodeMode],
    values: &[f64],
    sets: &mut DistinctSets,
) -> Result<HashMap<u32, InnerTest>, ModelError> {
    let mut rest = values;
    let mut tests = HashMap::new();
    for (node, _) in modes.iter().enumerate().filter(|(_, mode)| **mode == NodeMode::Member) {
        let end = rest.iter().position(|value| value.is_nan()).unwrap_or(rest.len());
        let members = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let place = "membership_values";
        if members.is_empty() {
            let message = format!("there is no set for node {node}");
            return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place));
        }
        tests.insert(node as u32, sets.test(members).map_err(|error| error.at(place))?);
    }
    if !rest.is_empty() {
        let message = "there are more sets than nodes that test a set";
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at("membership_values"));
    }
    Ok(tests)
}
