//! Columns: the values that trees test, computed from the features of rows.
//!
//! [`sched_pipeline`] defines columns as expressions. The modules here turn them into data and code:
//!
//! 1. [`trace`] takes an expression apart into its shape and its parameters: features, constants and tables.
//! 2. [`layers`] finds sums, which are computed once for each row, and [`sums`] computes them in tiles.
//!    [`stored`] is the memory of sums, of their operands, and of other [`shared`] columns. [`arranged`]
//!    computes the sums whose loops a schedule arranges, by the [`arrangement`] of the plan, with
//!    [`term_lanes`]. [`trees`] are stored as sums are, and [`walks`] has their code. [`iteration`] makes
//!    loops of arrangements. Sums of one shape, and the trees of one forest, are a [`stage`]. [`compared`]
//!    finds sums whose rounding errors can change a result by any amount, by their [`gains`], those of
//!    [`margins`], [`sizes`] and [`ranges`].
//! 3. [`runs`] finds runs of adjacent columns of one shape, whose parameters are numbers in tables of the
//!    module. A run is a loop, so code grows with the number of shapes and not with that of columns.
//! 4. [`value`] lowers an operation of a shape to LIR, for one row or for several.
//!    [`functions`] has exponentials, logarithms and the like.
//! 5. [`code`] loops over runs: the columns of one row, or of a block of rows feature by feature.
//!    [`cooperative`] loops over them in the threads of a GPU's block, which have [`share`]s of the work.
//!    [`product`] makes products of matrices of layers.
//! 6. [`blocks`] fills blocks of rows, with values of features or with computed columns.
//!
//! [`outputs`] has the expressions behind the trees, over margins in place of features.

mod arranged;
pub mod arrangement;
pub mod blocks;
pub mod code;
mod compared;
pub mod cooperative;
mod exponentials;
pub mod functions;
mod gains;
mod iteration;
mod layers;
mod margins;
mod numbers;
mod operations;
pub mod outputs;
pub mod pools;
mod product;
mod ranges;
pub mod runs;
mod share;
mod shared;
mod sizes;
pub mod stage;
pub mod stored;
mod sums;
mod term_lanes;
mod trace;
mod trees;
pub mod value;
mod walks;
