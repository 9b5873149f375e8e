//! Tests of the code generator and of its runtime: one program, which links LLVM once.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod amdgpu;
mod artefact;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod device;
mod device_columns;
mod emit;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod exp;
mod golden;
mod gpu;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod host_launch;
mod launches;
mod lightgbm;
#[cfg(target_arch = "x86_64")]
mod modes;
mod objectives;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod order;
mod property;
mod ptx;
mod ptxas;
mod runtime;
mod sass;
mod standin;
mod wide_rows;
