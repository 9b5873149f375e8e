//! Tables of a model.

/// One of the model's tables: constant bytes, aligned to 64.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A name for printing, unique in the module.
    pub name: String,
    /// Content of the table, little-endian.
    pub bytes: Vec<u8>,
}
