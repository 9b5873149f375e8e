//! Arguments of `schedc ir`.

use super::{ModelOptions, RowType, ScheduleOptions, cpu_help, gpu_help, parse_cpu, parse_gpu};
use clap::{Args, ValueEnum};
use sched_llvm::{Cpu, Gpu};
use std::path::PathBuf;

/// Stages of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The forest and what its walks need.
    Hir,
    /// The loop nest with abstract walks.
    Mir,
    /// The storage of trees and the way of walking them.
    Plan,
    /// Loads, steps and stores.
    Lir,
    /// LLVM's text form, optimised.
    Llvm,
    /// Assembly.
    Asm,
    /// The launches of a GPU schedule: blocks, threads, shared memory and registers.
    Launch,
    /// The kernels of a GPU schedule, as NVIDIA's drivers read them.
    Ptx,
    /// The machine code of these kernels, by NVIDIA's ptxas and nvdisasm.
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
    #[arg(value_name = "MODEL")]
    pub what: Option<PathBuf>,
    /// An old spelling of MODEL: WHAT is the schedule then.
    #[arg(id = "old_model", long = "model", value_name = "MODEL", hide = true)]
    pub old_model: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    /// The stage
    #[arg(long, value_enum, default_value = "mir")]
    pub stage: Stage,
    /// Processor
    #[arg(long, help = cpu_help("Processor", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Type of the rows, for models that read 64-bit floats [default: f64]
    #[arg(long, alias = "rows", value_enum, value_name = "TYPE")]
    pub row_type: Option<RowType>,
    /// GPU
    #[arg(long, help = gpu_help())]
    #[arg(value_parser = parse_gpu)]
    pub gpu: Option<Gpu>,
    /// Answer lines {"text", "stage"} of standard input by lines {"text"} or {"error"}: for editors
    #[arg(long, hide = true)]
    pub serve: bool,
}
