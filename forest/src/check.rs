//! The only constructor of a [`Forest`], which checks everything that later stages rely on.
//!
//! Producers of trees (readers, tests) make [`ForestParts`]; only [`Forest::new`] turns them into a
//! [`Forest`]. All checks are iterative and allocate no more than the parts themselves already hold.

use crate::codes;
use crate::error::ModelError;
use crate::forest::{Float, Forest, ForestParts, Inner, NodeRef, Predicate, Tree, TreeTarget};
use crate::{MAX_DEPTH, MAX_FEATURES, MAX_MARGINS};

impl Forest {
    /// Checks the parts and makes a forest of them.
    ///
    /// # Errors
    /// A [`ModelError`] that names the broken promise of [`Forest`], and its place as a path such as
    /// `trees[3].inner[17]`.
    pub fn new(parts: ForestParts) -> Result<Forest, ModelError> {
        let mut parts = parts;
        if parts.iteration_starts.is_empty() {
            parts.iteration_starts = (0..=parts.trees.len()).collect();
        }
        if !parts.single_margins.contains(&true) {
            parts.single_margins.clear();
        }
        check_sizes(&parts)?;
        check_iterations(&parts)?;
        check_single_margins(&parts)?;
        for (index, &value) in parts.base.iter().enumerate() {
            check_value(value, precision(&parts, index), "base value")
                .map_err(|error| error.at(format!("base[{index}]")))?;
        }
        parts.output.check(parts.num_margins, parts.types.accumulator)?;
        parts.computed.check(parts.num_features, parts.types.input)?;
        check_linear(&parts)?;
        let mut walk = Vec::new();
        for (index, tree) in parts.trees.iter().enumerate() {
            check_tree(tree, &parts, &mut walk).map_err(|error| error.within(&format!("trees[{index}]")))?;
        }
        Ok(Forest(parts))
    }
}

fn check_sizes(parts: &ForestParts) -> Result<(), ModelError> {
    let bounded = |what: &str, count: usize, most: usize| match count {
        0 => Err(ModelError::new(codes::BAD_PARAMETER, format!("the model has no {what}"))),
        _ if count > most => Err(ModelError::new(
            codes::TOO_LARGE,
            format!("the model says it has {count} {what}; at most {most} are supported"),
        )),
        _ => Ok(()),
    };
    bounded("features", parts.num_features, MAX_FEATURES)?;
    bounded("outputs", parts.num_margins, MAX_MARGINS)?;
    same_length("base", parts.base.len(), "outputs", parts.num_margins)?;
    if !parts.feature_names.is_empty() {
        same_length("feature_names", parts.feature_names.len(), "features", parts.num_features)?;
    }
    if !parts.categories.is_empty() {
        same_length("categories", parts.categories.len(), "features", parts.num_features)?;
    }
    if !parts.linear.is_empty() {
        same_length("linear", parts.linear.len(), "trees", parts.trees.len())?;
    }
    Ok(())
}

fn same_length(place: &str, length: usize, what: &str, count: usize) -> Result<(), ModelError> {
    if length == count {
        return Ok(());
    }
    let message = format!("`{place}` has {length} entries for {count} {what}");
    Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place))
}

fn check_iterations(parts: &ForestParts) -> Result<(), ModelError> {
    let starts = &parts.iteration_starts;
    let ascending = starts.windows(2).all(|pair| pair[0] <= pair[1]);
    if starts.first() == Some(&0) && starts.last() == Some(&parts.trees.len()) && ascending {
        return Ok(());
    }
    let message = format!("the starts of the iterations do not ascend from 0 to {} trees", parts.trees.len());
    Err(ModelError::new(codes::BAD_ITERATIONS, message).at("iteration_starts"))
}

/// The precision of a margin's sum, and of the values that are added to it.
fn precision(parts: &ForestParts, margin: usize) -> Float {
    match parts.single_margins.get(margin) {
        Some(true) => Float::F32,
        _ => parts.types.accumulator,
    }
}

/// Checks that single margins occur only in a forest that adds in double precision, and that no linear leaf
/// adds to them. Terms of linear leaves are rounded to the accumulator's type, not to single precision.
fn check_single_margins(parts: &ForestParts) -> Result<(), ModelError> {
    if parts.single_margins.is_empty() {
        return Ok(());
    }
    same_length("single_margins", parts.single_margins.len(), "outputs", parts.num_margins)?;
    let bad = |message: String| Err(ModelError::new(codes::BAD_VALUE, message).at("single_margins"));
    if parts.types.accumulator == Float::F32 {
        return bad("the sums of all margins have single precision already".to_string());
    }
    let mut linear = parts.linear.iter().zip(&parts.trees).filter(|(leaves, _)| !leaves.is_empty());
    let is_single = |tree: &Tree| match tree.target {
        TreeTarget::One(margin) => parts.single_margins.get(margin as usize) == Some(&true),
        TreeTarget::All => false,
    };
    match linear.any(|(_, tree)| is_single(tree)) {
        true => bad("linear leaves add to a margin of single precision".to_string()),
        false => Ok(()),
    }
}

fn check_linear(parts: &ForestParts) -> Result<(), ModelError> {
    for (index, (leaves, tree)) in parts.linear.iter().zip(&parts.trees).enumerate() {
        let place = format!("linear[{index}]");
        if leaves.is_empty() {
            continue;
        }
        same_length(&place, leaves.len(), "leaves", tree.leaves.len())?;
        if tree.target == TreeTarget::All {
            let message = "a tree with vectors of values has linear leaves";
            return Err(ModelError::new(codes::BAD_VALUE, message).at(place));
        }
        for leaf in leaves {
            check_value(leaf.constant, parts.types.accumulator, "constant of a linear leaf")
                .map_err(|error| error.at(&*place))?;
            for &(feature, coefficient) in &leaf.terms {
                if feature as usize >= num_values(parts) {
                    let message =
                        format!("a linear leaf reads feature {feature}, and there are {}", num_values(parts));
                    return Err(ModelError::new(codes::FEATURE_OUT_OF_RANGE, message).at(place));
                }
                check_value(coefficient, parts.types.accumulator, "coefficient")
                    .map_err(|error| error.at(&*place))?;
            }
        }
    }
    Ok(())
}

/// Number of values of a row that trees can read: features and computed columns.
fn num_values(parts: &ForestParts) -> usize {
    parts.num_features + parts.computed.read_by_trees.len()
}

/// Checks that a value is a number which the type can hold without rounding.
fn check_value(value: f64, float: Float, what: &str) -> Result<(), ModelError> {
    if value.is_nan() {
        return Err(ModelError::new(codes::BAD_VALUE, format!("a {what} is not a number (NaN)")));
    }
    if float == Float::F32 && f64::from(value as f32) != value {
        let message = format!("the {what} {value} is not representable in single precision");
        return Err(ModelError::new(codes::BAD_VALUE, message));
    }
    Ok(())
}

fn check_tree(tree: &Tree, parts: &ForestParts, walk: &mut Vec<(NodeRef, u32)>) -> Result<(), ModelError> {
    let values = match tree.target {
        TreeTarget::All => parts.num_margins,
        TreeTarget::One(margin) if (margin as usize) < parts.num_margins => 1,
        TreeTarget::One(margin) => {
            let message = format!("the tree adds to output {margin} of {}", parts.num_margins);
            return Err(ModelError::new(codes::TARGET_OUT_OF_RANGE, message).at("target"));
        }
    };
    check_order(tree, walk)?;
    for (index, inner) in tree.inner.iter().enumerate() {
        check_inner(inner, parts).map_err(|error| error.at(format!("inner[{index}]")))?;
    }
    for (index, leaf) in tree.leaves.iter().enumerate() {
        let place = || format!("leaves[{index}]");
        if leaf.values.len() != values {
            let message = format!("a leaf has {} values for {values} outputs", leaf.values.len());
            return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place()));
        }
        for (at, &value) in leaf.values.iter().enumerate() {
            let margin = if let TreeTarget::One(margin) = tree.target { margin as usize } else { at };
            check_value(value, precision(parts, margin), "leaf value").map_err(|error| error.at(place()))?;
        }
    }
    Ok(())
}

/// Walks the tree from its root and checks that inner nodes and leaves come in exactly the order of their
/// numbers. This implies that children exist, that no node has two parents, and that there is no cycle.
fn check_order(tree: &Tree, walk: &mut Vec<(NodeRef, u32)>) -> Result<(), ModelError> {
    let (mut inner_met, mut leaves_met) = (0, 0);
    walk.clear();
    walk.push((tree.root, 0));
    while let Some((node, depth)) = walk.pop() {
        if depth > MAX_DEPTH {
            let message = format!("a tree is deeper than {MAX_DEPTH} levels");
            return Err(ModelError::new(codes::TOO_DEEP, message));
        }
        match node {
            NodeRef::Inner(index) => {
                expect_node("inner", index, inner_met, tree.inner.len())?;
                inner_met += 1;
                let inner = &tree.inner[index as usize];
                walk.push((inner.right, depth + 1));
                walk.push((inner.left, depth + 1));
            }
            NodeRef::Leaf(index) => {
                expect_node("leaves", index, leaves_met, tree.leaves.len())?;
                leaves_met += 1;
            }
        }
    }
    if inner_met != tree.inner.len() || leaves_met != tree.leaves.len() {
        let message = "some nodes are not reached from the root";
        return Err(ModelError::new(codes::NODE_ORDER, message));
    }
    Ok(())
}

fn expect_node(array: &str, index: u32, expected: usize, length: usize) -> Result<(), ModelError> {
    let index = index as usize;
    if index >= length {
        let message = format!("a child refers to {array}[{index}], and there are {length}");
        return Err(ModelError::new(codes::CHILD_OUT_OF_RANGE, message).at(array));
    }
    if index < expected {
        let message = format!("{array}[{index}] is reached twice, so the nodes do not form a tree");
        return Err(ModelError::new(codes::NOT_A_TREE, message).at(array));
    }
    if index > expected {
        let message = format!(
            "{array}[{index}] is reached before {array}[{expected}], so the nodes are not in depth-first \
             order"
        );
        return Err(ModelError::new(codes::NODE_ORDER, message).at(array));
    }
    Ok(())
}

fn check_inner(inner: &Inner, parts: &ForestParts) -> Result<(), ModelError> {
    if inner.feature as usize >= num_values(parts) {
        let message = format!("feature {} is tested, and there are {}", inner.feature, num_values(parts));
        return Err(ModelError::new(codes::FEATURE_OUT_OF_RANGE, message));
    }
    match &inner.predicate {
        Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
            check_value(*threshold, parts.types.threshold, "threshold")
        }
        Predicate::Equal { value } => check_value(*value, parts.types.threshold, "value"),
        Predicate::Member { set } if (*set as usize) < parts.sets.len() => Ok(()),
        Predicate::Member { set } => {
            let message = format!("a node tests set {set} of categories, and there are {}", parts.sets.len());
            Err(ModelError::new(codes::BAD_VALUE, message))
        }
    }
}
