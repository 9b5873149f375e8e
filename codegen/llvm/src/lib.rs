//! LLVM back end.

mod emit;
mod error;
pub mod header;
mod options;
mod passes;
pub mod runtime;
mod session;
mod target;
mod text;

pub use error::{LlvmError, code};
pub use target::Cpu;
pub use text::{asm_text, llvm_text};
