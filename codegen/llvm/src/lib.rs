//! LLVM back end.

mod aot;
mod emit;
mod error;
mod facts;
pub mod header;
mod jit;
mod library;
mod link;
mod options;
mod orc;
mod packed;
mod passes;
pub mod runtime;
mod session;
mod tables;
mod target;
mod text;

pub use aot::{ArtefactOptions, Emit, build};
pub use error::{LlvmError, code};
pub use facts::Facts;
pub use jit::Jit;
pub use library::Library;
pub use packed::{Output, Rows};
pub use target::Cpu;
pub use text::{asm_text, llvm_text};
