//! Tests of the readers and writers of rows.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod abandon;
mod beside;
mod categories;
mod common;
mod csv;
mod example;
mod npy;
mod robustness;
mod tables;
mod unread;
mod write;
