//! The checked loop nest: the meaning of a schedule as plain data. It is the contract between the checker
//! (`lang`), which makes nests, and the code generator (`codegen`), which obeys them. Both know this crate,
//! but not each other.
//!
//! Nothing here parses or checks schedules, and there are no diagnostics.

pub mod footprint;
mod layout;
mod layout_order;
mod model;
mod nest;
pub mod show;
mod slots;
mod stage;
pub mod sym;
mod variants;
pub mod visit;
pub mod walks;

pub use layout::{Layout, Nodes, Operands, RowVectors, Shapes, StepFigures};
pub use model::{Depths, ModelInfo, SmallestTreeNodes};
pub use nest::*;
pub use slots::margins_of_slot;
pub use stage::{MOST_FREE_SINGLES, StageInfo, StageKind, StageNest};
pub use variants::{Bounded, Variants};
