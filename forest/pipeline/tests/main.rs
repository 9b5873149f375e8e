//! Tests of pipelines as a whole.

mod damaged;
mod fixtures;
mod nodes;
mod operators;
mod passes;
mod random;
