//! TreeEnsembleRegressor and TreeEnsembleClassifier: one list for inner nodes and leaves of all trees.

use std::collections::HashMap;
use std::ops::Range;

use super::context::EnsembleContext;
use super::graph::Operator;
use super::outcome::{self, PostTransform, VoteRule, unsupported};
use super::sets::DistinctSets;
use super::tree::{ConvertedTrees, EnsembleNode, InnerNode, NodeMarks, NodeMode};
use super::votes::{RawVotes, VoteList};
use crate::ForestParts;
use crate::codes;
use crate::error::ModelError;
use crate::forest::TreeTarget;
use crate::loaded::Note;
use sched_columns::CategoryRule;

/// The nodes of all trees: in each array, one entry for each node.
struct NodeArrays {
    tree_ids: Vec<i32>,
    ids: Vec<i32>,
    features: Vec<i32>,
    children: [Vec<i32>; 2],
    /// The comparison of inner nodes; `None` for leaves.
    modes: Vec<Option<NodeMode>>,
    values: Vec<f64>,
    /// For each node, 1 if a missing value passes its test. Empty if no missing value passes.
    tracks: Vec<i32>,
}

const CHILDREN: [&str; 2] = ["nodes_truenodeids", "nodes_falsenodeids"];

pub(super) fn read(context: &EnsembleContext, notes: &mut Vec<Note>) -> Result<ForestParts, ModelError> {
    let attributes = context.ensemble.attributes;
    let nodes = NodeArrays::read(context)?;
    let runs = Runs::find(&nodes)?;
    let is_classifier = context.ensemble.operator == Operator::Classifier;
    let post = PostTransform::named(attributes.text("post_transform")?)?;
    let base = numbers(context, "base_values")?;
    let labels = if is_classifier { outcome::labels(attributes)? } else { Vec::new() };
    let count = match is_classifier {
        true => labels.len(),
        false => outcome::count(attributes.int("n_targets")?.unwrap_or(0), "targets")?,
    };
    let votes = read_votes(context, &nodes, &runs, count)?;
    let summary = votes.summary(count, &runs.ranges, |node| nodes.modes[node].is_none());
    let outcome = if is_classifier {
        outcome::classifier(labels, post, &base, &summary, notes)?
    } else {
        let base = outcome::voted_base(base, &summary)?;
        let average = is_average(attributes.text("aggregate_function")?)?.then_some(runs.ranges.len());
        outcome::regressor(count, post, average, &base)?
    };
    let roots = roots(&nodes, &runs, notes)?;
    let mut sets = DistinctSets::default();
    let trees =
        build(context, &nodes, &runs, &roots, &votes, (outcome.votes, outcome.num_margins), &mut sets)?;
    let (trees, comparison) = trees.finish(context.float)?;
    Ok(ForestParts {
        trees,
        num_margins: outcome.num_margins,
        comparison,
        sets: sets.list,
        category_rule: CategoryRule::Whole,
        output: outcome.output,
        objective: if is_classifier { "TreeEnsembleClassifier" } else { "TreeEnsembleRegressor" }.into(),
        ..ForestParts::default()
    })
}

fn is_average(name: &str) -> Result<bool, ModelError> {
    match name {
        "" | "SUM" => Ok(false),
        "AVERAGE" => Ok(true),
        other => Err(unsupported_aggregate(other)),
    }
}

/// The error for an aggregation other than sum and average.
pub(super) fn unsupported_aggregate(name: &str) -> ModelError {
    unsupported(
        format!("`aggregate_function` is `{name}`, which schedc does not support"),
        "schedc reads SUM and AVERAGE: train a model whose trees are added",
    )
    .at("aggregate_function")
}

/// The numbers of an attribute: a list in single precision, or a tensor `NAME_as_tensor` of the ensemble's
/// type.
fn numbers(context: &EnsembleContext, name: &str) -> Result<Vec<f64>, ModelError> {
    let attributes = context.ensemble.attributes;
    let tensor = format!("{name}_as_tensor");
    match attributes.tensor_floats(&tensor, context.float)?.filter(|values| !values.is_empty()) {
        None => attributes.floats(name).map_err(|error| error.within(name)),
        Some(values) if !attributes.has(name)? || attributes.floats(name)?.is_empty() => Ok(values),
        Some(_) => {
            let message = format!("the node has both `{name}` and `{tensor}`");
            Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(tensor).help("remove one of them"))
        }
    }
}

/// Checks that an array has as many entries as the array `of`.
pub(super) fn same_length(name: &str, length: usize, expected: usize, of: &str) -> Result<(), ModelError> {
    if length == expected {
        return Ok(());
    }
    let message = format!("`{name}` has {length} entries, and `{of}` has {expected}");
    Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(name))
}

impl NodeArrays {
    fn read(context: &EnsembleContext) -> Result<NodeArrays, ModelError> {
        let attributes = context.ensemble.attributes;
        let ids = attributes.ints("nodes_nodeids")?;
        let count = ids.len();
        let checked = |name: &str| {
            let values = attributes.ints(name)?;
            same_length(name, values.len(), count, "nodes_nodeids").map(|()| values)
        };
        let tree_ids = checked("nodes_treeids")?;
        let features = checked("nodes_featureids")?;
        let children = [checked(CHILDREN[0])?, checked(CHILDREN[1])?];
        let modes = modes(context, count)?;
        let values = numbers(context, "nodes_values")?;
        same_length("nodes_values", values.len(), count, "nodes_nodeids")?;
        let tracks = attributes.ints("nodes_missing_value_tracks_true")?;
        if !tracks.is_empty() {
            same_length("nodes_missing_value_tracks_true", tracks.len(), count, "nodes_nodeids")?;
        }
        Ok(NodeArrays { tree_ids, ids, features, children, modes, values, tracks })
    }

    /// The test of a node, without its children. `None` for a leaf.
    fn inner(&self, node: usize) -> Result<Option<InnerNode>, ModelError> {
        let Some(mode) = self.modes[node] else { return Ok(None) };
        let tracks = self.tracks.get(node) == Some(&1);
        let mut inner = InnerNode::new(mode, self.values[node], 0, tracks);
        inner.feature =
            feature(self.features[node]).map_err(|error| error.at(at("nodes_featureids", node)))?;
        threshold(self.values[node]).map_err(|error| error.at(at("nodes_values", node)))?;
        Ok(Some(inner))
    }
}

fn at(name: &str, index: usize) -> String {
    format!("{name}[{index}]")
}

pub(super) fn feature(number: i32) -> Result<u32, ModelError> {
    u32::try_from(number).map_err(|_| {
        ModelError::new(codes::FEATURE_OUT_OF_RANGE, format!("feature {number} is tested, which no row has"))
    })
}

pub(super) fn threshold(value: f64) -> Result<(), ModelError> {
    match value.is_nan() {
        true => Err(ModelError::new(codes::BAD_VALUE, "a threshold is not a number (NaN)")),
        false => Ok(()),
    }
}

fn modes(context: &EnsembleContext, count: usize) -> Result<Vec<Option<NodeMode>>, ModelError> {
    let name = "nodes_modes";
    let mut modes = Vec::with_capacity(count);
    for (index, mode) in context.ensemble.attributes.texts(name)?.enumerate() {
        modes.push(match mode?.bytes() {
            b"LEAF" => None,
            b"BRANCH_LEQ" => Some(NodeMode::LessOrEqual),
            b"BRANCH_LT" => Some(NodeMode::Less),
            b"BRANCH_GTE" => Some(NodeMode::GreaterOrEqual),
            b"BRANCH_GT" => Some(NodeMode::Greater),
            b"BRANCH_EQ" => Some(NodeMode::Equal),
            b"BRANCH_NEQ" => Some(NodeMode::NotEqual),
            other => {
                let message =
                    format!("a node has the mode `{}`, which is not known", String::from_utf8_lossy(other));
                let help = "use LEAF, BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ or BRANCH_NEQ";
                return Err(unsupported(message, help).at(at(name, index)));
            }
        });
    }
    same_length(name, modes.len(), count, "nodes_nodeids").map(|()| modes)
}

/// The trees, each a consecutive run of the list of nodes.
struct Runs {
    /// For each tree, the range of its nodes in the list.
    ranges: Vec<Range<usize>>,
    /// The index of each tree, by its number in the file.
    trees: HashMap<i32, u32>,
    /// Positions of nodes in the list, sorted within each tree by the nodes' numbers. Empty if the list is
    /// already in this order.
    sorted: Vec<u32>,
}

impl Runs {
    fn find(nodes: &NodeArrays) -> Result<Runs, ModelError> {
        let mut runs = Runs { ranges: Vec::new(), trees: HashMap::new(), sorted: Vec::new() };
        let mut start = 0;
        for run in nodes.tree_ids.chunk_by(|left, right| left == right) {
            if runs.trees.insert(run[0], runs.ranges.len() as u32).is_some() {
                let message = format!("the nodes of tree {} are not consecutive", run[0]);
                return Err(ModelError::new(codes::NODE_ORDER, message)
                    .at(at("nodes_treeids", start))
                    .help("ONNX Runtime reads them as several trees: list the nodes of a tree together"));
            }
            runs.ranges.push(start..start + run.len());
            start += run.len();
        }
        if runs.ranges.is_empty() {
            return Err(ModelError::new(codes::BAD_PARAMETER, "the model has no trees").at("nodes_treeids"));
        }
        let numbered =
            |range: &Range<usize>| nodes.ids[range.clone()].iter().zip(0..).all(|(&id, at)| id == at);
        if !runs.ranges.iter().all(numbered) {
            runs.sorted = (0..start as u32).collect();
            for range in &runs.ranges {
                let places = &mut runs.sorted[range.clone()];
                places.sort_by_key(|&place| nodes.ids[place as usize]);
                for pair in places.windows(2) {
                    if nodes.ids[pair[0] as usize] == nodes.ids[pair[1] as usize] {
                        let message =
                            format!("a tree has two nodes with the number {}", nodes.ids[pair[0] as usize]);
                        return Err(ModelError::new(codes::NOT_A_TREE, message)
                            .at(at("nodes_nodeids", pair[1] as usize)));
                    }
                }
            }
        }
        Ok(runs)
    }

    /// The position in the list of the node with a number, in a tree.
    fn node(&self, nodes: &NodeArrays, tree: usize, id: i32) -> Option<usize> {
        let range = self.ranges[tree].clone();
        let guess = range.start + usize::try_from(id).ok()?;
        if guess < range.end && nodes.ids[guess] == id {
            return Some(guess);
        }
        let places = self.sorted.get(range)?;
        let found = places.binary_search_by_key(&id, |&place| nodes.ids[place as usize]).ok()?;
        Some(places[found] as usize)
    }

    fn child(&self, nodes: &NodeArrays, tree: usize, node: usize, side: usize) -> Result<usize, ModelError> {
        let id = nodes.children[side][node];
        self.node(nodes, tree, id).ok_or_else(|| {
            let message = format!("the tree has no node {id}");
            ModelError::new(codes::CHILD_OUT_OF_RANGE, message).at(at(CHILDREN[side], node))
        })
    }
}

/// The root of each tree: the node that the file lists first, as in ONNX Runtime.
fn roots(nodes: &NodeArrays, runs: &Runs, notes: &mut Vec<Note>) -> Result<Vec<u32>, ModelError> {
    let mut is_child = vec![false; nodes.ids.len()];
    let mut odd = None;
    for (tree, range) in runs.ranges.iter().enumerate() {
        for node in range.clone().filter(|&node| nodes.modes[node].is_some()) {
            for side in 0..2 {
                is_child[runs.child(nodes, tree, node, side)?] = true;
            }
        }
        if is_child[range.start] {
            odd = odd.or(Some(range.start));
        }
    }
    if let Some(node) = odd {
        notes.push(Note(format!(
            "tree {} does not list its root first: walks start at node {}, which is listed first, as in \
             ONNX Runtime",
            nodes.tree_ids[node], nodes.ids[node]
        )));
    }
    Ok(runs.ranges.iter().map(|range| range.start as u32).collect())
}

fn read_votes(
    context: &EnsembleContext,
    nodes: &NodeArrays,
    runs: &Runs,
    count: usize,
) -> Result<VoteList, ModelError> {
    let attributes = context.ensemble.attributes;
    let prefix = if context.ensemble.operator == Operator::Classifier { "class" } else { "target" };
    let name = |suffix: &str| format!("{prefix}_{suffix}");
    let classes = attributes.ints(&name("ids"))?;
    let of_nodes = attributes.ints(&name("nodeids"))?;
    let of_trees = attributes.ints(&name("treeids"))?;
    let weights = numbers(context, &name("weights"))?;
    same_length(&name("nodeids"), of_nodes.len(), classes.len(), &name("ids"))?;
    same_length(&name("treeids"), of_trees.len(), classes.len(), &name("ids"))?;
    same_length(&name("weights"), weights.len(), classes.len(), &name("ids"))?;
    let mut voters = Vec::with_capacity(classes.len());
    let mut last = None;
    for (vote, (&tree, &id)) in of_trees.iter().zip(&of_nodes).enumerate() {
        let index = match last {
            Some((number, index)) if number == tree => Some(index),
            _ => runs.trees.get(&tree).copied(),
        };
        let node = index.and_then(|index| runs.node(nodes, index as usize, id));
        let Some((index, node)) = index.zip(node) else {
            let message = format!("a vote is for node {id} of tree {tree}, which does not exist");
            return Err(ModelError::new(codes::CHILD_OUT_OF_RANGE, message).at(at(&name("nodeids"), vote)));
        };
        last = Some((tree, index));
        voters.push(nodes.modes[node].is_none().then_some(node as u32));
    }
    let raw = RawVotes { nodes: voters, classes, weights };
    VoteList::new(raw, nodes.ids.len(), count, &name("ids"))
}

fn build(
    context: &EnsembleContext,
    nodes: &NodeArrays,
    runs: &Runs,
    roots: &[u32],
    votes: &VoteList,
    (kind, num_margins): (VoteRule, usize),
    sets: &mut DistinctSets,
) -> Result<ConvertedTrees, ModelError> {
    let mut trees = ConvertedTrees::with_capacity(roots.len());
    let mut met = NodeMarks::new(nodes.ids.len());
    let mut values_left = context.most_values;
    for (tree, &root) in roots.iter().enumerate() {
        let target = votes.target(runs.ranges[tree].clone(), kind);
        let per_leaf = if target == TreeTarget::All { num_margins } else { 0 };
        let expand = |number: u32| {
            let node = number as usize;
            met.mark(node).map_err(|error| error.at(at("nodes_nodeids", node)))?;
            if let Some(mut inner) = nodes.inner(node)? {
                for side in 0..2 {
                    inner.children[side] = runs.child(nodes, tree, node, side)? as u32;
                }
                if nodes.modes[node] == Some(NodeMode::Equal) {
                    merge_set_chain(nodes, runs, (tree, node), &mut met, sets, &mut inner)?;
                }
                return Ok(EnsembleNode::Inner(inner));
            }
            values_left = values_left.checked_sub(per_leaf).ok_or_else(|| too_many_values(num_margins))?;
            let place = || at("nodes_nodeids", node);
            if kind == VoteRule::Single && votes.of(node).len() == 0 && nodes.values[node] != 0.0 {
                return Err(unvoted_leaf_error().at(place()));
            }
            let values = votes.values(node, target, kind, num_margins).map_err(|error| error.at(place()))?;
            let source = u32::try_from(nodes.ids[node]).map_err(|_| {
                ModelError::new(codes::BAD_VALUE, "the number of a node is negative").at(place())
            })?;
            Ok(EnsembleNode::Leaf { source, values })
        };
        trees.add(root, target, expand)?;
    }
    check_unreached(nodes, votes, &met)?;
    Ok(trees)
}

/// Refuses votes of leaves that no walk reaches, if the first node of the list is a leaf: ONNX Runtime then
/// counts the votes for that leaf.
fn check_unreached(nodes: &NodeArrays, votes: &VoteList, met: &NodeMarks) -> Result<(), ModelError> {
    let is_counted = nodes.modes.first().is_some_and(Option::is_none);
    let unreached = |&node: &usize| !met.is_marked(node) && votes.of(node).len() > 0;
    match (0..nodes.ids.len()).find(unreached).filter(|_| is_counted) {
        None => Ok(()),
        Some(node) => Err(unsupported(
            "a leaf that no walk reaches has a vote, which ONNX Runtime counts for the first node of the \
             list",
            "leave out nodes that no walk reaches, and their votes; walks of a tree start at the node that \
             is listed first",
        )
        .at(at("nodes_nodeids", node))),
    }
}

/// Merges a chain of nodes that together test a set: each node tests one number, its child for false is the
/// next node of the chain, and all nodes share the child for true.
fn merge_set_chain(
    nodes: &NodeArrays,
    runs: &Runs,
    (tree, first): (usize, usize),
    met: &mut NodeMarks,
    sets: &mut DistinctSets,
    inner: &mut InnerNode,
) -> Result<(), ModelError> {
    let mut members = vec![nodes.values[first]];
    let [if_true, mut next] = inner.children;
    loop {
        let node = next as usize;
        let continues = nodes.modes[node] == Some(NodeMode::Equal)
            && nodes.features[node] == nodes.features[first]
            && runs.child(nodes, tree, node, 0)? == if_true as usize;
        if !continues {
            break;
        }
        met.mark(node).map_err(|error| error.at(at("nodes_nodeids", node)))?;
        if (nodes.tracks.get(node) == Some(&1)) != inner.missing_true {
            let message = "nodes that make up a set send missing values to different sides";
            let help = "ONNX Runtime reads the side of only some of these nodes: give all of them the same \
                        nodes_missing_value_tracks_true";
            return Err(unsupported(message, help).at(at("nodes_missing_value_tracks_true", node)));
        }
        threshold(nodes.values[node]).map_err(|error| error.at(at("nodes_values", node)))?;
        members.push(nodes.values[node]);
        next = runs.child(nodes, tree, node, 1)? as u32;
    }
    inner.children = [if_true, next];
    if members.len() > 1 {
        inner.split = sets.test(&members).map_err(|error| error.at(at("nodes_values", first)))?;
    }
    Ok(())
}

fn unvoted_leaf_error() -> ModelError {
    unsupported(
        "a leaf has no vote, and its entry in `nodes_values` is not 0: ONNX Runtime may use it as weight",
        "give each leaf a vote",
    )
}

/// The error for leaf vectors with many more values than the file has votes.
pub(super) fn too_many_values(num_margins: usize) -> ModelError {
    let message =
        format!("leaves with a value for each of the {num_margins} outputs would take too much memory");
    ModelError::new(codes::TOO_LARGE, message)
        .help("train a tree for each output, or a model with fewer outputs")
}
