//! Margins: sums of leaves before the output transform.

use super::OutputDefinition;

/// The definition.
pub const DEFINITION: OutputDefinition = OutputDefinition::Margins(|_| Some(Vec::new()));
