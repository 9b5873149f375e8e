//! The middle of the compiler: HIR, MIR and LIR, the representations of trees in memory, and the LIR interpreter.

pub mod interp;
pub mod lir;
pub mod verify;
