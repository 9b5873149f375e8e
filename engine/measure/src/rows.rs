//! The rows of calls, row by row or column by column.

use sched_gpu::{GpuError, ResidentRows};
use sched_llvm::column::{Column, ColumnValues};
use sched_llvm::{Jit, PackedRows};
use std::ops::Range;
use std::sync::OnceLock;

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum RowNumbers {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// The order in memory of the rows that a contender reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// One row after the other.
    Rows,
    /// Feature by feature.
    Columns,
}

/// Rows, stored in each order that some contender reads.
pub struct OrderedRows {
    rows: RowNumbers,
    /// The rows feature by feature, if some contender reads them so.
    columns: Option<RowNumbers>,
    features: usize,
    /// The number of rows.
    pub count: usize,
    /// The rows in the memory of a GPU, once they are there.
    resident: OnceLock<ResidentRows>,
}

impl OrderedRows {
    /// Rows of `features` values each. Also stores them feature by feature if `with_columns` is true.
    pub fn new(rows: RowNumbers, features: usize, with_columns: bool) -> OrderedRows {
        let values = match &rows {
            RowNumbers::F32(values) => values.len(),
            RowNumbers::F64(values) => values.len(),
        };
        let columns = with_columns.then(|| match &rows {
            RowNumbers::F32(values) => RowNumbers::F32(transposed(values, features)),
            RowNumbers::F64(values) => RowNumbers::F64(transposed(values, features)),
        });
        let count = values / features.max(1);
        OrderedRows { rows, columns, features, count, resident: OnceLock::new() }
    }

    /// The rows in the memory of a GPU, for the code of any schedule of a model. The first call copies them.
    ///
    /// # Errors
    ///
    /// When there is no GPU of NVIDIA, too little of its memory, or if the code runs elsewhere.
    pub fn resident(&self, code: &Jit) -> Result<&ResidentRows, GpuError> {
        if let Some(resident) = self.resident.get() {
            return Ok(resident);
        }
        let rows = match &self.rows {
            RowNumbers::F32(values) => PackedRows::F32(values),
            RowNumbers::F64(values) => PackedRows::F64(values),
        };
        let resident = ResidentRows::new(code, rows)?;
        Ok(self.resident.get_or_init(|| resident))
    }

    /// A range of the rows, in one of the stored orders.
    pub fn call_rows(&self, order: RowOrder, wanted: Range<usize>) -> CallRows<'_> {
        let Some(columns) = self.columns.as_ref().filter(|_| order == RowOrder::Columns) else {
            let place = wanted.start * self.features..wanted.end * self.features;
            return match &self.rows {
                RowNumbers::F32(values) => CallRows::Rows(PackedRows::F32(&values[place])),
                RowNumbers::F64(values) => CallRows::Rows(PackedRows::F64(&values[place])),
            };
        };
        let column = |feature: usize| {
            let place = feature * self.count + wanted.start..feature * self.count + wanted.end;
            Column::of(match columns {
                RowNumbers::F32(values) => ColumnValues::F32(&values[place]),
                RowNumbers::F64(values) => ColumnValues::F64(&values[place]),
            })
        };
        CallRows::Columns((0..self.features).map(column).collect())
    }

    /// The first `rows` rows, or all if there are fewer, in double precision.
    pub fn first_rows(&self, rows: usize) -> Vec<f64> {
        let values = rows.saturating_mul(self.features);
        match &self.rows {
            RowNumbers::F32(all) => all.iter().take(values).map(|value| f64::from(*value)).collect(),
            RowNumbers::F64(all) => all.iter().take(values).copied().collect(),
        }
    }
}

/// The rows of a call.
pub enum CallRows<'a> {
    /// Row by row.
    Rows(PackedRows<'a>),
    /// Feature by feature.
    Columns(Vec<Column<'a>>),
}

impl CallRows<'_> {
    /// The rows as the argument of a call.
    pub fn rows(&self) -> PackedRows<'_> {
        match self {
            CallRows::Rows(rows) => *rows,
            CallRows::Columns(columns) => PackedRows::Columns(columns),
        }
    }
}

/// Rows feature by feature.
fn transposed<T: Copy>(rows: &[T], features: usize) -> Vec<T> {
    (0..features).flat_map(|feature| rows.iter().skip(feature).step_by(features)).copied().collect()
}
