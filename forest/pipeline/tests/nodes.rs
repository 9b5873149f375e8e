//! Runs ONNX's own tests of single operators, from the folder `onnx/backend/test/data/node` of its package.
//!
//! The first axis of an input is taken as that of rows. Each test runs once for each choice of inputs that
//! hold rows; the others become constants of the file, as parameters are. Models that are read must predict
//! the expected results. Refusals must name the operator or the place.

use sched_forest::onnx::{FieldValue, Message, TensorProto, element};
use sched_forest::{Float, Forest, Label, ModelError, ReadOptions, codes, predict, predict_classes};
use sched_pipeline::load;
use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Field numbers of ONNX messages.
mod field {
    pub const GRAPH: u32 = 7;
    pub const OPERATOR_SET: u32 = 8;
    pub const NODE: u32 = 1;
    pub const CONSTANT: u32 = 5;
    pub const CONSTANT_NAME: u32 = 8;
    pub const INPUT: u32 = 11;
    pub const OUTPUT: u32 = 12;
    pub const NAME: u32 = 1;
    pub const KIND: u32 = 2;
    pub const TENSOR: u32 = 1;
}

/// Relative and absolute distance from the expected result that ONNX's own test runner allows. Their sum is
/// the bound.
const BOUNDS: (f64, f64) = (1e-3, 1e-7);

/// Maximum number of inputs for which every choice is tried.
const MOST_CHOSEN: usize = 5;

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// All results are right: equal in all bits, or within the bounds.
    Right { is_equal: bool },
    /// The model is refused: the code, and the message without its parts in backquotes.
    Refused(String),
    /// A result is wrong: a description of the difference.
    Wrong(String),
}

/// A test: a model with one operator, and the tensors of its inputs and outputs.
struct NodeTest {
    model: Vec<u8>,
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
}

/// A tensor of an input or output: its shape, and its numbers or texts.
struct CallTensor {
    element: i64,
    shape: Vec<usize>,
    numbers: Vec<f64>,
    texts: Vec<String>,
}

impl CallTensor {
    /// The tensor of a message, or `None` if this reader does not know its type.
    fn of(bytes: &[u8]) -> Option<CallTensor> {
        let tensor = TensorProto::new(Message::new(bytes)).ok()?;
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        match tensor.element() {
            element::FLOAT => numbers = tensor.floats(Float::F32).ok()?,
            element::DOUBLE => numbers = tensor.floats(Float::F64).ok()?,
            element::STRING => texts = tensor.texts().ok()?.into_iter().map(str::to_owned).collect(),
            _ => numbers = tensor.integers().ok()?.into_iter().map(|number| number as f64).collect(),
        }
        Some(CallTensor { element: tensor.element(), shape: tensor.shape().ok()?, numbers, texts })
    }

    /// The cells of one of `n_rows` rows, as numbers. Texts become codes by the names of the features from
    /// `first` on.
    fn row(&self, row: usize, n_rows: usize, forest: &Forest, first: usize) -> Vec<f64> {
        let width = self.shape[1..].iter().product::<usize>();
        assert_eq!(self.shape[0], n_rows);
        let code = |at: usize| {
            let text = &self.texts[row * width + at];
            let names = forest.categories.get(first + at);
            let place =
                names.and_then(|names| names.labels.iter().position(|name| name.to_string() == *text));
            if text.is_empty() { f64::NAN } else { place.map_or(-1.0, |place| place as f64) }
        };
        match self.element {
            element::STRING => (0..width).map(code).collect(),
            _ => self.numbers[row * width..][..width].to_vec(),
        }
    }
}

/// Writes a field of bytes.
fn bytes_field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = varint(u64::from(number) << 3 | 2);
    out.extend(varint(bytes.len() as u64));
    out.extend(bytes);
    out
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A node that casts a value to doubles.
fn to_doubles(value: &str, result: &str) -> Vec<u8> {
    let (integer, kind) = ([varint(3 << 3), varint(11)].concat(), [varint(20 << 3), varint(2)].concat());
    let attribute = [bytes_field(1, b"to"), integer, kind].concat();
    let texts = [(1, value), (2, result), (4, "Cast")];
    let mut node: Vec<u8> =
        texts.iter().flat_map(|(number, text)| bytes_field(*number, text.as_bytes())).collect();
    node.extend(bytes_field(5, &attribute));
    node
}

impl NodeTest {
    fn read(folder: &Path) -> NodeTest {
        let call = folder.join("test_data_set_0");
        let tensors = |kind: &str| {
            let file = |number: usize| fs::read(call.join(format!("{kind}_{number}.pb"))).ok();
            (0..).map_while(file).collect()
        };
        let model = fs::read(folder.join("model.onnx")).expect("a model");
        NodeTest { model, inputs: tensors("input"), outputs: tensors("output") }
    }

    /// Whether all inputs are tensors. Lists of tensors cannot be constants.
    fn reads_tensors(&self) -> bool {
        let graph = Message::new(&self.model).child(field::GRAPH).expect("a graph");
        graph.all(field::INPUT).all(|input| {
            let kind = input.and_then(|input| input.child(field::KIND)?.last(field::TENSOR));
            kind.expect("an input").is_some()
        })
    }

    /// The model with only one output. Inputs that do not hold rows become constants.
    fn rewritten(&self, output: usize, is_row: &dyn Fn(usize) -> bool) -> Result<Vec<u8>, ModelError> {
        let model = Message::new(&self.model);
        let graph = model.child(field::GRAPH)?;
        let mut made = Vec::new();
        for part in graph.fields() {
            if let (number @ (field::NODE | field::CONSTANT | field::INPUT), FieldValue::Bytes(part)) = part?
            {
                made.extend(bytes_field(number, part.bytes()));
            }
        }
        for (number, input) in graph.all(field::INPUT).enumerate().filter(|(number, _)| !is_row(*number)) {
            let name = bytes_field(field::CONSTANT_NAME, input?.text(field::NAME)?.as_bytes());
            made.extend(bytes_field(field::CONSTANT, &[self.inputs[number].as_slice(), &name].concat()));
        }
        let value = graph.all(field::OUTPUT).nth(output).expect("an output")?.text(field::NAME)?;
        let is_float = |element: i64| matches!(element, element::FLOAT | element::DOUBLE | element::STRING);
        let result = if is_float(TensorProto::new(Message::new(&self.outputs[output]))?.element()) {
            value
        } else {
            made.extend(bytes_field(field::NODE, &to_doubles(value, "result")));
            "result"
        };
        made.extend(bytes_field(field::OUTPUT, &bytes_field(field::NAME, result.as_bytes())));
        let mut whole = bytes_field(field::GRAPH, &made);
        for set in model.all(field::OPERATOR_SET) {
            whole.extend(bytes_field(field::OPERATOR_SET, set?.bytes()));
        }
        Ok(whole)
    }

    /// Runs the test with one choice of the inputs that hold rows.
    fn outcome(&self, output: usize, is_row: &dyn Fn(usize) -> bool) -> Outcome {
        let loaded = self.rewritten(output, is_row).and_then(|bytes| load(&bytes, &ReadOptions::default()));
        let forest = match loaded {
            Ok(loaded) => loaded.model.forest,
            Err(error) => return refusal(&error),
        };
        let rows = (0..self.inputs.len()).filter(|input| is_row(*input));
        let inputs: Option<Vec<CallTensor>> = rows.map(|input| CallTensor::of(&self.inputs[input])).collect();
        let (Some(inputs), Some(expected)) = (inputs, CallTensor::of(&self.outputs[output])) else {
            return Outcome::Wrong("types that have no rows are read".into());
        };
        let n_rows = inputs.first().map_or(0, |input| input.shape[0]);
        if inputs.iter().any(|input| input.shape[0] != n_rows) {
            return Outcome::Wrong("inputs of different numbers of rows are read".into());
        }
        if expected.shape.first() != Some(&n_rows) {
            return Outcome::Wrong(format!("{:?} for {n_rows} rows", expected.shape));
        }
        let mut cells = Vec::new();
        for row in 0..n_rows {
            let mut first = 0;
            for input in &inputs {
                let own = input.row(row, n_rows, &forest, first);
                first += own.len();
                cells.extend(own);
            }
        }
        if expected.element == element::STRING {
            return classes(&forest, &cells, &expected);
        }
        let mut values = vec![0.0_f64; n_rows * forest.value_columns()];
        if let Err(error) = predict(&forest, &cells, &mut values) {
            return Outcome::Wrong(error.to_string());
        }
        compared(&values, &expected)
    }
}

/// Compares predicted classes with expected texts.
fn classes(forest: &Forest, cells: &[f64], expected: &CallTensor) -> Outcome {
    let mut found = vec![0; expected.texts.len()];
    if let Err(error) = predict_classes(forest, cells, &mut found) {
        return Outcome::Wrong(error.to_string());
    }
    let labels = forest.output.classes.as_ref().map(|classes| classes.labels.as_slice()).unwrap_or_default();
    let names = found.iter().map(|class| labels.get(*class as usize).map(Label::to_string));
    match names.eq(expected.texts.iter().map(|text| Some(text.clone()))) {
        true => Outcome::Right { is_equal: true },
        false => Outcome::Wrong(format!("classes {found:?} of {labels:?}, not {:?}", expected.texts)),
    }
}

/// Compares predicted numbers with the expected ones, whole numbers exactly.
fn compared(values: &[f64], expected: &CallTensor) -> Outcome {
    if values.len() != expected.numbers.len() {
        return Outcome::Wrong(format!("{} numbers for {:?}", values.len(), expected.shape));
    }
    let is_float = matches!(expected.element, element::FLOAT | element::DOUBLE);
    let (relative, absolute) = if is_float { BOUNDS } else { (0.0, 0.0) };
    let mut are_equal = true;
    for (place, (found, expected)) in values.iter().zip(&expected.numbers).enumerate() {
        let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        let is_near = (found - expected).abs() <= expected.abs() * relative + absolute;
        are_equal &= is_equal;
        if !is_equal && !is_near {
            return Outcome::Wrong(format!("number {place} is {found}, not {expected}"));
        }
    }
    Outcome::Right { is_equal: are_equal }
}

/// Checks that an error has an expected code and names an operator or a place.
fn refusal(error: &ModelError) -> Outcome {
    let is_named = error.message.contains('`') || error.to_string().contains("graph.");
    let known = [codes::UNSUPPORTED_OPERATOR, codes::ONNX_TYPE, codes::UNSUPPORTED_ENSEMBLE];
    if !known.contains(&error.code) || !is_named {
        return Outcome::Wrong(error.to_string());
    }
    let without_names: String = error.message.split('`').step_by(2).collect::<Vec<_>>().join("..");
    Outcome::Refused(format!("{} {without_names}", error.code))
}

/// The outcome over all outputs and all choices: wrong if one is wrong, else right if one is right, else
/// refused.
fn outcome_of(folder: &Path) -> Outcome {
    let test = NodeTest::read(folder);
    let count = test.inputs.len();
    let all = (1 << count) - 1;
    let choices: Vec<usize> = match count {
        _ if !test.reads_tensors() => vec![all],
        0..=MOST_CHOSEN => (1..=all).rev().collect(),
        _ => vec![all, 1],
    };
    let mut outcomes = Vec::new();
    for output in 0..test.outputs.len() {
        for choice in &choices {
            outcomes.push(test.outcome(output, &|input| choice >> input & 1 == 1));
        }
    }
    let wrong = outcomes.iter().find(|outcome| matches!(outcome, Outcome::Wrong(_)));
    let right = outcomes.iter().find(|outcome| matches!(outcome, Outcome::Right { .. }));
    // An error about the operator says more than one about its inputs.
    let of_node = |outcome: &&Outcome| matches!(outcome, Outcome::Refused(what) if what.contains("operator"));
    let refused = outcomes.iter().rev().find(of_node).or(outcomes.first());
    wrong.or(right).or(refused).cloned().unwrap_or_else(|| Outcome::Refused("a graph without rows".into()))
}

/// Runs the tests of the folder that `SCHEDC_ONNX_NODES` names. Prints how many are right, and why the others
/// are refused.
#[test]
fn node_tests_of_onnx_are_right_or_refused_by_name() {
    let Some(folder) = std::env::var_os("SCHEDC_ONNX_NODES") else { return };
    let mut folders: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a test").path()).collect();
    folders.sort();
    let (mut right, mut equal, mut refused, mut wrong) = (Vec::new(), 0, BTreeMap::new(), Vec::new());
    for folder in &folders {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        match catch_unwind(|| outcome_of(folder)) {
            Ok(Outcome::Right { is_equal }) => {
                equal += usize::from(is_equal);
                right.push(name);
            }
            Ok(Outcome::Refused(reason)) => refused.entry(reason).or_insert_with(Vec::new).push(name),
            Ok(Outcome::Wrong(what)) => wrong.push(format!("{name}: {what}")),
            Err(_) => wrong.push(format!("{name}: a panic")),
        }
    }
    for (reason, names) in &refused {
        println!("{:5} {reason}: {}", names.len(), names.join(" "));
    }
    println!("right: {}", right.join(" "));
    println!(
        "of {}, {} are right, {equal} of these to the bit; {} are wrong",
        folders.len(),
        right.len(),
        wrong.len()
    );
    assert!(right.len() > 100 && wrong.is_empty(), "{wrong:#?}");
}

/// A graph over rows of two numbers with these nodes. A node is an operator, its inputs and its output.
fn graph_of(nodes: &[(&str, &[&str], &str)], output: &str) -> Vec<u8> {
    let number = |field: u32, value: u64| [varint(u64::from(field) << 3), varint(value)].concat();
    let mut graph = Vec::new();
    for (operator, inputs, output) in nodes {
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes_field(1, input.as_bytes())).collect();
        node.extend(bytes_field(2, output.as_bytes()));
        node.extend(bytes_field(4, operator.as_bytes()));
        graph.extend(bytes_field(field::NODE, &node));
    }
    let sizes = [bytes_field(1, &[]), bytes_field(1, &number(1, 2))].concat();
    let tensor = [number(1, 1), bytes_field(2, &sizes)].concat();
    let input = [bytes_field(field::NAME, b"X"), bytes_field(field::KIND, &bytes_field(1, &tensor))].concat();
    graph.extend(bytes_field(field::INPUT, &input));
    graph.extend(bytes_field(field::OUTPUT, &bytes_field(field::NAME, output.as_bytes())));
    let version = bytes_field(field::OPERATOR_SET, &number(2, 21));
    [bytes_field(field::GRAPH, &graph), version].concat()
}

#[test]
fn shapes_are_read_but_are_not_results() {
    let filled = [("Shape", ["X"].as_slice(), "shape"), ("ConstantOfShape", &["shape"], "zeros")];
    let sum = [filled.as_slice(), &[("Add", &["X", "zeros"], "sum")]].concat();
    let forest = load(&graph_of(&sum, "sum"), &ReadOptions::default()).expect("a graph").model.forest;
    let mut values = [0.0_f64; 4];
    predict(&forest, &[1.0, 2.0, 3.0, 4.0], &mut values).expect("two rows");
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
    let shape = ("Shape", ["X"].as_slice(), "shape");
    let same = ("Equal", ["shape", "shape"].as_slice(), "same");
    let twice = ("Add", ["X", "X"].as_slice(), "twice");
    for (nodes, words) in [
        (
            vec![shape, ("Mod", &["shape", "shape"], "y")],
            "divides by a whole number of the row, or has one as exponent",
        ),
        (vec![shape, ("Tile", &["X", "shape"], "y")], "repeats rows"),
        (vec![shape, same, twice, ("Where", &["same", "X", "twice"], "y")], "used as a value"),
    ] {
        let error = load(&graph_of(&nodes, "y"), &ReadOptions::default()).expect_err(words);
        assert_eq!(error.code, codes::UNSUPPORTED_OPERATOR);
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn refusals_name_trees_only_if_there_are_some() {
    for operator in ["Conv", "LSTM", "Attention", "Einsum"] {
        let graph = graph_of(&[(operator, &["X"], "y")], "y");
        let error = load(&graph, &ReadOptions::default()).expect_err(operator);
        assert_eq!(error.code, codes::UNSUPPORTED_OPERATOR);
        assert_eq!(error.message, format!("the operator `{operator}` is not supported"));
    }
}
