//! Tables of a model.

use std::sync::Arc;

/// One of the model's tables: constant bytes, aligned to 64.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A name for printing, unique in the module.
    pub name: String,
    /// Content of the table, little-endian.
    pub bytes: Arc<[u8]>,
}
