//! What editors ask of a schedule, as pure functions: an [`Analysis`] and a byte offset in, plain data in the terms of
//! the text out. Nothing here knows a protocol or does IO; `sched-lsp` converts and serves.
//!
//! One feature, one file. Every function accepts any text and any offset: half-written schedules are the normal case.

mod analysis;

pub use analysis::Analysis;
