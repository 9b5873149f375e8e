//! The output stage: computes margins, predictions and classes from a row's sums.
//!
//! Formulas, the order of operations and types are the trainer's. `exp` and related functions come from the C
//! library, so predictions equal the trainer's to the last bit if it used the same C library. All
//! computations are in the accumulator's type, except for those of [expressions](OutputColumns), which have
//! types of their own.

mod columns;
mod transform;

use crate::codes;
use crate::error::ModelError;
use crate::types::Float;
use sched_categories::Label;
use sched_columns::{ColumnId, ColumnType, Expr, Unary};
use std::sync::Arc;

pub use columns::OutputColumns;
pub use transform::{EXPECTILE_GAP, Sigmoid, Softmax, Transform};

/// The steps from a row's sums to its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Steps from sums to margins, the trainer's raw output. No step changes the number of values.
    pub raw: Vec<Transform>,
    /// Steps from margins to predictions.
    pub value: Vec<Transform>,
    /// The rule that finds the class, if the model predicts classes.
    pub classes: Option<Classes>,
}

/// The classes of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The rule.
    pub rule: ClassRule,
    /// The trainer's names of classes. If empty, the names are the numbers from 0 on.
    pub labels: Vec<Label>,
    /// The number of labels of each target, if a row has a class for each of several targets. `labels` then
    /// lists the labels of one target after the other, and class numbers are positions in this list. Empty if
    /// all classes of a row have the same labels.
    pub targets: Vec<usize>,
    /// Whether predictions are probabilities of the classes; `None` if the model's file does not say.
    pub are_probabilities: Option<bool>,
    /// The decision values of the classes; `None` if the model's file does not say.
    pub decision_values: Option<DecisionValues>,
}

/// The output that has the decision values of a classifier, as `decision_function` of scikit-learn returns
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionValues {
    /// The first margins, of which there are this many.
    Margins(usize),
    /// The predictions.
    Predictions,
}

impl Classes {
    /// Classes of which all have the same labels.
    pub fn new(rule: ClassRule, labels: Vec<Label>) -> Classes {
        Classes { rule, labels, targets: Vec::new(), are_probabilities: None, decision_values: None }
    }
}

/// The form in which a prediction names a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassValue {
    /// The number of a class.
    Number,
    /// The label of the class, if labels are whole numbers.
    Label,
}

/// The rule that finds the number of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassRule {
    /// For each margin, class 1 if its prediction is above the bound, else class 0. Applies before a step
    /// that mixes margins.
    ValueAbove(f64),
    /// For each margin, class 1 if it is above the bound, else class 0.
    MarginAbove(f64),
    /// The class of the largest margin, the lowest class if several margins are equal.
    LargestMargin,
    /// The class of the largest value of the prediction, the lowest class if several values are equal.
    LargestValue,
    /// The values of expressions over the margins: one class for each result.
    Computed(Arc<OutputColumns>),
}

/// Applies steps to the values of one row, in place. Values of single precision are widened to `f64`.
pub fn apply_steps(steps: &[Transform], float: Float, values: &mut Vec<f64>) {
    steps.iter().for_each(|step| step.apply(float, values));
}

impl Output {
    /// The output whose predictions are the margins, without classes.
    pub fn identity() -> Output {
        Output::default()
    }

    /// The output with one step from margins to predictions, without classes.
    pub fn of(transform: Transform) -> Output {
        Output { value: vec![transform], ..Output::default() }
    }

    /// Adds classes without names to an output.
    pub fn with_classes(self, rule: ClassRule) -> Output {
        Output { classes: Some(Classes::new(rule, Vec::new())), ..self }
    }

    /// Number of values per row of a prediction, for a model with `num_margins` margins.
    pub fn columns(&self, num_margins: usize) -> usize {
        self.value.iter().fold(num_margins, |columns, transform| transform.columns(columns))
    }

    /// Turns the sums of one row into margins, in place. Sums of single precision are widened to `f64`.
    pub fn margins(&self, float: Float, values: &mut Vec<f64>) {
        apply_steps(&self.raw, float, values);
    }

    /// Turns the sums of one row into a prediction, in place. Sums of single precision are widened to `f64`.
    pub fn prediction(&self, float: Float, values: &mut Vec<f64>) {
        self.margins(float, values);
        apply_steps(&self.value, float, values);
    }

    /// Computes the classes of one row from its sums, which it overwrites. Returns false if the model has no
    /// classes.
    pub fn classes(&self, float: Float, values: &mut Vec<f64>, out: &mut [u32]) -> bool {
        let Some(steps) = self.class_steps() else { return false };
        self.margins(float, values);
        apply_steps(&steps, float, values);
        out.iter_mut().zip(values).for_each(|(out, class)| *out = *class as u32);
        true
    }

    /// Classes per row of a model with `num_margins` margins: one, or one for each margin or each result of
    /// an expression.
    pub fn num_classes(&self, num_margins: usize) -> usize {
        match self.classes.as_ref().map(|classes| &classes.rule) {
            Some(ClassRule::LargestMargin | ClassRule::LargestValue) => 1,
            Some(ClassRule::Computed(of)) => of.results.len(),
            Some(ClassRule::ValueAbove(_) | ClassRule::MarginAbove(_)) | None => num_margins,
        }
    }

    /// The form in which predictions name the row's classes; `None` if predictions are no classes.
    pub fn class_value(&self) -> Option<ClassValue> {
        let (Some(classes), [Transform::Columns(value)]) = (&self.classes, self.value.as_slice()) else {
            return None;
        };
        let ClassRule::Computed(class) = &classes.rule else { return None };
        if !Arc::ptr_eq(&value.columns, &class.columns) || value.results.len() != class.results.len() {
            return None;
        }
        let whole = |result: &ColumnId| match value.columns.expr(*result) {
            Expr::Unary(Unary::Cast(_), number) if value.columns.column_type(*number) == ColumnType::I64 => {
                Some(*number)
            }
            _ => None,
        };
        let predicted: Vec<ColumnId> = value.results.iter().map(whole).collect::<Option<_>>()?;
        Some(if predicted == class.results { ClassValue::Number } else { ClassValue::Label })
    }

    /// All expressions: those of the steps, then those of the classes.
    pub fn expressions(&self) -> impl Iterator<Item = &OutputColumns> {
        let steps = self.value.iter().filter_map(|step| match step {
            Transform::Columns(of) => Some(&**of),
            _ => None,
        });
        let classes = self.classes.iter().filter_map(|classes| match &classes.rule {
            ClassRule::Computed(of) => Some(&**of),
            _ => None,
        });
        steps.chain(classes)
    }

    /// Checks that each step accepts the number of values before it, and their type.
    pub(crate) fn check(&self, num_margins: usize, accumulator: Float) -> Result<(), ModelError> {
        let bad = |message: String| Err(ModelError::new(codes::BAD_PARAMETER, message).at("output"));
        if !self.raw.iter().all(Transform::is_by_value) {
            return bad("a step to margins mixes several of them".into());
        }
        let is_last = |step: &Transform| !step.is_by_value() && !matches!(step, Transform::Columns(_));
        if self.value.iter().position(is_last).is_some_and(|at| at + 1 < self.value.len()) {
            return bad("a step follows one that mixes the values of a row".into());
        }
        let mut columns = num_margins;
        let mut is_alike = true;
        for transform in self.raw.iter().chain(&self.value) {
            if !is_alike {
                return bad(format!("a step follows expressions that are not all {}", accumulator.word()));
            }
            match transform {
                Transform::Scale { bias, .. } if bias.len() != columns => {
                    return bad(format!("the bias has {} numbers for {columns} values", bias.len()));
                }
                Transform::Complement if columns != 1 => {
                    return bad(format!("{columns} values have no complement"));
                }
                Transform::Columns(of) => {
                    of.check(columns, accumulator)?;
                    is_alike = of.are_all(accumulator.into());
                }
                _ => {}
            }
            if !transform.numbers().iter().all(|number| number.is_finite()) {
                return bad("a number of the output is not finite".into());
            }
            columns = transform.columns(columns);
        }
        if let Some(Classes { labels, targets, .. }) =
            self.classes.as_ref().filter(|it| !it.targets.is_empty())
        {
            let labelled: usize = targets.iter().sum();
            if targets.len() != self.num_classes(num_margins) || labelled != labels.len() {
                return bad(format!("{} labels are those of {} targets", labels.len(), targets.len()));
            }
        }
        if let Some(Classes { rule: ClassRule::Computed(of), .. }) = &self.classes {
            of.check(num_margins, accumulator)?;
            if !of.are_all(ColumnType::I64) {
                return bad("a number of a class is no integer".into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_columns::{Binary, ColumnValue, Columns};

    fn applied(transform: Transform, float: Float, margins: &[f64]) -> Vec<f64> {
        let mut values = margins.to_vec();
        Output::of(transform).prediction(float, &mut values);
        values
    }

    #[test]
    fn transforms_by_hand() {
        for float in [Float::F32, Float::F64] {
            let sigmoids = [Sigmoid::Bounded, Sigmoid::Plain { slope: 2.0 }, Sigmoid::Mirrored];
            for sigmoid in sigmoids {
                assert_eq!(applied(Transform::Sigmoid(sigmoid), float, &[0.0]), [0.5]);
            }
            for softmax in [Softmax::Doubled, Softmax::Plain] {
                assert_eq!(applied(Transform::Softmax(softmax), float, &[7.0, 7.0]), [0.5, 0.5]);
            }
            let scale = Transform::Scale { factor: 2.0, bias: vec![0.5, -1.0] };
            assert_eq!(applied(scale, float, &[1.5, -2.0]), [3.5, -5.0]);
            assert_eq!(applied(Transform::Divide { by: 4.0 }, float, &[1.0]), [0.25]);
            assert_eq!(applied(Transform::Hinge, float, &[0.0, 1e-30, -1.0]), [0.0, 1.0, 0.0]);
            assert_eq!(applied(Transform::Exp, float, &[0.0]), [1.0]);
            assert_eq!(applied(Transform::SignedSquare, float, &[-3.0, 2.0]), [-9.0, 4.0]);
            assert_eq!(applied(Transform::PowerOfTwo { by: 2.0 }, float, &[4.0, 0.0]), [0.25, 1.0]);
            assert_eq!(applied(Transform::Complement, float, &[0.25]), [0.75, 0.25]);
            assert_eq!(applied(Transform::ArgMax, float, &[1.0, 3.0, 3.0]), [1.0]);
            assert_eq!(applied(Transform::Probit, float, &[0.5]), [0.0]);
        }
        for float in [Float::F32, Float::F64] {
            let values = applied(Transform::Ascending, float, &[-3.0, -200.0, 0.0, 200.0]);
            let ln2 = std::f64::consts::LN_2;
            let expected = [-3.0, -3.0 + 1e-6, -3.0 + 2e-6 + ln2, 197.0 + 3e-6 + ln2];
            let far = |(value, expected): (&f64, &f64)| (value - expected).abs() > 2e-5;
            assert!(!values.iter().zip(&expected).any(far), "{values:?}");
            assert_eq!(applied(Transform::Ascending, float, &[-7.0]), [-7.0]);
        }
        let small = applied(Transform::LogOnePlusExp, Float::F64, &[-40.0])[0];
        assert_eq!(small, (-40.0f64).exp());
        let aside = applied(Transform::Softmax(Softmax::ZeroAside), Float::F32, &[0.0, 1.0]);
        assert_eq!(aside, [0.0, 1.0]);
    }

    #[test]
    fn extremes_stay_finite() {
        let sigmoid = Transform::Sigmoid(Sigmoid::Bounded);
        let small = applied(sigmoid.clone(), Float::F32, &[-1000.0])[0];
        assert!(small > 0.0 && small < 1e-37, "{small}");
        assert_eq!(applied(sigmoid, Float::F32, &[1000.0]), [1.0]);
        let softmax = Transform::Softmax(Softmax::Doubled);
        assert_eq!(applied(softmax, Float::F32, &[-1000.0, 1000.0]), [0.0, 1.0]);
    }

    #[test]
    fn the_largest_value_is_found_once() {
        let output = Output::of(Transform::ArgMax).with_classes(ClassRule::LargestValue);
        let mut class = [9];
        assert!(output.classes(Float::F32, &mut vec![0.0, 3.0, 1.0], &mut class));
        assert_eq!(class, [1]);
    }

    /// Expressions over margins of this type: the sum of two margins, its half, and whether it is positive.
    fn expressions(float: Float) -> (Columns, [ColumnId; 3]) {
        let mut columns = Columns::default();
        let number = |x: f64| ColumnValue::F64(x).cast(float.into());
        let (x, y) = (columns.input(0, float), columns.input(1, float));
        let (half, zero) = (columns.constant(number(0.5)), columns.constant(number(0.0)));
        let mut add = |expr| columns.add(expr).expect("an expression of numbers");
        let sum = add(Expr::Binary(Binary::Add, x, y));
        let mean = add(Expr::Binary(Binary::Multiply, sum, half));
        let is_positive = add(Expr::Binary(Binary::Less, zero, sum));
        let class = add(Expr::Unary(Unary::Cast(ColumnType::I64), is_positive));
        (columns, [sum, mean, class])
    }

    fn of_columns(columns: &Columns, results: &[ColumnId]) -> Arc<OutputColumns> {
        Arc::new(OutputColumns { columns: Arc::new(columns.clone()), results: results.to_vec() })
    }

    #[test]
    fn expressions_read_all_margins() {
        for float in [Float::F32, Float::F64] {
            let (columns, [sum, mean, class]) = expressions(float);
            let step = Transform::Columns(of_columns(&columns, &[mean, sum, mean]));
            assert_eq!((step.name(), step.is_by_value()), ("expression", false));
            let value = vec![Transform::Divide { by: 2.0 }, step, Transform::SignedSquare, Transform::ArgMax];
            let output = Output { value, ..Output::default() };
            let output = output.with_classes(ClassRule::Computed(of_columns(&columns, &[class, class])));
            assert_eq!(output.check(2, float), Ok(()));
            assert_eq!((output.columns(2), output.num_classes(2), output.expressions().count()), (1, 2, 2));
            let mut values = vec![3.0, 1.0];
            output.prediction(float, &mut values);
            assert_eq!(values, [1.0]);
            let mut classes = [9; 2];
            assert!(output.classes(float, &mut vec![-1.5, 1.0], &mut classes));
            assert_eq!(classes, [0, 0]);
            assert!(output.classes(float, &mut vec![1.5, -1.0], &mut classes));
            assert_eq!(classes, [1, 1]);
        }
    }

    #[test]
    fn labels_of_targets_are_counted() {
        let (columns, [.., class]) = expressions(Float::F64);
        let rule = ClassRule::Computed(of_columns(&columns, &[class, class]));
        let labels: Vec<Label> = (0..5).map(Label::Integer).collect();
        for (targets, is_right) in [(vec![], true), (vec![2, 3], true), (vec![5], false), (vec![2, 2], false)]
        {
            let classes = Classes { targets, ..Classes::new(rule.clone(), labels.clone()) };
            let output = Output { classes: Some(classes), ..Output::default() };
            assert_eq!(output.check(2, Float::F64).is_ok(), is_right, "{:?}", output.classes);
        }
    }

    #[test]
    fn a_prediction_may_be_a_class() {
        let (mut columns, [sum, _, class]) = expressions(Float::F64);
        let (label, number) =
            (columns.constant(ColumnValue::I64(7)), Expr::Unary(Unary::Cast(ColumnType::F64), class));
        let number = columns.add(number).expect("a number");
        let label = columns.add(Expr::Binary(Binary::Add, label, class)).expect("a number");
        let label = columns.add(Expr::Unary(Unary::Cast(ColumnType::F64), label)).expect("a number");
        let columns = Arc::new(columns);
        let of = |result| Arc::new(OutputColumns { columns: Arc::clone(&columns), results: vec![result] });
        let cases = [(number, Some(ClassValue::Number)), (label, Some(ClassValue::Label)), (sum, None)];
        for (value, meaning) in cases {
            let output = Output::of(Transform::Columns(of(value)));
            assert_eq!(output.class_value(), None);
            assert_eq!(output.with_classes(ClassRule::Computed(of(class))).class_value(), meaning);
        }
    }

    #[test]
    fn the_largest_value_may_be_an_expression() {
        let (columns, [sum, mean, _]) = expressions(Float::F64);
        let output = Output::of(Transform::Columns(of_columns(&columns, &[mean, sum])));
        let output = output.with_classes(ClassRule::LargestValue);
        assert_eq!((output.check(2, Float::F64), output.columns(2), output.num_classes(2)), (Ok(()), 2, 1));
        for (margins, class) in [([1.0, 2.0], 1), ([-1.0, -2.0], 0)] {
            let mut out = [9];
            assert!(output.classes(Float::F64, &mut margins.to_vec(), &mut out));
            assert_eq!(out, [class]);
        }
    }

    #[test]
    fn numbers_of_classes_are_bounded() {
        let mut columns = Columns::default();
        let margin = columns.input(0, Float::F64);
        let class = columns.add(Expr::Unary(Unary::Cast(ColumnType::I64), margin)).expect("a number");
        let of = of_columns(&columns, &[class]);
        let largest = columns::LARGEST_CLASS as u32;
        for (margin, class) in [(-7.0, 0), (2.9, 2), (1e30, largest), (f64::NAN, 0)] {
            assert_eq!(of.class_numbers().values(&[margin]), [f64::from(class)], "{margin}");
        }
    }

    #[test]
    fn expressions_fit_the_values_that_they_meet() {
        let (columns, [sum, _, class]) = expressions(Float::F32);
        let (wide, [wide_sum, ..]) = expressions(Float::F64);
        let of = |results: &[ColumnId]| Transform::Columns(of_columns(&columns, results));
        let step = |steps: Vec<Transform>| Output { value: steps, ..Output::default() };
        let classes = |results: &[ColumnId]| {
            Output::identity().with_classes(ClassRule::Computed(of_columns(&columns, results)))
        };
        let wide = Transform::Columns(of_columns(&wide, &[wide_sum]));
        assert_eq!(step(vec![of(&[class, sum])]).check(2, Float::F32), Ok(()));
        let raw = Output { raw: vec![of(&[sum])], ..Output::default() };
        let cases = [
            (Output::of(of(&[sum])), 1),
            (Output::of(of(&[])), 2),
            (step(vec![of(&[sum, class]), Transform::Exp]), 2),
            (Output::of(of(&[ColumnId::at(columns.len())])), 2),
            (step(vec![wide]), 2),
            (step(vec![Transform::ArgMax, of(&[sum])]), 2),
            (raw, 2),
            (classes(&[sum]), 2),
            (classes(&[class]), 1),
            (classes(&[]), 2),
        ];
        for (output, margins) in cases {
            let code = output.check(margins, Float::F32).unwrap_err().code;
            assert_eq!(code, codes::BAD_PARAMETER, "{output:?}");
        }
    }

    #[test]
    fn steps_fit_the_values_that_they_meet() {
        let complement = Output::of(Transform::Complement);
        assert_eq!((complement.columns(1), complement.check(1, Float::F32)), (2, Ok(())));
        let scale = Output::of(Transform::Scale { factor: 1.0, bias: vec![0.0] });
        let infinite = Output::of(Transform::Divide { by: f64::INFINITY });
        let mixed = Output { raw: vec![Transform::ArgMax], ..Output::default() };
        let late = Output { value: vec![Transform::ArgMax, Transform::Exp], ..Output::default() };
        for (output, margins) in [(complement, 2), (scale, 2), (infinite, 1), (mixed, 1), (late, 1)] {
            assert_eq!(output.check(margins, Float::F32).unwrap_err().code, codes::BAD_PARAMETER);
        }
    }
}
