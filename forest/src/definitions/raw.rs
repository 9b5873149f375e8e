//! Margins: sums of leaves before the output transform.

use super::Definition;

/// The definition.
pub const DEFINITION: Definition = Definition::Margins(|_| Some(Vec::new()));
