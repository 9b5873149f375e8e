//! Predictions, as the trainer gives them.

use super::Definition;

/// The definition.
pub const DEFINITION: Definition = Definition::Margins(|forest| Some(forest.output.value.clone()));
