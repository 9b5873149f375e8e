//! Converts XGBoost's arrays of nodes to a [`Tree`].
//!
//! A leaf holds one value, in `split_conditions`, or a vector with a value for each output. Vectors are in
//! `leaf_weights`, and the `right_children` entry of a leaf is the index of its vector. In files before
//! release 3.1, vectors are in `base_weights`, one for each node.
//!
//! A categorical node of XGBoost sends members of its set to the **right**. All other values go left,
//! negative and too large ones too. The reader exchanges its children, so that members go left. Release 1.6
//! is different ([`ForestSets::test`]).

use super::categories::{FIRST_INVALID, ForestSets, SetTest};
use super::document::{self, SingleNumber};
use crate::MAX_DEPTH;
use crate::category::CategorySet;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Inner, Leaf, LeafValues, NodeRef, Predicate, Tree, TreeTarget};
use sched_diagnostics::Code;

/// Properties of the model that the conversion of a tree uses.
pub(super) struct TreeArraysContext<'a> {
    pub num_features: usize,
    pub num_margins: usize,
    /// The margin to which the tree adds, if its leaves have single values.
    pub target: u32,
    /// The `base_weights` of the tree, if its leaf vectors may be stored there.
    pub node_vectors: Option<&'a [SingleNumber]>,
    /// The tree's position in the file.
    pub source: u32,
    /// The weight of the tree in DART; 1 for other boosters.
    pub weight: f32,
}

const DAMAGED_HELP: &str = "the file was changed or damaged; save the model again with XGBoost";

/// Help for leaves that are NaN.
const NAN_LEAF_HELP: &str = "XGBoost predicts NaN for rows that reach the leaf: labels or weights were near \
                         the largest number of single precision, about 3.4e38, or gradients of a custom \
                         objective were NaN; scale or remove them and train again";

/// Number of values of a leaf, as the file states it; 1 if it does not.
pub(super) fn leaf_size(tree: &document::TreeDocument) -> Result<usize, ModelError> {
    let text = tree.tree_param.size_leaf_vector.as_ref().map_or("", |size| size.0.trim());
    match text.parse::<usize>() {
        Ok(size) => Ok(size.max(1)),
        Err(_) if text.is_empty() => Ok(1),
        Err(_) => {
            let message = format!("`size_leaf_vector` should be a count, not `{}`", text.escape_debug());
            Err(ModelError::new(codes::BAD_PARAMETER, message).at("tree_param.size_leaf_vector"))
        }
    }
}

/// Whether leaves are vectors that are stored in `base_weights`.
pub(super) fn needs_node_vectors(tree: &document::TreeDocument) -> bool {
    tree.leaf_weights.is_empty() && leaf_size(tree).is_ok_and(|size| size > 1)
}

/// A tree of the file, with the values of its leaves and the tests of its categorical nodes.
struct TreeSource<'a> {
    tree: &'a document::TreeDocument,
    context: &'a TreeArraysContext<'a>,
    values: LeafValueArray<'a>,
    /// For each node, its test of categories if it is categorical. Empty for a tree without categorical
    /// nodes.
    sets: Vec<Option<SetTest>>,
}

/// The array of a file that holds the values of leaves.
#[derive(Clone, Copy)]
enum LeafValueArray<'a> {
    /// In `split_conditions`.
    Single,
    /// In `leaf_weights`, by the index of the leaf's vector.
    ByLeaf(&'a [SingleNumber]),
    /// In `base_weights`, by the index of the node.
    ByNode(&'a [SingleNumber]),
}

/// Converts the nodes that the root reaches. Files of pruned trees also hold deleted nodes, which no node
/// refers to; these are skipped.
pub(super) fn convert(
    tree: &document::TreeDocument,
    context: &TreeArraysContext<'_>,
    sets: &mut ForestSets,
) -> Result<Tree, ModelError> {
    check_lengths(tree)?;
    let count = tree.left_children.len();
    let values = values_of(tree, context)?;
    let source = TreeSource { tree, context, values, sets: node_sets(tree, sets)? };
    let mut seen = vec![false; count];
    let mut out = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::with_capacity(count / 2),
        leaves: Vec::with_capacity(count / 2 + 1),
        target: if matches!(values, LeafValueArray::Single) {
            TreeTarget::One(context.target)
        } else {
            TreeTarget::All
        },
        source: context.source,
    };
    let mut todo = vec![UnvisitedNode { node: 0, depth: 0, link: None }];
    while let Some(UnvisitedNode { node, depth, link }) = todo.pop() {
        if std::mem::replace(&mut seen[node], true) {
            return Err(reached_twice(node, link));
        }
        if depth > MAX_DEPTH {
            let message = format!("the tree is deeper than {MAX_DEPTH} levels");
            return Err(ModelError::new(codes::TOO_DEEP, message).help("train with a lower max_depth"));
        }
        let children = source.children(node)?;
        let new = match children {
            None => NodeRef::Leaf(source.push_leaf(&mut out, node)?),
            Some(_) => NodeRef::Inner(source.push_inner(&mut out, node)?),
        };
        match link {
            None => out.root = new,
            Some(ParentLink { parent, is_left: true, .. }) => out.inner[parent].left = new,
            Some(ParentLink { parent, is_left: false, .. }) => out.inner[parent].right = new,
        }
        if let Some(children) = children {
            let parent = out.inner.len() - 1;
            let swapped = source.set(node).is_some_and(|test| test.is_right);
            for (array, child) in ARRAYS.into_iter().zip(children) {
                let is_left = (array == ARRAYS[0]) != swapped;
                let link = Some(ParentLink { parent, parent_node: node, is_left, array });
                todo.push(UnvisitedNode { node: child, depth: depth + 1, link });
            }
            // The left child comes next, so that nodes are in depth-first order.
            let last = todo.len() - 1;
            if !swapped {
                todo.swap(last - 1, last);
            }
        }
    }
    Ok(out)
}

/// The arrays of children.
const ARRAYS: [&str; 2] = ["left_children", "right_children"];

/// A node to be visited.
struct UnvisitedNode {
    node: usize,
    depth: u32,
    link: Option<ParentLink>,
}

/// The child slot of a parent, to be filled with a node.
#[derive(Clone, Copy)]
struct ParentLink {
    parent: usize,
    parent_node: usize,
    is_left: bool,
    /// The array that names the child.
    array: &'static str,
}

/// Finds the values of leaves and checks how many there are.
fn values_of<'a>(
    tree: &'a document::TreeDocument,
    context: &TreeArraysContext<'a>,
) -> Result<LeafValueArray<'a>, ModelError> {
    let size = leaf_size(tree)?;
    if size == 1 && tree.leaf_weights.is_empty() {
        return Ok(LeafValueArray::Single);
    }
    if size == 1 {
        let message =
            "the tree has `leaf_weights`, but `size_leaf_vector` does not say that leaves are vectors";
        return Err(damaged(codes::LENGTH_MISMATCH, message.to_owned(), "tree_param.size_leaf_vector", None));
    }
    if size != context.num_margins {
        let message =
            format!("leaves hold {size} values each; outputs of the model: {}", context.num_margins);
        return Err(damaged(codes::LENGTH_MISMATCH, message, "tree_param.size_leaf_vector", None));
    }
    let (values, vectors, name) = match (&tree.leaf_weights[..], context.node_vectors) {
        ([], vectors) => {
            let vectors = vectors.unwrap_or_default();
            let wanted = tree.left_children.len().checked_mul(size);
            if wanted != Some(vectors.len()) {
                let message =
                    format!("`base_weights` has {} values, not {size} for each node", vectors.len());
                return Err(damaged(codes::LENGTH_MISMATCH, message, "base_weights", None));
            }
            return Ok(LeafValueArray::ByNode(vectors));
        }
        (vectors, _) => (LeafValueArray::ByLeaf(vectors), vectors, "leaf_weights"),
    };
    if !vectors.len().is_multiple_of(size) {
        let message = format!("`{name}` has {} values, which is no multiple of {size}", vectors.len());
        return Err(damaged(codes::LENGTH_MISMATCH, message, name, None));
    }
    Ok(values)
}

/// The set of each categorical node.
fn node_sets(
    tree: &document::TreeDocument,
    sets: &mut ForestSets,
) -> Result<Vec<Option<SetTest>>, ModelError> {
    let nodes = &tree.categories_nodes;
    let is_categorical = |node: usize| tree.split_type.get(node).is_some_and(|flag| flag.0);
    let mut found = Vec::new();
    if !nodes.is_empty() {
        found = vec![None; tree.left_children.len()];
    }
    for (name, length) in [
        ("categories_segments", tree.categories_segments.len()),
        ("categories_sizes", tree.categories_sizes.len()),
    ] {
        if length != nodes.len() {
            let message = format!("`{name}` has {length} entries for {} categorical nodes", nodes.len());
            return Err(damaged(codes::LENGTH_MISMATCH, message, name, None));
        }
    }
    // The ranges of sets must not overlap; otherwise a small file could have many large sets.
    let mut end = 0;
    for (index, ((&node, &start), &size)) in
        nodes.iter().zip(&tree.categories_segments).zip(&tree.categories_sizes).enumerate()
    {
        let node = usize::try_from(node).ok().filter(|&node| is_categorical(node) && found[node].is_none());
        let Some(node) = node else {
            let message = format!("node {} is not categorical, or is listed twice", nodes[index]);
            return Err(damaged(codes::BAD_VALUE, message, "categories_nodes", index));
        };
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        let range = range.and_then(|(start, size)| Some((start, start.checked_add(size)?)));
        let members = range.filter(|range| range.0 >= end).and_then(|(a, b)| tree.categories.get(a..b));
        let (Some((_, last)), Some(members)) = (range, members) else {
            let message =
                format!("the categories of node {node} are not in `categories`, or belong to another node");
            return Err(damaged(codes::LENGTH_MISMATCH, message, "categories_segments", index));
        };
        end = last;
        let member = |&member: &i64| u32::try_from(member).ok().filter(|&member| member < FIRST_INVALID);
        let Some(set) = members.iter().map(member).collect::<Option<CategorySet>>() else {
            let message =
                format!("the set of node {node} has a category that is negative, or {FIRST_INVALID} or more");
            return Err(damaged(codes::BAD_VALUE, message, "categories_nodes", index));
        };
        let default_left = tree.default_left[node].0;
        let test = sets.test(set, default_left);
        found[node] = Some(test.map_err(|error| error.at(format!("categories_nodes[{index}]")))?);
    }
    Ok(found)
}

fn check_lengths(tree: &document::TreeDocument) -> Result<(), ModelError> {
    let count = tree.left_children.len();
    if count == 0 {
        return Err(damaged(codes::LENGTH_MISMATCH, "the tree has no nodes".into(), "left_children", None));
    }
    if u32::try_from(count).is_err() {
        let message = format!("the tree has {count} nodes, which is more than can be numbered");
        return Err(ModelError::new(codes::TOO_LARGE, message));
    }
    let lengths = [
        ("right_children", tree.right_children.len()),
        ("split_indices", tree.split_indices.len()),
        ("split_conditions", tree.split_conditions.len()),
        ("default_left", tree.default_left.len()),
        ("split_type", tree.split_type.len()),
    ];
    for (name, length) in lengths {
        // Files before release 1.3 have no `split_type`.
        let is_left_out = name == "split_type" && length == 0;
        if length != count && !is_left_out {
            let message = format!("`{name}` has {length} entries and `left_children` has {count}");
            return Err(damaged(codes::LENGTH_MISMATCH, message, name, None));
        }
    }
    if let Some(declared) = &tree.tree_param.num_nodes
        && declared.0.trim().parse() != Ok(count)
    {
        let message = format!("the tree says it has {} nodes, and there are {count}", declared.0);
        return Err(damaged(codes::LENGTH_MISMATCH, message, "tree_param.num_nodes", None));
    }
    Ok(())
}

impl TreeSource<'_> {
    /// The test of a categorical node; `None` for other nodes.
    fn set(&self, node: usize) -> Option<SetTest> {
        self.sets.get(node).copied().flatten()
    }

    /// The children of a node as the file has them, or `None` for a leaf.
    fn children(&self, node: usize) -> Result<Option<[usize; 2]>, ModelError> {
        let tree = self.tree;
        let count = tree.left_children.len();
        let (left, right) = (tree.left_children[node], tree.right_children[node]);
        if left == -1 && (right == -1 || matches!(self.values, LeafValueArray::ByLeaf(_))) {
            return Ok(None);
        }
        let child = |child: i64, name: &str| {
            usize::try_from(child).ok().filter(|&child| child < count).ok_or_else(|| {
                let message =
                    format!("child {child} of node {node} does not exist: the tree has {count} nodes");
                damaged(codes::CHILD_OUT_OF_RANGE, message, name, node)
            })
        };
        Ok(Some([child(left, ARRAYS[0])?, child(right, ARRAYS[1])?]))
    }

    fn push_leaf(&self, out: &mut Tree, node: usize) -> Result<u32, ModelError> {
        let (values, name, first) = match self.values {
            LeafValueArray::Single => (&self.tree.split_conditions[node..=node], "split_conditions", node),
            LeafValueArray::ByLeaf(vectors) => {
                let size = self.context.num_margins;
                let leaf = self.tree.right_children[node];
                let first = usize::try_from(leaf).ok().and_then(|leaf| leaf.checked_mul(size));
                let range = first.and_then(|first| Some((first, first.checked_add(size)?)));
                let Some((first, last)) = range.filter(|range| range.1 <= vectors.len()) else {
                    let count = vectors.len() / size;
                    let message = format!("leaf {node} has the vector {leaf}, and there are {count} vectors");
                    return Err(damaged(codes::CHILD_OUT_OF_RANGE, message, ARRAYS[1], node));
                };
                (&vectors[first..last], "leaf_weights", first)
            }
            LeafValueArray::ByNode(vectors) => {
                let size = self.context.num_margins;
                (&vectors[node * size..][..size], "base_weights", node * size)
            }
        };
        let values: LeafValues =
            values.iter().map(|value| f64::from(value.0 * self.context.weight)).collect();
        if let Some(index) = values.iter().position(|value| value.is_nan()) {
            let message = format!("the value of leaf {node} is not a number");
            return Err(damaged(codes::BAD_VALUE, message, name, first + index).help(NAN_LEAF_HELP));
        }
        out.leaves.push(Leaf { source: node as u32, values });
        Ok(out.leaves.len() as u32 - 1)
    }

    fn push_inner(&self, out: &mut Tree, node: usize) -> Result<u32, ModelError> {
        let tree = self.tree;
        let number = tree.split_indices[node];
        let feature = u32::try_from(number).ok().filter(|&it| (it as usize) < self.context.num_features);
        let Some(feature) = feature else {
            let count = self.context.num_features;
            let message = format!("node {node} tests feature {number}, and the model has {count} features");
            return Err(damaged(codes::FEATURE_OUT_OF_RANGE, message, "split_indices", node));
        };
        let set = self.set(node);
        let predicate = match set {
            // In files before release 3, the threshold of a categorical node is NaN and must not be checked.
            Some(SetTest { set, .. }) => Predicate::Member { set },
            None if tree.split_type.get(node).is_some_and(|flag| flag.0) => {
                let message = format!("node {node} is categorical and has no set of categories");
                return Err(damaged(codes::LENGTH_MISMATCH, message, "split_type", node));
            }
            None => Predicate::Numeric { threshold: f64::from(tree.split_conditions[node].0) },
        };
        if matches!(predicate, Predicate::Numeric { threshold } if threshold.is_nan()) {
            let message = format!("the threshold of node {node} is not a number");
            return Err(damaged(codes::BAD_VALUE, message, "split_conditions", node));
        }
        let waiting = NodeRef::Leaf(u32::MAX);
        out.inner.push(Inner {
            feature,
            predicate,
            missing_left: tree.default_left[node].0 != set.is_some_and(|test| test.is_right),
            left: waiting,
            right: waiting,
        });
        Ok(out.inner.len() as u32 - 1)
    }
}

fn reached_twice(node: usize, link: Option<ParentLink>) -> ModelError {
    let message = format!("node {node} is reached twice, so the nodes do not form a tree");
    // The root has no link. It is the first node that is reached, so its error uses itself as the parent.
    let (array, parent) = link.map_or((ARRAYS[0], node), |link| (link.array, link.parent_node));
    damaged(codes::NOT_A_TREE, message, array, parent)
}

fn damaged(code: Code, message: String, array: &str, node: impl Into<Option<usize>>) -> ModelError {
    let place = match node.into() {
        Some(node) => format!("{array}[{node}]"),
        None => array.to_owned(),
    };
    ModelError::new(code, message).at(place).help(DAMAGED_HELP)
}
