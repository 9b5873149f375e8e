//! Predictions, as the trainer gives them.

use crate::definition::OutputDefinition;

/// The definition.
pub const DEFINITION: OutputDefinition =
    OutputDefinition::Margins(|forest| Some(forest.output.value.clone()));
