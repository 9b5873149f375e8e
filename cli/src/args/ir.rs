//! The arguments of `schedc ir`.

use super::{ModelOptions, RowType, ScheduleOptions, cpu_help, gpu_help, parse_cpu, parse_gpu};
use clap::{Args, ValueEnum};
use sched_llvm::{Cpu, Gpu};
use std::path::PathBuf;

/// Stages of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The model's trees and types, and its loop nest.
    Hir,
    /// The loops as statements: copies of rows, walks of trees, and sums.
    Mir,
    /// The memory layout of the trees, and the algorithm that walks them in each innermost loop.
    Plan,
    /// The loops as typed instructions, the last form before LLVM.
    Lir,
    /// LLVM IR, optimised.
    Llvm,
    /// Assembly.
    Asm,
    /// The kernels of a GPU schedule in summary: blocks, threads, shared memory and parameters.
    Launch,
    /// The kernels of a GPU schedule as PTX, which NVIDIA's drivers compile.
    Ptx,
    /// The kernels of a GPU schedule as NVIDIA's machine code; needs `ptxas` and `nvdisasm`.
    Sass,
    /// The kernels of a GPU schedule as assembly of AMD's GPUs.
    Gcn,
}

/// `schedc ir`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc ir model.json -s fast.sched --stage mir
  schedc ir model.json --stage asm --cpu x86-64-v3
  schedc ir model.json -s gpu.sched --stage ptx --gpu sm_90")]
pub struct Ir {
    /// A model file, or a schedule that names one
    pub model: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    /// The stage whose result is printed
    #[arg(long, value_enum, default_value = "mir")]
    pub stage: Stage,
    /// Processor that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Type of the rows that the code reads, if the model reads 64-bit floats [default: f64]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE")]
    pub row_type: Option<RowType>,
    /// GPU for which the code of a GPU schedule is printed.
    #[arg(long, help = gpu_help())]
    #[arg(value_parser = parse_gpu)]
    pub gpu: Option<Gpu>,
    /// Answer lines {"text", "stage"} of standard input by lines {"text"} or {"error"}: for editors
    #[arg(long, hide = true)]
    pub serve: bool,
}
