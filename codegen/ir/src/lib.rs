//! Middle of the compiler.
