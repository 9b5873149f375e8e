//! Tests of the stages between loop nests and LIR, and of the interpreter.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod budget;
mod cases;
mod columns;
mod index_width;
mod interp;
mod launch;
mod layers;
mod left_out;
mod loop_ends;
mod outputs;
mod plan;
mod shared;
mod tables;
mod trees;
mod verify;
