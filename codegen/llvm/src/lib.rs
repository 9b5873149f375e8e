//! LLVM back end.

mod emit;
mod error;
mod facts;
pub mod header;
mod jit;
mod options;
mod orc;
mod passes;
pub mod runtime;
mod session;
mod tables;
mod target;
mod text;

pub use error::{LlvmError, code};
pub use facts::Facts;
pub use jit::{Jit, Output, Rows};
pub use target::Cpu;
pub use text::{asm_text, llvm_text};
