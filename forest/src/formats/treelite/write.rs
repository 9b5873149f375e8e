//! Writes a forest as a Treelite checkpoint.

use super::trees_evenly;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Comparison, Float, Forest, NodeRef, Predicate, Tree, TreeTarget};
use crate::output::{ClassRule, Sigmoid, Softmax, Transform};
use sched_columns::CategoryRule;

/// Writes a forest as a checkpoint of Treelite 4.
///
/// Treelite adds base scores after the trees, so sums of a model with base scores may differ in the last
/// digit; so may a sigmoid. A checkpoint cannot hold names of features, classes and categories, nor
/// iterations, nor the trainer's numbers of nodes.
///
/// # Errors
/// `M0052` for a model that Treelite cannot compute.
pub fn write_treelite(forest: &Forest) -> Result<Vec<u8>, ModelError> {
    let fields = fields_of(forest)?;
    let mut out = CheckpointBytes { bytes: Vec::new(), float: forest.types.accumulator };
    header(forest, &fields, &mut out);
    for tree in &forest.trees {
        write_tree(forest, tree, &mut out);
    }
    Ok(out.bytes)
}

/// The fields of a checkpoint that describe a forest.
struct CheckpointFields {
    task: u8,
    average: bool,
    num_class: Vec<i32>,
    is_vector: bool,
    postprocessor: &'static str,
    sigmoid_alpha: f32,
    ratio_c: f32,
    base_scores: Vec<f64>,
}

fn cannot(what: impl Into<String>, help: &str) -> ModelError {
    ModelError::new(codes::NO_TREELITE, format!("Treelite cannot compute {}", what.into())).help(help)
}

const BUILD_HELP: &str =
    "build a library with `schedc build` instead: it supports every model that schedc reads";

fn fields_of(forest: &Forest) -> Result<CheckpointFields, ModelError> {
    let float = forest.types.accumulator;
    if forest.types != crate::Types::all(float) {
        return Err(cannot("with different types for rows, thresholds, sums and results", BUILD_HELP));
    }
    if !forest.single_margins.is_empty() {
        return Err(cannot("some sums in single and others in double precision", BUILD_HELP));
    }
    if forest.linear.iter().any(|tree| !tree.is_empty()) {
        return Err(cannot("linear leaves", BUILD_HELP));
    }
    if !forest.computed.read_by_trees.is_empty() {
        return Err(cannot("columns, as in pipelines with steps before the trees", BUILD_HELP));
    }
    check_predicates(forest)?;
    let vectors = forest.trees.iter().filter(|tree| tree.target == TreeTarget::All).count();
    if vectors != 0 && vectors != forest.trees.len() {
        return Err(cannot("trees for one output together with trees for all outputs", BUILD_HELP));
    }
    let (average, base_scores) = raw(forest)?;
    let (task, is_multiclass) = match forest.output.classes.as_ref().map(|classes| &classes.rule) {
        None if forest.objective == "isolation_forest" => (4, false),
        None if forest.objective == "learning_to_rank" => (3, false),
        None => (1, matches!(forest.output.value[..], [Transform::Softmax(_)])),
        Some(ClassRule::LargestMargin | ClassRule::LargestValue) => (2, true),
        Some(ClassRule::ValueAbove(0.5) | ClassRule::MarginAbove(0.0)) => (0, false),
        Some(ClassRule::Computed(_)) => {
            return Err(cannot("a class that is an expression over margins", BUILD_HELP));
        }
        Some(ClassRule::ValueAbove(bound) | ClassRule::MarginAbove(bound)) => {
            return Err(cannot(format!("a class whose threshold is {bound}"), BUILD_HELP));
        }
    };
    let count = forest.num_margins as i32;
    let (mut sigmoid_alpha, mut ratio_c) = (1.0, 1.0);
    let single = |number: f64, into: &mut f32| {
        *into = number as f32;
        match f64::from(*into) == number {
            true => Ok(()),
            false => Err(cannot(
                format!("with the parameter {number}, which a checkpoint holds only in single precision"),
                BUILD_HELP,
            )),
        }
    };
    let postprocessor = match &forest.output.value[..] {
        [] if is_multiclass => "identity_multiclass",
        [] => "identity",
        [Transform::SignedSquare] => "signed_square",
        [Transform::Hinge] => "hinge",
        [Transform::Exp] => "exponential",
        [Transform::LogOnePlusExp] => "logarithm_one_plus_exp",
        [Transform::PowerOfTwo { by }] => {
            single(*by, &mut ratio_c)?;
            "exponential_standard_ratio"
        }
        [Transform::Sigmoid(form)] => {
            if let Sigmoid::Plain { slope } = form {
                single(*slope, &mut sigmoid_alpha)?;
            }
            if is_multiclass { "multiclass_ova" } else { "sigmoid" }
        }
        [Transform::Softmax(Softmax::Doubled | Softmax::Plain)] => "softmax",
        steps => {
            let names: Vec<&str> = steps.iter().map(Transform::name).collect();
            return Err(cannot(
                format!("the steps {} from sums to predictions", names.join(", ")),
                BUILD_HELP,
            ));
        }
    };
    Ok(CheckpointFields {
        task,
        average,
        num_class: if is_multiclass { vec![count] } else { vec![1; forest.num_margins] },
        is_vector: vectors > 0 && count > 1,
        postprocessor,
        sigmoid_alpha,
        ratio_c,
        base_scores,
    })
}

/// Whether trees are averaged, and the base scores that are added after that.
fn raw(forest: &Forest) -> Result<(bool, Vec<f64>), ModelError> {
    let steps = &forest.output.raw[..];
    let (average, steps) = match steps {
        [Transform::Divide { by }, rest @ ..] => {
            if trees_evenly(&forest.trees, forest.num_margins) != Some(*by) {
                return Err(cannot(
                    format!("an average over {by}, which is not the number of trees"),
                    BUILD_HELP,
                ));
            }
            (true, rest)
        }
        _ => (false, steps),
    };
    let has_base = forest.base.iter().any(|&base| base != 0.0);
    match steps {
        [] if !has_base => Ok((average, vec![0.0; forest.num_margins])),
        [] if !average => Ok((average, forest.base.clone())),
        [Transform::Scale { factor: 1.0, bias }] if !has_base => Ok((average, bias.clone())),
        _ => Err(cannot("the steps from sums to margins", BUILD_HELP)),
    }
}

fn check_predicates(forest: &Forest) -> Result<(), ModelError> {
    let mut has_sets = false;
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        match inner.predicate {
            Predicate::NumericNotZero { .. } => {
                return Err(cannot("with zeros that count as missing", BUILD_HELP));
            }
            Predicate::Member { .. } => has_sets = true,
            Predicate::Numeric { .. } | Predicate::Equal { .. } => {}
        }
    }
    if !has_sets {
        return Ok(());
    }
    // The largest category that Treelite takes from a row of this type.
    let most = match forest.types.input {
        Float::F32 => 1 << 24,
        Float::F64 => u32::MAX,
    };
    let members = || forest.sets.iter().flat_map(|set| set.members());
    let is_same = match forest.category_rule {
        CategoryRule::Positive { below } => members().all(|&it| (it <= most) == (f64::from(it) < below)),
        // Values between -1 and 0 are category 0 here, and none in Treelite.
        CategoryRule::Truncated => members().all(|&it| it != 0 && it <= most && it < 1 << 31),
        CategoryRule::Whole => false,
    };
    match is_same {
        true => Ok(()),
        false => Err(cannot(
            "the categories of this model: its trainer converts feature values to categories by another rule",
            BUILD_HELP,
        )),
    }
}

/// The bytes of the checkpoint so far.
struct CheckpointBytes {
    bytes: Vec<u8>,
    float: Float,
}

impl CheckpointBytes {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes.extend_from_slice(&bytes);
    }

    fn i32(&mut self, number: i32) {
        self.put(number.to_le_bytes());
    }

    fn array<const N: usize>(&mut self, elements: impl ExactSizeIterator<Item = [u8; N]>) {
        self.put((elements.len() as u64).to_le_bytes());
        elements.for_each(|element| self.put(element));
    }

    fn i32s(&mut self, numbers: &[i32]) {
        self.array(numbers.iter().map(|number| number.to_le_bytes()));
    }

    fn u64s(&mut self, numbers: &[u64]) {
        self.array(numbers.iter().map(|number| number.to_le_bytes()));
    }

    fn text(&mut self, text: &str) {
        self.array(text.bytes().map(|byte| [byte]));
    }

    fn floats(&mut self, numbers: &[f64]) {
        match self.float {
            Float::F32 => self.array(numbers.iter().map(|&number| (number as f32).to_le_bytes())),
            Float::F64 => self.array(numbers.iter().map(|number| number.to_le_bytes())),
        }
    }
}

fn header(forest: &Forest, fields: &CheckpointFields, out: &mut CheckpointBytes) {
    let (targets, classes) = (fields.num_class.len() as i32, fields.num_class.first().copied().unwrap_or(1));
    for part in [4, 0, 0] {
        out.i32(part);
    }
    let float = if out.float == Float::F32 { 2 } else { 3 };
    out.put([float, float]);
    out.put((forest.trees.len() as u64).to_le_bytes());
    out.i32(forest.num_features as i32);
    out.put([fields.task, u8::from(fields.average)]);
    out.i32(targets);
    out.i32s(&fields.num_class);
    out.i32s(&if fields.is_vector { [targets, classes] } else { [1, 1] });
    let place = |tree: &Tree| match tree.target {
        TreeTarget::All if forest.num_margins > 1 => (-1, -1),
        TreeTarget::All => (0, 0),
        TreeTarget::One(margin) => (margin as i32 / classes, margin as i32 % classes),
    };
    let (target_id, class_id): (Vec<i32>, Vec<i32>) = forest.trees.iter().map(place).unzip();
    out.i32s(&target_id);
    out.i32s(&class_id);
    out.text(fields.postprocessor);
    out.put(fields.sigmoid_alpha.to_le_bytes());
    out.put(fields.ratio_c.to_le_bytes());
    out.array(fields.base_scores.iter().map(|score| score.to_le_bytes()));
    out.text("{}");
    out.i32(0);
}

/// The arrays of a tree while it is written.
#[derive(Default)]
struct TreeArrays {
    kind: Vec<u8>,
    left: Vec<i32>,
    right: Vec<i32>,
    feature: Vec<i32>,
    default_left: Vec<u8>,
    value: Vec<f64>,
    threshold: Vec<f64>,
    operator: Vec<u8>,
    vectors: Vec<f64>,
    vector_begin: Vec<u64>,
    vector_end: Vec<u64>,
    sets: Vec<i32>,
    set_begin: Vec<u64>,
    set_end: Vec<u64>,
}

/// Writes a tree. Inner nodes keep their indices, the root has 0, and leaves follow.
fn write_tree(forest: &Forest, tree: &Tree, out: &mut CheckpointBytes) {
    let number = |node: NodeRef| match node {
        NodeRef::Inner(inner) => inner as i32,
        NodeRef::Leaf(leaf) => tree.inner.len() as i32 + leaf as i32,
    };
    let mut nodes = TreeArrays::default();
    for inner in &tree.inner {
        let before = nodes.sets.len() as u64;
        let (kind, operator, threshold) = match inner.predicate {
            Predicate::Equal { value } => (1, 1, value),
            Predicate::Member { set } => {
                nodes.sets.extend(forest.sets[set as usize].members().iter().map(|&it| it as i32));
                (2, 0, 0.0)
            }
            Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
                match forest.comparison {
                    Comparison::Less => (1, 2, threshold),
                    Comparison::LessOrEqual => (1, 3, threshold),
                }
            }
        };
        nodes.push(kind, [number(inner.left), number(inner.right), inner.feature as i32]);
        nodes.default_left.push(u8::from(inner.missing_left));
        nodes.value.push(0.0);
        nodes.threshold.push(threshold);
        nodes.operator.push(operator);
        nodes.set_begin.push(before);
        nodes.set_end.push(nodes.sets.len() as u64);
        nodes.vector_begin.push(nodes.vectors.len() as u64);
        nodes.vector_end.push(nodes.vectors.len() as u64);
    }
    for leaf in &tree.leaves {
        nodes.push(0, [-1, -1, -1]);
        nodes.default_left.push(0);
        nodes.threshold.push(0.0);
        nodes.operator.push(0);
        nodes.set_begin.push(nodes.sets.len() as u64);
        nodes.set_end.push(nodes.sets.len() as u64);
        nodes.vector_begin.push(nodes.vectors.len() as u64);
        match leaf.values[..] {
            [value] => nodes.value.push(value),
            ref values => {
                nodes.value.push(0.0);
                nodes.vectors.extend_from_slice(values);
            }
        }
        nodes.vector_end.push(nodes.vectors.len() as u64);
    }
    nodes.write(out);
}

impl TreeArrays {
    fn push(&mut self, kind: u8, [left, right, feature]: [i32; 3]) {
        self.kind.push(kind);
        self.left.push(left);
        self.right.push(right);
        self.feature.push(feature);
    }

    fn write(&self, out: &mut CheckpointBytes) {
        let bytes = |out: &mut CheckpointBytes, bytes: &[u8]| out.array(bytes.iter().map(|&byte| [byte]));
        out.i32(self.kind.len() as i32);
        out.put([u8::from(self.kind.contains(&2))]);
        bytes(out, &self.kind);
        out.i32s(&self.left);
        out.i32s(&self.right);
        out.i32s(&self.feature);
        bytes(out, &self.default_left);
        out.floats(&self.value);
        out.floats(&self.threshold);
        bytes(out, &self.operator);
        bytes(out, &vec![0; self.kind.len()]);
        out.floats(&self.vectors);
        out.u64s(&self.vector_begin);
        out.u64s(&self.vector_end);
        out.i32s(&self.sets);
        out.u64s(&self.set_begin);
        out.u64s(&self.set_end);
        // Counts, hessians and gains, which are unknown.
        (0..6).for_each(|_| out.u64s(&[]));
        out.i32(0);
        out.i32(0);
    }
}
