//! `schedc build`

use super::{CompileOptions, LockOptions, ModelOptions, ScheduleOptions, cpu_help, parse_cpu};
use clap::{Args, ValueEnum};
use sched_forest::Float;
use sched_llvm::Cpu;
use schedc_driver::Effort;
use std::path::PathBuf;

/// A kind of artefact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// A shared library, and its C header beside it.
    #[default]
    So,
    /// A relocatable object file, and its C header beside it.
    Obj,
    /// A static library, and its C header beside it.
    Static,
    /// LLVM's text form.
    Llvm,
    /// Assembly.
    Asm,
    /// The C header alone.
    Header,
    /// The C header of functions that open shared libraries by their paths: the same for all models, so it
    /// needs none.
    Loader,
    /// The kernels of a GPU schedule, as NVIDIA's drivers read them.
    Ptx,
    /// The kernels of a GPU schedule as machine code of one GPU; needs NVIDIA's assembler, `ptxas`.
    Cubin,
    /// The kernels of a GPU schedule as a code object of AMD, which HIP loads; needs `ld.lld` or Rust's
    /// `rust-lld`.
    Hsaco,
}

/// The type of rows that code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowType {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

/// The types of rows that an artefact has code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowTypes {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Both.
    Both,
}

impl From<RowType> for Float {
    fn from(rows: RowType) -> Float {
        match rows {
            RowType::F32 => Float::F32,
            RowType::F64 => Float::F64,
        }
    }
}

impl From<RowTypes> for schedc_driver::RowTypes {
    fn from(rows: RowTypes) -> Self {
        match rows {
            RowTypes::F32 => Self::F32,
            RowTypes::F64 => Self::F64,
            RowTypes::Both => Self::Both,
        }
    }
}

/// End of the help of `--cpu` for a list.
const OF_SEVERAL: &str = "; for a list such as x86-64-v3,x86-64-v4 the library has code for each, and every \
                          machine runs the best that it supports";

/// `schedc build`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc build model.json -o model.so                    for this machine
  schedc build model.json -s fast.sched --cpu x86-64-v3  for any machine with AVX2
  schedc build model.json --target 'gpu(sm_90)'          for an H100, and for newer ones of NVIDIA
  schedc build fast.sched                                for the model that the schedule names
  schedc build model.json --emit static --pkg-config     libraries and flags for a build of your own
  schedc build model.json --emit asm -o -                a look at the code")]
pub struct Build {
    /// A model file, or a schedule that names one
    #[arg(required_unless_present = "emit")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// The lock.
    pub lock: LockOptions,
    #[command(flatten)]
    /// The model.
    pub reading: ModelOptions,
    /// The file to write [default: the model's name with the artefact's extension, in the current directory]
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The kind of artefact
    #[arg(long, value_enum, default_value_t)]
    pub emit: Emit,
    /// The effort for a schedule that schedc chooses: `fast` compiles in half the time, to code that takes
    /// up to a fifth longer
    #[arg(long, default_value_t, value_name = "EFFORT")]
    pub effort: Effort,
    #[command(flatten)]
    /// Compiling.
    pub compiling: CompileOptions,
    /// Processors
    #[arg(long, help = cpu_help("Processors", OF_SEVERAL))]
    #[arg(default_value = "native", value_parser = parse_cpu, value_delimiter = ',')]
    pub cpu: Vec<Cpu>,
    /// A number that stands for missing values, like `missing` of XGBoost's constructors; model files do not
    /// record it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub missing: Option<f64>,
    /// Let calls pass a base margin, which replaces XGBoost's base_score
    #[arg(long)]
    pub base_margin: bool,
    /// Row types with code of their own, for models that read 64-bit floats, such as LightGBM's. With f32
    /// alone, the library refuses 64-bit rows; with f64 alone, it widens 32-bit rows. Models that read 32-bit
    /// floats round other rows [default: both]
    #[arg(long, alias = "rows", value_enum, value_name = "TYPE")]
    pub row_type: Option<RowTypes>,
    /// Prefix of the C functions
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    /// The soname of a shared library: the name that linked programs load it by [default: the file's own]
    #[arg(long, value_name = "NAME", value_parser = parse_soname)]
    pub soname: Option<String>,
    /// Also write a .pc file for pkg-config beside the library
    #[arg(long)]
    pub pkg_config: bool,
    /// Print the schedule in use
    #[arg(long)]
    pub explain_schedule: bool,
    /// Print the GPU resources of each kernel: registers, spilled bytes, shared memory
    #[arg(short, long)]
    pub verbose: bool,
}

fn parse_soname(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| !c.is_control() && c != '/');
    is_name.then(|| text.to_string()).ok_or_else(|| "write the name of a file without its folder".to_string())
}
