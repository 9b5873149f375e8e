//! LLVM back end.
