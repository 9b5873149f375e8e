//! Labels of a model's classes in results.

use sched_diagnostics::usage;
use sched_forest::{Forest, Label};
use sched_llvm::runtime::{Element, OutputKind};
use schedc_data::{KeptColumns, NumberType, TableLayout};
use serde_json::Value;

use sched_categories::label_of_json;
use schedc_driver::Failure;
use schedc_driver::shares::values_word;

/// The labels of a model's classes.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The labels, in the order of their numbers; empty if classes are numbers from 0 on.
    labels: Vec<Label>,
    /// The number of labels of each target, if a row has a class for each of several targets.
    targets: Vec<usize>,
    values: Meaning,
}

/// The meaning of predictions for classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Meaning {
    #[default]
    Probabilities,
    Scores,
    /// Numbers of classes.
    Classes,
    /// Labels of classes, which are whole numbers.
    Labels,
}

/// Labels of predicted classes, by the labels' type.
pub enum ClassLabels {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<u32>),
}

impl Meaning {
    /// Returns the meaning that a word in a library's description stands for: probabilities without a word,
    /// and for results of other kinds, which have no headings of their own.
    fn of_word(word: Option<&str>) -> Meaning {
        match word {
            Some("classes") => Meaning::Classes,
            Some("labels") => Meaning::Labels,
            Some("scores") => Meaning::Scores,
            _ => Meaning::Probabilities,
        }
    }
}

impl Labels {
    /// The labels of a model.
    pub fn of_forest(forest: &Forest) -> Labels {
        let classes = forest.output.classes.clone();
        let (labels, targets) = classes.map(|classes| (classes.labels, classes.targets)).unwrap_or_default();
        Labels { labels, targets, values: Meaning::of_word(values_word(forest)) }
    }

    /// The labels of a library; `about` is its description.
    pub fn of_library(about: &Value) -> Labels {
        let model = &about["model"];
        let labels = model["labels"].as_array().into_iter().flatten().filter_map(label_of_json).collect();
        let counts = model["targets"].as_array().into_iter().flatten();
        let targets = counts.filter_map(|count| usize::try_from(count.as_u64()?).ok()).collect();
        Labels { labels, targets, values: Meaning::of_word(model["values"].as_str()) }
    }

    /// Whether the results of an output are numbers of classes.
    pub fn are_classes(&self, output: OutputKind) -> bool {
        (output == OutputKind::Value && self.values == Meaning::Classes) || output.element() == Element::Class
    }

    /// Whether the results of an output are labels of classes.
    pub fn are_labels(&self, output: OutputKind) -> bool {
        output == OutputKind::Value && self.values == Meaning::Labels
    }

    fn are_integers(&self) -> bool {
        self.labels.iter().all(|label| matches!(label, Label::Integer(_)))
    }

    fn are_numbers(&self) -> bool {
        self.labels.iter().all(|label| !matches!(label, Label::Text(_) | Label::Truth(_)))
    }

    /// Headings and types of the columns of results. A column of probabilities is named by its class,
    /// `P(label)`, and a column of decision values `score(label)`, with the number of the target if there are
    /// several, as in `P_0(label)`. A column of classes holds their labels, if the model has any.
    pub fn layout(
        &self,
        output: OutputKind,
        columns: usize,
        number: NumberType,
        kept: KeptColumns,
    ) -> TableLayout {
        if self.are_classes(output) {
            let layout = TableLayout::of(OutputKind::Class.heading(), columns, number, kept);
            return match () {
                () if self.labels.is_empty() => layout,
                () if self.are_integers() => TableLayout { number: NumberType::I64, ..layout },
                () if self.are_numbers() => TableLayout { number: NumberType::F64, ..layout },
                () => layout.with_labels(self.labels.iter().map(Label::to_string).collect()),
            };
        }
        if self.are_labels(output) {
            return TableLayout::of(OutputKind::Class.heading(), columns, NumberType::I64, kept);
        }
        let mut layout = TableLayout::of(output.heading(), columns, number, kept);
        if let Some(headings) = self.headings(columns).filter(|_| output == OutputKind::Value) {
            layout.headings = headings;
        }
        layout
    }

    /// The headings of predictions for classes: for all classes, or for the second class of each target that
    /// has two.
    fn headings(&self, columns: usize) -> Option<Vec<String>> {
        let word = if self.values == Meaning::Scores { "score" } else { "P" };
        if self.targets.is_empty() {
            let named = || self.labels.iter().map(|label| format!("{word}({label})")).collect();
            return (columns > 1 && columns == self.labels.len()).then(named);
        }
        let is_whole = columns == self.labels.len();
        let are_pairs = columns == self.targets.len() && self.targets.iter().all(|count| *count == 2);
        let mut rest = self.labels.as_slice();
        let mut headings = Vec::new();
        for (target, count) in self.targets.iter().enumerate() {
            let (own, behind) = rest.split_at_checked(*count)?;
            let named = if is_whole { own } else { own.get(1..)? };
            headings.extend(named.iter().map(|label| format!("{word}_{target}({label})")));
            rest = behind;
        }
        (is_whole || are_pairs).then_some(headings)
    }

    /// The labels of predicted classes; `None` if classes are numbers from 0 on.
    pub fn of_classes(&self, classes: &[f64]) -> Result<Option<ClassLabels>, Failure> {
        if self.labels.is_empty() {
            return Ok(None);
        }
        let label = |class: &f64| self.labels.get(*class as usize).ok_or_else(|| unnamed(*class));
        if self.are_integers() {
            let number = |class: &f64| {
                Ok(match label(class)? {
                    Label::Integer(number) => *number,
                    _ => 0,
                })
            };
            return classes
                .iter()
                .map(number)
                .collect::<Result<_, Failure>>()
                .map(ClassLabels::Integers)
                .map(Some);
        }
        if self.are_numbers() {
            let number = |class: &f64| {
                Ok(match label(class)? {
                    Label::Integer(number) => *number as f64,
                    Label::Number(number) => *number,
                    Label::Text(_) | Label::Truth(_) => f64::NAN,
                })
            };
            return classes
                .iter()
                .map(number)
                .collect::<Result<_, Failure>>()
                .map(ClassLabels::Numbers)
                .map(Some);
        }
        let place = |class: &f64| label(class).map(|_| *class as u32);
        classes.iter().map(place).collect::<Result<_, Failure>>().map(ClassLabels::Texts).map(Some)
    }
}

fn unnamed(class: f64) -> Failure {
    let message = format!("the model has no label for class {class}");
    Failure::new(usage::NO_SUCH_OUTPUT, message, "use --output value for the prediction of each class")
}
