//! LLVM back end.

pub mod header;
pub mod runtime;
