//! Columns: the values that a model's trees test, computed from the values of a row.
//!
//! A trainer's pipeline (imputers, scalers, encoders) and tests that are not numeric (sets of categories,
//! zeros that count as missing) compute columns from features. Each column is an [expression](Expr) over
//! features and other columns, with a type of its own. [`Columns`] holds each once, and evaluates them in
//! plain loops. This evaluation *defines* the result: code in LIR computes the same bits.
//!
//! Columns are row-wise: a column depends on values of its own row alone.
//!
//! A [`Prepared`] forest tests columns by numbers alone, whatever its trainer's tests are.

mod category_classes;
mod columns;
mod constants;
mod describe;
mod evaluate;
mod expr;
mod fold;
mod leaf_vectors;
mod live;
mod load;
mod onnx;
mod pipeline;
mod prepared;
mod test_columns;
mod value;

pub use category_classes::MOST_SET_BYTES;
pub use columns::{Columns, TypeMismatch};
pub use constants::constants;
pub use expr::{Binary, CategoryTable, ColumnId, Edges, Expr, Ties, Unary};
pub use fold::{Fate, Folding, Reason, fold};
pub use leaf_vectors::leaf_vectors;
pub use live::live;
pub use load::{ColumnSummary, LoadedModel, StageSummary, load};
pub use onnx::{ReadPipeline, read_pipeline};
pub use pipeline::{Input, InputKind, OTHER, Pipeline, Stage};
pub use prepared::{Prepared, SetTests};
pub use test_columns::TablesTooLarge;
pub use value::{ColumnType, ColumnValue};
