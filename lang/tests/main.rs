//! Tests of the checker, its diagnostics and the formatter.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod book;
mod explain;
mod fixes;
mod format;
mod formats;
mod golden;
mod layouts;
mod legal_next;
mod refusals;
#[path = "support/refused.rs"]
mod refused;
mod render;
mod robust;
mod semantics;
mod slots;
mod tools;
