//! Columns and their names, in all formats.

pub(super) mod matching;
pub(super) mod near;
