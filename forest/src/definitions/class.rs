//! Class numbers.

use crate::definition::OutputDefinition;
use crate::forest::Forest;
use crate::output::{ClassRule, Classes, Output, Transform};
use std::sync::Arc;

/// The definition. Code has one class for each row, or the classes of expressions.
pub const DEFINITION: OutputDefinition =
    OutputDefinition::Margins(|forest| forest.output.class_steps().filter(|_| forest.class_columns() > 0));

impl Output {
    /// The steps from margins to class numbers; `None` if the model has no classes.
    pub fn class_steps(&self) -> Option<Vec<Transform>> {
        let Classes { rule, .. } = self.classes.as_ref()?;
        let value = self.value.iter();
        Some(match rule {
            ClassRule::MarginAbove(bound) => vec![Transform::Above(*bound)],
            ClassRule::ValueAbove(bound) => {
                let by_value = value.take_while(|step| step.is_by_value()).cloned();
                by_value.chain([Transform::Above(*bound)]).collect()
            }
            ClassRule::LargestMargin => vec![Transform::ArgMax],
            // The step `ArgMax` already computes the class.
            ClassRule::LargestValue => {
                let before = value.take_while(|step| **step != Transform::ArgMax).cloned();
                before.chain([Transform::ArgMax]).collect()
            }
            ClassRule::Computed(of) => vec![Transform::Columns(Arc::new(of.class_numbers()))],
        })
    }
}

impl Forest {
    /// Number of columns of class output: one, one for each result of an expression, or 0.
    pub fn class_columns(&self) -> usize {
        let Some(Classes { rule, .. }) = &self.output.classes else { return 0 };
        let n_classes = self.num_class_numbers();
        if n_classes == 1 || matches!(rule, ClassRule::Computed(_)) { n_classes } else { 0 }
    }
}
