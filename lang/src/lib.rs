//! Names, lineage, ranges, legality and diagnostics of `.sched` schedules.
//!
//! [`check()`] turns text and plain properties of a model into a checked loop nest and diagnostics. It does
//! no IO and never panics, for any text.

mod accumulation;
pub mod check;
pub mod device;
pub mod diagnostics;
pub mod diff;
pub mod directives;
pub mod format;
pub mod illegal;
pub mod legal_next;
pub mod legality;
pub mod lineage;
mod lints;
mod listener;
mod needs;
pub mod obligation;
pub mod operation;
pub mod options;
pub mod pages;
pub mod part;
mod problem;
mod report;
pub mod resolve;
pub mod schedule;
pub mod schedule_parts;
pub mod show;
mod size;
mod stages;
pub mod variations;

pub use check::{check, check_lineage, check_syntax, read_header};
pub use format::format;
pub use options::{CheckOptions, CheckPurpose, Target, TargetKind};
pub use sched_nest::ModelInfo;
pub use schedule::{CheckedSchedule, DirectiveText, Header, Lineage, Param};
