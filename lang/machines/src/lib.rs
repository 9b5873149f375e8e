//! The processors and GPUs that schedules name and code is generated for: one table each, read by the
//! checker, the cost model, the code generator, the C runtime and the command line.
//!
//! A new processor level is a row of `machines!` in `level.rs` and its file of costs. A new GPU is a row of
//! `gpus!` in `gpu.rs`. The runtime's copy of the processor levels, `codegen/llvm/runtime/levels.h`, is
//! written from this table by `UPDATE=1 cargo test -p sched-llvm --lib target`, and the same test compares
//! the two.

mod cpuid;
mod family;
mod gpu;
mod level;

pub use cpuid::{Cpuid, Register};
pub use family::Family;
pub use gpu::{DataSheet, GPUS, GpuKind, GpuLimits, Maker};
pub use level::{BASELINE, Level, NATIVE, cpu_words};
