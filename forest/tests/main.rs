//! Tests of the readers of models and of the reference walker.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod boundary;
mod catboost;
mod common;
mod forest;
mod formats;
mod lightgbm;
mod models;
mod onnx;
mod profile;
mod treelite;
mod xgboost;
mod xgboost_releases;
