//! Columns: values that are computed from the values of a row before trees or sums read them.
//!
//! A trainer's pipeline (imputers, scalers, encoders) and tests that are not numeric (sets of categories,
//! zeros that count as missing) compute columns from features. Each column is an [expression](Expr) over
//! features and other columns, with a type of its own. [`Columns`] holds each once, and evaluates them in
//! plain loops. This evaluation *defines* the result: code in LIR computes the same bits.
//!
//! The value of a column in a row depends on that row alone.

mod category_rule;
mod columns;
mod evaluate;
mod expr;
mod float;
mod folded;
pub mod functions;
mod magnitude;
mod ties;
mod trees;
mod value;

pub use category_rule::CategoryRule;
pub use columns::{Columns, OperandTypeError};
pub use expr::{Binary, CategoryTable, ColumnId, Edges, Expr, Term, Unary};
pub use float::Float;
pub use ties::Ties;
pub use trees::{ColumnTree, ColumnTrees, SharedTreeProperties, TreeNode, TreeTest};
pub use value::{ColumnType, ColumnValue};
