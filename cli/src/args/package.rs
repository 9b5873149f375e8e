//! The arguments of `schedc package`.

use super::numbers::whole;
use clap::{Args, ValueEnum};
use sched_llvm::runtime::OutputKind;
use std::path::PathBuf;

/// A model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelServer {
    /// NVIDIA's Triton, with its backend for Python.
    Triton,
    /// MLServer.
    Mlserver,
}

/// `schedc package`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc build model.json --cpu x86-64-v3,x86-64-v4 -o model.so
  schedc package model.so --for triton -o models      tritonserver --model-repository=models
  schedc package model.so --for mlserver -o served    mlserver start served
The server's Python needs the package schedc-runtime.")]
pub struct Package {
    /// A shared library that `schedc build` made
    pub library: PathBuf,
    /// The server that loads the folder
    #[arg(long = "for", value_enum, value_name = "SERVER")]
    pub server: ModelServer,
    /// The folder to write. The command replaces a folder of an earlier call, but no other folder
    #[arg(short, long = "out", value_name = "FOLDER")]
    pub out: PathBuf,
    /// The name by which clients request the model from the server [default: the library's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The output that the server returns for each row
    #[arg(
        long,
        value_parser = super::output(),
        default_value = OutputKind::Value.word(),
        value_name = "KIND"
    )]
    pub output: OutputKind,
    /// Largest number of threads that a call uses; 0 for SCHEDC_NUM_THREADS, or else all usable cores
    #[arg(long, default_value_t = 0, value_parser = whole::<i64>(0..=super::MOST_THREADS))]
    pub threads: i64,
}
