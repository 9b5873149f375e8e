//! Libraries that `schedc build` made, loaded and called through nothing but their C interface (`docs/c-api.md`).
//!
//! The structures of a call are here, the table of outputs ([`Kind`]), and [`Loaded`], the functions of a library in this
//! process. The back end makes its own calls with the same structures. Nothing here knows models, schedules or LLVM, so that programs which
//! only predict stay small.

mod call;
mod loaded;
mod output;

pub use call::{Call, ColumnType, Dtype, RawColumn};
pub use loaded::{Loaded, Refusal};
pub use output::{Counts, Element, Kind, Needs};
