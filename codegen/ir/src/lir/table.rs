//! Tables of a model.

/// One of the model's tables: constant bytes, aligned to 64.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A name for printing, unique in the module.
    pub name: String,
    /// Its content, little-endian.
    pub bytes: Vec<u8>,
}
