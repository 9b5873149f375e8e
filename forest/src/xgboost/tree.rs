//! From XGBoost's arrays of nodes to a [`Tree`].

use super::document;
use crate::MAX_DEPTH;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Inner, Leaf, NodeRef, Predicate, Target, Tree};
use sched_diagnostics::Code;

/// What a tree needs to know of its model.
pub(super) struct Context {
    pub num_features: usize,
    pub target: u32,
    /// The tree's position in the file.
    pub source: u32,
    /// DART's factor for the leaves; 1 elsewhere.
    pub weight: f32,
}

const DAMAGED: &str = "the file was changed or damaged; save the model again with XGBoost";

/// Takes the nodes that the root reaches. Files of pruned trees also hold deleted nodes, which nothing refers to and
/// which are not looked at.
pub(super) fn convert(tree: &document::Tree, context: &Context) -> Result<Tree, ModelError> {
    refuse_unsupported(tree)?;
    check_lengths(tree)?;
    let count = tree.left_children.len();
    let mut seen = vec![false; count];
    let mut out = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::with_capacity(count / 2),
        leaves: Vec::with_capacity(count / 2 + 1),
        target: Target::One(context.target),
        source: context.source,
    };
    let mut todo = vec![Todo { node: 0, depth: 0, link: None }];
    while let Some(Todo { node, depth, link }) = todo.pop() {
        if std::mem::replace(&mut seen[node], true) {
            return Err(reached_twice(node, link));
        }
        if depth > MAX_DEPTH {
            let message = format!("the tree is deeper than {MAX_DEPTH} levels");
            return Err(ModelError::new(codes::TOO_DEEP, message).help("train with a lower max_depth"));
        }
        let children = children(tree, node)?;
        let new = match children {
            None => NodeRef::Leaf(push_leaf(&mut out, tree, node, context)?),
            Some(_) => NodeRef::Inner(push_inner(&mut out, tree, node, context)?),
        };
        match link {
            None => out.root = new,
            Some(Link { parent, is_left: true, .. }) => out.inner[parent].left = new,
            Some(Link { parent, is_left: false, .. }) => out.inner[parent].right = new,
        }
        if let Some((left, right)) = children {
            let link = |is_left| Some(Link { parent: out.inner.len() - 1, parent_node: node, is_left });
            todo.push(Todo { node: right, depth: depth + 1, link: link(false) });
            todo.push(Todo { node: left, depth: depth + 1, link: link(true) });
        }
    }
    Ok(out)
}

/// A node to be visited.
struct Todo {
    node: usize,
    depth: u32,
    link: Option<Link>,
}

/// The place in an inner node that waits for its child.
#[derive(Clone, Copy)]
struct Link {
    parent: usize,
    parent_node: usize,
    is_left: bool,
}

fn refuse_unsupported(tree: &document::Tree) -> Result<(), ModelError> {
    if let Some(size) = &tree.tree_param.size_leaf_vector
        && !matches!(size.0.trim(), "0" | "1" | "")
    {
        return Err(vector_leaf().at("tree_param.size_leaf_vector"));
    }
    if tree.leaf_weights.0 {
        return Err(vector_leaf().at("leaf_weights"));
    }
    let place = match (tree.split_type.0, tree.categories_nodes.0) {
        (Some(node), _) => format!("split_type[{node}]"),
        (None, true) => String::from("categories_nodes"),
        (None, false) => return Ok(()),
    };
    Err(ModelError::new(
        codes::UNSUPPORTED_CATEGORICAL,
        "the tree has categorical splits, which are not supported",
    )
    .at(place)
    .help("encode categories as numbers (one-hot, for instance) and train without enable_categorical"))
}

pub(super) fn vector_leaf() -> ModelError {
    ModelError::new(
        codes::UNSUPPORTED_VECTOR_LEAF,
        "the leaves hold vectors (multi_strategy=multi_output_tree), which is not supported",
    )
    .help("train with multi_strategy=one_output_per_tree")
}

fn check_lengths(tree: &document::Tree) -> Result<(), ModelError> {
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
    ];
    for (name, length) in lengths {
        if length != count {
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

/// The children of a node, or `None` for a leaf.
fn children(tree: &document::Tree, node: usize) -> Result<Option<(usize, usize)>, ModelError> {
    let count = tree.left_children.len();
    let (left, right) = (tree.left_children[node], tree.right_children[node]);
    if (left, right) == (-1, -1) {
        return Ok(None);
    }
    let child = |child: i64, name: &str| {
        usize::try_from(child).ok().filter(|&child| child < count).ok_or_else(|| {
            let message = format!("child {child} of node {node} does not exist: the tree has {count} nodes");
            damaged(codes::CHILD_OUT_OF_RANGE, message, name, node)
        })
    };
    Ok(Some((child(left, "left_children")?, child(right, "right_children")?)))
}

fn push_leaf(
    out: &mut Tree,
    tree: &document::Tree,
    node: usize,
    context: &Context,
) -> Result<u32, ModelError> {
    let value = tree.split_conditions[node].0 * context.weight;
    if value.is_nan() {
        let message = format!("the value of leaf {node} is not a number");
        return Err(damaged(codes::BAD_VALUE, message, "split_conditions", node));
    }
    out.leaves.push(Leaf { source: node as u32, values: [f64::from(value)].into() });
    Ok(out.leaves.len() as u32 - 1)
}

fn push_inner(
    out: &mut Tree,
    tree: &document::Tree,
    node: usize,
    context: &Context,
) -> Result<u32, ModelError> {
    let feature = tree.split_indices[node];
    let feature = u32::try_from(feature).ok().filter(|&it| (it as usize) < context.num_features);
    let Some(feature) = feature else {
        let (feature, count) = (tree.split_indices[node], context.num_features);
        let message = format!("node {node} tests feature {feature}, and the model has {count} features");
        return Err(damaged(codes::FEATURE_OUT_OF_RANGE, message, "split_indices", node));
    };
    let threshold = tree.split_conditions[node].0;
    if threshold.is_nan() {
        let message = format!("the threshold of node {node} is not a number");
        return Err(damaged(codes::BAD_VALUE, message, "split_conditions", node));
    }
    let waiting = NodeRef::Leaf(u32::MAX);
    out.inner.push(Inner {
        feature,
        predicate: Predicate::Numeric { threshold: f64::from(threshold) },
        missing_left: tree.default_left[node].0,
        left: waiting,
        right: waiting,
    });
    Ok(out.inner.len() as u32 - 1)
}

fn reached_twice(node: usize, link: Option<Link>) -> ModelError {
    let message = format!("node {node} is reached twice, so the nodes do not form a tree");
    // The root has no link and is the first node that is reached.
    let (array, parent) = match link {
        Some(Link { parent_node, is_left: false, .. }) => ("right_children", parent_node),
        Some(Link { parent_node, .. }) => ("left_children", parent_node),
        None => ("left_children", node),
    };
    damaged(codes::NOT_A_TREE, message, array, parent)
}

fn damaged(code: Code, message: String, array: &str, node: impl Into<Option<usize>>) -> ModelError {
    let place = match node.into() {
        Some(node) => format!("{array}[{node}]"),
        None => array.to_owned(),
    };
    ModelError::new(code, message).at(place).help(DAMAGED)
}
