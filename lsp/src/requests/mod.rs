//! What clients ask, one file per request: from the protocol's terms to those of `sched_lang::ide` and back.

pub mod diagnostics;
pub mod formatting;
pub mod initialize;
