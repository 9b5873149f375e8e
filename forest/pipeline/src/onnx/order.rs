//! Finds the nodes of a graph that the outputs need, and the node whose results are the scores.

use super::field;
use sched_forest::ModelError;
use sched_forest::onnx::Message;
use std::collections::{HashMap, HashSet};

/// The positions of the nodes on which outputs depend.
pub(super) fn needed_nodes(graph: Message<'_>) -> Result<HashSet<usize>, ModelError> {
    let mut names: HashSet<&str> = HashSet::new();
    for output in graph.all(field::GRAPH_OUTPUT) {
        names.insert(output?.text(field::VALUE_NAME)?);
    }
    let nodes: Vec<Message> = graph.all(field::GRAPH_NODE).collect::<Result<_, _>>()?;
    let mut needed = HashSet::new();
    for (index, node) in nodes.iter().enumerate().rev() {
        let mut is_needed = false;
        for output in node.all(field::NODE_OUTPUT) {
            is_needed |= names.contains(output?.as_text()?);
        }
        if is_needed {
            needed.insert(index);
            for input in node.all(field::NODE_INPUT) {
                names.insert(input?.as_text()?);
            }
        }
    }
    Ok(needed)
}

/// Whether one of the `needed` nodes is a tree ensemble.
pub(super) fn has_trees(graph: Message<'_>, needed: &HashSet<usize>) -> Result<bool, ModelError> {
    for (index, node) in graph.all(field::GRAPH_NODE).enumerate() {
        if is_ensemble(node?.text(field::NODE_OPERATOR)?) && needed.contains(&index) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The positions of tree ensembles whose results other tree ensembles read.
pub(super) fn trees_below_trees(
    graph: Message<'_>,
    needed: &HashSet<usize>,
) -> Result<HashSet<usize>, ModelError> {
    let mut below = HashSet::new();
    let mut read: HashSet<&str> = HashSet::new();
    let nodes: Vec<Message> = graph.all(field::GRAPH_NODE).collect::<Result<_, _>>()?;
    for (index, node) in nodes.iter().enumerate().rev().filter(|(index, _)| needed.contains(index)) {
        let mut is_read = false;
        for output in node.all(field::NODE_OUTPUT) {
            is_read |= read.contains(output?.as_text()?);
        }
        let has_trees = is_ensemble(node.text(field::NODE_OPERATOR)?);
        if is_read && has_trees {
            below.insert(index);
        }
        if is_read || has_trees {
            for input in node.all(field::NODE_INPUT) {
                read.insert(input?.as_text()?);
            }
        }
    }
    Ok(below)
}

/// The positions of tree ensembles whose results are leaf indices: nodes that compare or encode numbers read
/// them, behind casts and choices of columns, and nothing else does.
pub(super) fn leaf_indices(
    graph: Message<'_>,
    needed: &HashSet<usize>,
) -> Result<HashSet<usize>, ModelError> {
    // Values that are read as categories, and values that are read otherwise.
    let (mut categories, mut others): (HashSet<&str>, HashSet<&str>) = (HashSet::new(), HashSet::new());
    for output in graph.all(field::GRAPH_OUTPUT) {
        others.insert(output?.text(field::VALUE_NAME)?);
    }
    let mut found = HashSet::new();
    let nodes: Vec<Message> = graph.all(field::GRAPH_NODE).collect::<Result<_, _>>()?;
    for (index, node) in nodes.iter().enumerate().rev().filter(|(index, _)| needed.contains(index)) {
        let (mut is_category, mut is_other) = (false, false);
        for output in node.all(field::NODE_OUTPUT) {
            let output = output?.as_text()?;
            is_category |= categories.contains(output);
            is_other |= others.contains(output);
        }
        let name = node.text(field::NODE_OPERATOR)?;
        let is_only_category = is_category && !is_other;
        if is_only_category && matches!(name, "TreeEnsembleRegressor" | "TreeEnsemble") {
            found.insert(index);
        }
        let passes = reads_categories(name) || (is_only_category && arranges_numbers(name));
        let read = if passes { &mut categories } else { &mut others };
        for input in node.all(field::NODE_INPUT) {
            read.insert(input?.as_text()?);
        }
    }
    Ok(found)
}

/// Whether an operator reads numbers as categories.
fn reads_categories(name: &str) -> bool {
    matches!(name, "Equal" | "OneHotEncoder" | "OneHot")
}

/// Whether the results of an operator are its inputs, perhaps in another type or order.
fn arranges_numbers(name: &str) -> bool {
    let types = ["Cast", "CastLike", "Identity"];
    let places = ["Gather", "Slice", "Split", "Concat", "ArrayFeatureExtractor", "Transpose"];
    let shapes = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"];
    types.contains(&name) || places.contains(&name) || shapes.contains(&name)
}

/// The position of the node whose results are the scores of a model without trees: all outputs are computed
/// from these results alone.
///
/// Candidates are the last operator that adds values of a row, and the operators after it. They end before
/// the first operator that turns scores into probabilities or classes. The last candidate counts. `None` if
/// there is none, or if the graph has trees other than the `column_trees`, whose results are columns.
///
/// # Errors
/// `M0003` if the file is damaged.
pub(super) fn scores_node(
    graph: Message<'_>,
    needed: &HashSet<usize>,
    column_trees: &HashSet<usize>,
) -> Result<Option<usize>, ModelError> {
    let mut steps = RowNodes::of(graph, needed, column_trees)?;
    if steps.has_trees {
        return Ok(None);
    }
    loop {
        let last_sum = steps.all.iter().rposition(|step| step.is_sum);
        let after = &steps.all[last_sum.unwrap_or(0)..];
        let end = after.iter().position(|step| step.turns_scores).unwrap_or(after.len());
        if let Some(found) = after[..end].iter().rev().find(|step| step.is_cut) {
            return Ok(Some(found.index));
        }
        // The last sum may only normalize probabilities, so the search goes on before it.
        match last_sum {
            Some(last_sum) => steps.all.truncate(last_sum),
            None => return Ok(None),
        }
    }
}

/// The nodes that compute with a row's values, in the order of the file.
struct RowNodes {
    all: Vec<RowNode>,
    has_trees: bool,
}

struct RowNode {
    /// Its index among the nodes.
    index: usize,
    /// Whether it adds values of a row.
    is_sum: bool,
    /// Whether it turns scores into probabilities or classes.
    turns_scores: bool,
    /// Whether this is the only value of rows that later nodes and outputs read.
    is_cut: bool,
}

impl RowNodes {
    fn of(
        graph: Message<'_>,
        needed: &HashSet<usize>,
        column_trees: &HashSet<usize>,
    ) -> Result<RowNodes, ModelError> {
        let nodes: Vec<Message> = graph.all(field::GRAPH_NODE).collect::<Result<_, _>>()?;
        // For each value, the position of the last node that reads it, or the number of nodes if it is an
        // output.
        let mut last_read: HashMap<&str, usize> = HashMap::new();
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| needed.contains(index)) {
            for input in node.all(field::NODE_INPUT) {
                last_read.insert(input?.as_text()?, index);
            }
        }
        for output in graph.all(field::GRAPH_OUTPUT) {
            last_read.insert(output?.text(field::VALUE_NAME)?, nodes.len());
        }
        let mut of_rows: HashSet<&str> = HashSet::new();
        for input in graph.all(field::GRAPH_INPUT) {
            of_rows.insert(input?.text(field::VALUE_NAME)?);
        }
        for constant in graph.all(field::GRAPH_CONSTANT) {
            of_rows.remove(constant?.text(field::CONSTANT_NAME)?);
        }
        let mut steps = RowNodes { all: Vec::new(), has_trees: false };
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| needed.contains(index)) {
            let mut reads_rows = false;
            for input in node.all(field::NODE_INPUT) {
                reads_rows |= of_rows.contains(input?.as_text()?);
            }
            let name = node.text(field::NODE_OPERATOR)?;
            steps.has_trees |= is_ensemble(name) && !column_trees.contains(&index);
            if !reads_rows {
                continue;
            }
            let mut own = HashSet::new();
            for output in node.all(field::NODE_OUTPUT) {
                own.insert(output?.as_text()?);
            }
            of_rows.extend(&own);
            of_rows.retain(|value| last_read.get(value).is_some_and(|last| *last > index));
            steps.all.push(RowNode {
                index,
                is_sum: is_sum(name),
                turns_scores: turns_scores(name),
                is_cut: of_rows.len() == 1 && of_rows.is_subset(&own),
            });
        }
        Ok(steps)
    }
}

/// Whether an operator adds values of a row.
fn is_sum(name: &str) -> bool {
    matches!(
        name,
        "LinearClassifier"
            | "LinearRegressor"
            | "SVMClassifier"
            | "SVMRegressor"
            | "MatMul"
            | "Gemm"
            | "ReduceSum"
            | "ReduceProd"
            | "ReduceMean"
            | "ReduceSumSquare"
            | "ReduceL2"
    )
}

/// Whether an operator turns scores into probabilities or classes.
fn turns_scores(name: &str) -> bool {
    let functions = ["Sigmoid", "Softmax", "LogSoftmax", "Exp", "Normalizer"];
    let choices = ["ArgMax", "ArgMin", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"];
    functions.contains(&name) || choices.contains(&name)
}

/// Whether an operator is a tree ensemble.
pub(super) fn is_ensemble(name: &str) -> bool {
    matches!(name, "TreeEnsembleRegressor" | "TreeEnsembleClassifier" | "TreeEnsemble")
}
