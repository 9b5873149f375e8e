//! What editors ask of a schedule, as pure functions: an [`Analysis`] and a byte offset in, plain data in the terms of
//! the text out. Nothing here knows a protocol or does IO; `sched-lsp` converts and serves.
//!
//! One feature, one file. Every function accepts any text and any offset: half-written schedules are the normal case.

mod analysis;
mod hover;
mod nest_view;
mod pages;

pub use analysis::Analysis;
pub use hover::{Hover, hover};
pub use nest_view::{
    AccumulationView, Badge, Inside, LoopView, NestView, nest_until, nest_view, nest_view_json,
    nest_view_json_with,
};
