//! Tests of whole pipelines.

mod class_results;
mod damaged;
mod draw;
mod fixtures;
mod leaf_sums;
mod nodes;
mod operators;
mod passes;
mod random;
mod scores;
mod sums;
mod tables;
