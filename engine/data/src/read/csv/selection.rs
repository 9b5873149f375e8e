//! The columns of a text that are read.

/// The cells of a line that make a row.
pub(super) struct Selection {
    /// Indices of the features' cells, in the model's order; `None` for features that the model does not
    /// read.
    pub(super) columns: Vec<Option<usize>>,
    /// Indices of the cells to copy to the results.
    pub(super) kept: Vec<usize>,
    /// The number of cells of each line.
    pub(super) width: usize,
    /// The header, if the file has one.
    pub(super) header: Option<Vec<String>>,
}

impl Selection {
    /// The name of a column, if there is a header.
    pub(super) fn name(&self, column: usize) -> Option<&String> {
        self.header.as_ref()?.get(column)
    }

    /// The names of the chosen columns.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let header = self.header.as_ref()?;
        let name = |column: &Option<usize>| column.and_then(|column| header.get(column)).cloned();
        Some(self.columns.iter().map(|column| name(column).unwrap_or_default()).collect())
    }
}
