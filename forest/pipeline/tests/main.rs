//! Tests of pipelines as a whole.

mod damaged;
mod fixtures;
mod passes;
mod random;
