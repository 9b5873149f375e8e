//! Tests of the grammar.

mod cases;
mod robust;
mod round_trip;
