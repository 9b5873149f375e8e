//! Tests of the cost model.

mod cost;
mod gpu;
