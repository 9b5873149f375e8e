//! Tests of built libraries and of the table of outputs.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod loaded;
mod outputs;
