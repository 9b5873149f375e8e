//! Tests of pipelines as a whole.

mod fixtures;
mod random;
