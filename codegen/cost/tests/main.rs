//! Tests of the cost model.

mod cost;
mod fit;
mod gpu;
mod h100;
