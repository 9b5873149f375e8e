//! Margins: sums of leaves before the output transform.

use crate::definition::OutputDefinition;

/// The definition.
pub const DEFINITION: OutputDefinition = OutputDefinition::Margins(|_| Some(Vec::new()));
