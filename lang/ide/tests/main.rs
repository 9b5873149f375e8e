//! Tests of the answers to editors' questions.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod read;
mod write;
