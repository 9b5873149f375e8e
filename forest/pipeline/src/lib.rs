//! Columns: the values that a model's trees test, computed from the values of a row.
//!
//! A trainer's pipeline (imputers, scalers, encoders) and tests that are not numeric (sets of categories,
//! zeros that count as missing) compute columns from features. Each column is an [expression](Expr) over
//! features and other columns, with a type of its own. [`Columns`] holds each once, and evaluates them in
//! plain loops. This evaluation *defines* the result: code in LIR computes the same bits.
//!
//! Columns are row-wise: a column depends on values of its own row alone.

mod columns;
mod evaluate;
mod expr;
mod value;

pub use columns::{Columns, TypeMismatch};
pub use expr::{Binary, CategoryTable, ColumnId, Edges, Expr, Ties, Unary};
pub use value::{ColumnType, ColumnValue};
