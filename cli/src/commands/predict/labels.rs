//! Labels of a model's classes in results.

use sched_diagnostics::usage;
use sched_forest::{Forest, Label};
use sched_llvm::runtime::Kind;
use schedc_data::{KeptColumns, Layout, Number};
use serde_json::Value;

use sched_categories::label_of_json;
use schedc_driver::Failure;
use schedc_driver::shares::are_scores;

/// The labels of a model's classes.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The labels, in the order of their numbers; empty if classes are numbers from 0 on.
    labels: Vec<Label>,
    /// Whether predictions for the classes are decision values in place of probabilities.
    are_scores: bool,
}

/// Labels of predicted classes, by the labels' type.
pub enum Classes {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<u32>),
}

impl Labels {
    /// The labels of a model.
    pub fn of_forest(forest: &Forest) -> Labels {
        let labels = forest.output.classes.as_ref().map(|classes| classes.labels.clone());
        Labels { labels: labels.unwrap_or_default(), are_scores: are_scores(forest) }
    }

    /// The labels of a library; `about` is its description.
    pub fn of_library(about: &Value) -> Labels {
        let labels = about["model"]["labels"].as_array().into_iter().flatten();
        let are_scores = about["model"]["values"] == "scores";
        Labels { labels: labels.filter_map(label_of_json).collect(), are_scores }
    }

    fn are_integers(&self) -> bool {
        self.labels.iter().all(|label| matches!(label, Label::Integer(_)))
    }

    fn are_numbers(&self) -> bool {
        self.labels.iter().all(|label| !matches!(label, Label::Text(_) | Label::Truth(_)))
    }

    /// Headings and types of the columns of results. A column of probabilities is named by its class,
    /// `P(label)`, and a column of decision values `score(label)`; a column of classes holds their
    /// labels, if the model has any.
    pub fn layout(&self, output: Kind, columns: usize, number: Number, kept: KeptColumns) -> Layout {
        let mut layout = Layout::of(output.heading(), columns, number, kept);
        match output {
            Kind::Value if columns > 1 && columns == self.labels.len() => {
                let word = if self.are_scores { "score" } else { "P" };
                layout.headings = self.labels.iter().map(|label| format!("{word}({label})")).collect();
                layout
            }
            Kind::Class if self.labels.is_empty() => layout,
            Kind::Class if self.are_integers() => Layout { number: Number::I64, ..layout },
            Kind::Class if self.are_numbers() => Layout { number: Number::F64, ..layout },
            Kind::Class => layout.with_labels(self.labels.iter().map(Label::to_string).collect()),
            _ => layout,
        }
    }

    /// The labels of predicted classes; `None` if classes are numbers from 0 on.
    pub fn of_classes(&self, classes: &[f32]) -> Result<Option<Classes>, Failure> {
        if self.labels.is_empty() {
            return Ok(None);
        }
        let label = |class: &f32| self.labels.get(*class as usize).ok_or_else(|| unnamed(*class));
        if self.are_integers() {
            let number = |class: &f32| {
                Ok(match label(class)? {
                    Label::Integer(number) => *number,
                    _ => 0,
                })
            };
            return classes
                .iter()
                .map(number)
                .collect::<Result<_, Failure>>()
                .map(Classes::Integers)
                .map(Some);
        }
        if self.are_numbers() {
            let number = |class: &f32| {
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
                .map(Classes::Numbers)
                .map(Some);
        }
        let place = |class: &f32| label(class).map(|_| *class as u32);
        classes.iter().map(place).collect::<Result<_, Failure>>().map(Classes::Texts).map(Some)
    }
}

fn unnamed(class: f32) -> Failure {
    let message = format!("the model has no label for class {class}");
    Failure::new(usage::NO_SUCH_OUTPUT, message, "use --output value for the prediction of each class")
}
