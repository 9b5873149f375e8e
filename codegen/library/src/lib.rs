//! Libraries that `schedc build` made, loaded and called through their C interface (`docs/c-api.md`).
//!
//! This crate has the structures of a call, and [`LibraryFunctions`], the functions of a library in this
//! process. [`ModelHandle`] is a model that another module of this process has compiled, without a library.
//! [`Driver`] allocates memory of GPUs for results, and [`TimedStream`] times work on a GPU. `codegen/llvm`
//! calls code in memory with the same structures. Nothing here knows models, schedules or LLVM, so that
//! programs that only predict stay small.

mod call;
mod driver;
mod elf;
mod functions;
mod handle;
mod model;

pub use call::{Call, Dtype, RawColumn, RawColumnType};
pub use driver::{Driver, DriverError, Stream, TimedStream};
pub use functions::{LibraryFunctions, LoadError};
pub use handle::{HandleFunctions, ModelHandle};
pub use model::{CallError, ModelFunctions};
pub use sched_outputs::{Element, Needs, OutputCounts, OutputKind, OutputVisitor};
