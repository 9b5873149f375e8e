//! Columns and their names, whatever the format.

pub(super) mod matching;
pub(super) mod near;
