//! Tests of built libraries.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod loaded;
