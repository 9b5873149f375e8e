//! Pipelines: the columns of a model's file, and the passes that turn them into tests of features.
//!
//! A [`Pipeline`] has inputs, columns and stages. [`load`] reads one from a graph, and folds its columns into
//! the tests of a forest.
//!
//! A [`PreparedForest`] tests columns by numbers alone, whatever its trainer's tests are.

mod additions;
mod category_classes;
mod constants;
mod describe;
mod fault;
mod fold;
mod leaf_sums;
mod leaf_vectors;
mod live;
mod load;
mod node_test_columns;
mod onnx;
mod pieces;
mod pipeline;
mod prepared;
mod score_columns;
mod tables;
mod unfolded;

pub use additions::sum_chains;
pub use category_classes::MOST_SET_BYTES;
pub use constants::fold_constants;
pub use fault::{PassFault, with_pass_fault};
pub use fold::{ColumnFate, ComputedReason, Folding, fold};
pub use leaf_sums::{LeafSums, leaf_sums};
pub use leaf_vectors::leaf_vectors;
pub use live::remove_unread_columns;
pub use load::{ColumnSummary, LoadedModel, StageSummary, load};
pub use node_test_columns::TablesTooLarge;
pub use onnx::{ReadPipeline, read_pipeline};
pub use pipeline::{InputKind, OTHER, Pipeline, PipelineInput, PipelineStage};
pub use prepared::{PreparedForest, SetTests};
pub use score_columns::{score_terms, scores_as_columns};
pub use tables::{Tabulation, tabulate};
pub use unfolded::UnfoldedPipeline;
