//! Operators after the trees: from margins to the results of the graph.

use super::tensor::{Cells, Tensor, TensorElement, TextCell};
use sched_columns::{ColumnValue, Columns};
use sched_forest::onnx::Attributes;
use sched_forest::{
    ClassRule, Classes, Float, Forest, Label, ModelError, Output, Sigmoid, Softmax, Transform, codes,
};
use std::rc::Rc;

/// A value that is computed from the results of the trees.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AfterTrees {
    /// The margins after some steps.
    Scores(Vec<Transform>),
    /// The margins after some steps in single precision, cast to double precision. Arithmetic on these values
    /// would be in double precision, and a model has only one type for its steps.
    Widened(Vec<Transform>),
    /// One minus the score of a model with a single margin, after some steps.
    Complement(Vec<Transform>),
    /// The number of a class.
    Class(ClassChoice),
    /// The label of a class.
    Labels(ClassChoice, Vec<Label>),
    /// The class that the trees' operator itself computes.
    OwnClass,
    /// The number or the label of a class, cast to a floating-point type.
    FloatClass(Box<AfterTrees>),
}

/// The choice of a class.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClassChoice {
    /// Class 1 if the score of a model with a single margin, after some steps, is above a bound, else class
    /// 0.
    Above(Vec<Transform>, f64),
    /// The class of the largest score after some steps.
    Largest(Vec<Transform>),
}

/// Maximum number of steps after the trees. Each step takes memory for each result.
const MOST_STEPS: usize = 8;

/// An input of a node after the trees.
pub(super) enum NodeInput {
    AfterTrees(AfterTrees),
    Constant(Rc<Tensor>),
}

/// The trees, whose results later nodes read.
pub(super) struct GraphTrees<'a> {
    pub forest: &'a Forest,
    pub columns: &'a Columns,
}

impl GraphTrees<'_> {
    /// The numbers of a constant.
    fn numbers(&self, tensor: &Tensor) -> Option<Vec<ColumnValue>> {
        let Cells::Numbers(cells) = &tensor.cells else { return None };
        cells.iter().map(|column| self.columns.constant_value(*column)).collect()
    }

    /// The numbers of a constant, one for each margin. A single number is repeated.
    pub fn of_margins(&self, tensor: &Tensor) -> Option<Vec<f64>> {
        let numbers = self.numbers(tensor)?;
        let numbers: Vec<f64> = numbers.iter().map(|number| number.to_f64()).collect();
        let margins = self.forest.num_margins;
        match numbers.len() {
            1 => Some(vec![numbers[0]; margins]),
            count => (count == margins).then_some(numbers),
        }
    }

    fn number(&self, tensor: &Tensor) -> Option<f64> {
        match self.numbers(tensor)?.as_slice() {
            [number] => Some(number.to_f64()),
            _ => None,
        }
    }

    fn labels(&self, tensor: &Tensor) -> Option<Vec<Label>> {
        if let Cells::Texts(texts) = &tensor.cells {
            let label = |text: &TextCell| match text {
                TextCell::Known(text) => Some(Label::Text(text.to_string())),
                TextCell::ByCode(_) => None,
            };
            return texts.iter().map(label).collect();
        }
        let label = |value: ColumnValue| match value {
            ColumnValue::I64(value) => Label::Integer(value),
            ColumnValue::Bool(value) => Label::Truth(value),
            value => Label::Number(value.to_f64()),
        };
        Some(self.numbers(tensor)?.into_iter().map(label).collect())
    }

    /// The value of an operator after the trees. `None` if the operator is not understood there.
    pub fn follow(
        &self,
        name: &str,
        attributes: Attributes,
        inputs: &[NodeInput],
    ) -> Result<Option<AfterTrees>, ModelError> {
        use AfterTrees::{Class, Complement, Labels, Scores, Widened};
        let single = self.forest.num_margins == 1;
        let axis = attributes.int("axis")?;
        let is_last = |default: i64| matches!(axis.unwrap_or(default), 1 | -1);
        let step = |steps: &[Transform], step: Transform| {
            let follows = steps.len() < MOST_STEPS && steps.iter().all(Transform::is_by_value);
            follows.then(|| Scores(steps.iter().cloned().chain([step]).collect()))
        };
        let scale =
            |steps: &[Transform], factor: f64, bias: Vec<f64>| step(steps, Transform::Scale { factor, bias });
        let value = match (name, inputs) {
            ("Identity" | "ZipMap", [NodeInput::AfterTrees(value)]) => Some(value.clone()),
            ("Cast", [NodeInput::AfterTrees(value)]) => {
                self.cast(value, TensorElement::of_code(attributes.int("to")?.unwrap_or(0)))
            }
            ("Squeeze" | "Reshape" | "Unsqueeze" | "Flatten", [NodeInput::AfterTrees(value), ..]) => {
                (single || !matches!(value, Scores(_) | Widened(_))).then(|| value.clone())
            }
            ("Sigmoid", [NodeInput::AfterTrees(Scores(steps))]) => {
                step(steps, Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 }))
            }
            ("Exp", [NodeInput::AfterTrees(Scores(steps))]) => step(steps, Transform::Exp),
            ("Softmax", [NodeInput::AfterTrees(Scores(steps))]) if is_last(-1) => {
                // The standard does not define the type in which the softmax adds.
                step(steps, Transform::Softmax(Softmax::Doubled))
            }
            ("Div", [NodeInput::AfterTrees(Scores(steps)), NodeInput::Constant(by)]) => {
                self.number(by).and_then(|by| step(steps, Transform::Divide { by }))
            }
            ("Mul", [NodeInput::AfterTrees(Scores(steps)), NodeInput::Constant(by)])
            | ("Mul", [NodeInput::Constant(by), NodeInput::AfterTrees(Scores(steps))]) => {
                let zeros = vec![0.0; self.forest.num_margins];
                self.number(by).and_then(|factor| scale(steps, factor, zeros))
            }
            ("Add", [NodeInput::AfterTrees(Scores(steps)), NodeInput::Constant(bias)])
            | ("Add", [NodeInput::Constant(bias), NodeInput::AfterTrees(Scores(steps))]) => {
                self.of_margins(bias).and_then(|bias| scale(steps, 1.0, bias))
            }
            ("Sub", [NodeInput::AfterTrees(Scores(steps)), NodeInput::Constant(bias)]) => {
                let bias = self.of_margins(bias);
                bias.and_then(|bias| scale(steps, 1.0, bias.iter().map(|bias| -bias).collect()))
            }
            ("Sub", [NodeInput::Constant(one), NodeInput::AfterTrees(Scores(steps))]) => {
                (single && self.number(one) == Some(1.0)).then(|| Complement(steps.clone()))
            }
            ("Concat", [NodeInput::AfterTrees(Complement(rest)), NodeInput::AfterTrees(Scores(steps))])
                if single && is_last(1) && rest == steps =>
            {
                step(steps, Transform::Complement)
            }
            (
                "Greater" | "GreaterOrEqual",
                [NodeInput::AfterTrees(Scores(steps)), NodeInput::Constant(bound)],
            ) => {
                let bound = self.number(bound).map(|bound| match (name, self.forest.types.accumulator) {
                    ("Greater", _) => bound,
                    (_, Float::F32) => f64::from((bound as f32).next_down()),
                    (_, Float::F64) => bound.next_down(),
                });
                let is_one = single && steps.iter().all(Transform::is_by_value);
                bound.filter(|_| is_one).map(|bound| Class(ClassChoice::Above(steps.clone(), bound)))
            }
            ("ArgMax", [NodeInput::AfterTrees(Scores(steps) | Widened(steps))])
                if is_last(0) && attributes.int("select_last_index")?.unwrap_or(0) == 0 =>
            {
                Some(Class(ClassChoice::Largest(steps.clone())))
            }
            ("Gather", [NodeInput::Constant(labels), NodeInput::AfterTrees(Class(choice))])
                if axis.unwrap_or(0) == 0 =>
            {
                self.labels(labels).map(|labels| Labels(choice.clone(), labels))
            }
            (
                "ArrayFeatureExtractor",
                [NodeInput::Constant(labels), NodeInput::AfterTrees(Class(choice))],
            ) => self.labels(labels).map(|labels| Labels(choice.clone(), labels)),
            _ => None,
        };
        Ok(value)
    }

    /// A value cast to another type; `None` if no model supports that.
    fn cast(&self, value: &AfterTrees, to: Option<TensorElement>) -> Option<AfterTrees> {
        use AfterTrees::{Class, Complement, FloatClass, Labels, OwnClass, Scores, Widened};
        match (value, self.forest.types.accumulator, to?) {
            (Scores(_) | Complement(_), Float::F32, TensorElement::F32) => Some(value.clone()),
            (Scores(_) | Complement(_), Float::F64, TensorElement::F64) => Some(value.clone()),
            (Scores(steps), Float::F32, TensorElement::F64) => Some(Widened(steps.clone())),
            (Widened(_), _, TensorElement::F64) => Some(value.clone()),
            (Widened(steps), _, TensorElement::F32) => Some(Scores(steps.clone())),
            (Scores(_) | Widened(_) | Complement(_), ..) => None,
            (Class(_) | Labels(..) | OwnClass, _, TensorElement::F32 | TensorElement::F64) => {
                Some(FloatClass(Box::new(value.clone())))
            }
            (FloatClass(_), _, TensorElement::F32 | TensorElement::F64) => Some(value.clone()),
            // Labels can have fractions, and other numbers than 0 and 1 become `true`.
            (FloatClass(class), _, TensorElement::I32 | TensorElement::I64) => {
                matches!(**class, Class(_)).then(|| (**class).clone())
            }
            (FloatClass(_), ..) => None,
            (Class(ClassChoice::Largest(_)) | Labels(..) | OwnClass, _, TensorElement::Bool) => None,
            _ => Some(value.clone()),
        }
    }

    /// The output of a model with these results.
    ///
    /// # Errors
    /// `M0040` if one model cannot have these results.
    pub fn output(&self, results: &[AfterTrees]) -> Result<Output, ModelError> {
        let mut output = self.forest.output.clone();
        let own = output.classes.take();
        let mut longest: &[Transform] = &[];
        let all_steps = results.iter().filter_map(|result| match result {
            AfterTrees::Scores(steps) | AfterTrees::Widened(steps) => Some(steps.as_slice()),
            _ => None,
        });
        for steps in all_steps {
            let (short, long) = if steps.len() < longest.len() { (steps, longest) } else { (longest, steps) };
            if !long.starts_with(short) {
                return Err(two_results("two results are computed from the trees in different ways"));
            }
            longest = long;
        }
        if !longest.is_empty() && !output.value.iter().all(Transform::is_by_value) {
            return Err(two_results("arithmetic after the softmax of the trees is not understood"));
        }
        let without_value = output.value.is_empty();
        output.value.extend_from_slice(longest);
        for result in results {
            let result = match result {
                AfterTrees::FloatClass(class) => class,
                result => result,
            };
            let (choice, labels) = match result {
                AfterTrees::Scores(_) | AfterTrees::Widened(_) => continue,
                AfterTrees::Complement(_) => {
                    return Err(two_results(
                        "an output with only one of two probabilities is not understood",
                    ));
                }
                AfterTrees::OwnClass => {
                    output.classes.clone_from(&own);
                    continue;
                }
                AfterTrees::Class(choice) => (choice, &[][..]),
                AfterTrees::Labels(choice, labels) => (choice, labels.as_slice()),
                AfterTrees::FloatClass(_) => return Err(two_results("a class is cast twice")),
            };
            let rule = self.rule(choice, longest, without_value);
            let rule = rule.ok_or_else(|| {
                two_results("the class is computed from other scores than the numeric output")
            })?;
            let count = if matches!(choice, ClassChoice::Above(..)) {
                2
            } else {
                output.columns(self.forest.num_margins)
            };
            if !labels.is_empty() && labels.len() < count {
                return Err(two_results("there are fewer labels than classes"));
            }
            match &output.classes {
                Some(other) if other.rule != rule => {
                    return Err(two_results("two classes are computed from the trees in different ways"));
                }
                Some(_) if labels.is_empty() => {}
                _ => output.classes = Some(Classes::new(rule, labels.to_vec())),
            }
        }
        let is_number = |result: &AfterTrees| !matches!(result, AfterTrees::OwnClass);
        let is_score = |result: &AfterTrees| matches!(result, AfterTrees::Scores(_) | AfterTrees::Widened(_));
        if results.iter().any(is_number) && !results.iter().any(is_score) {
            predict_class(&mut output)?;
        }
        Ok(output)
    }

    fn rule(&self, choice: &ClassChoice, longest: &[Transform], without_value: bool) -> Option<ClassRule> {
        let by_value = longest.iter().take_while(|step| step.is_by_value()).count();
        match choice {
            ClassChoice::Largest(steps) if steps.is_empty() && without_value => {
                (self.forest.num_margins > 1).then_some(ClassRule::LargestMargin)
            }
            ClassChoice::Largest(steps) => (steps == longest).then_some(ClassRule::LargestValue),
            ClassChoice::Above(steps, bound) if steps.is_empty() && without_value => {
                Some(ClassRule::MarginAbove(*bound))
            }
            ClassChoice::Above(steps, bound) => {
                (*steps == longest[..by_value]).then_some(ClassRule::ValueAbove(*bound))
            }
        }
    }
}

/// Makes the number of the class the prediction of a model without another numeric result.
///
/// # Errors
/// `M0040` if the labels of the classes are other numbers, or if the steps to the number cannot be those of a
/// prediction.
fn predict_class(output: &mut Output) -> Result<(), ModelError> {
    let is_own_number = |(number, label): (usize, &Label)| match label {
        Label::Integer(label) => *label == number as i64,
        Label::Truth(label) => usize::from(*label) == number,
        Label::Number(label) => *label == number as f64,
        Label::Text(_) => true,
    };
    let labels = output.classes.iter().flat_map(|classes| &classes.labels).enumerate();
    let steps = output.class_steps().unwrap_or_default();
    let before_last = steps.split_last().map_or(&[][..], |(_, before)| before);
    if !labels.into_iter().all(is_own_number) || !before_last.iter().all(Transform::is_by_value) {
        return Err(two_results("the only result is the class of a row, as another number"));
    }
    // The prediction is 0 or 1 then.
    if let Some(Classes { rule: ClassRule::ValueAbove(bound), .. }) = &mut output.classes {
        *bound = 0.5;
    }
    output.value = steps;
    Ok(())
}

fn two_results(message: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
        .at("graph.output")
        .help("convert the model without the steps after the trees, and run them after the prediction")
}
