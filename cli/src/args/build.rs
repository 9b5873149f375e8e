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
    /// The optimised code as LLVM IR, a text.
    Llvm,
    /// Assembly.
    Asm,
    /// The C header of the library alone.
    Header,
    /// The C header for programs that open libraries of any model at run time; give no model.
    Loader,
    /// The kernels of a GPU schedule as PTX, which NVIDIA's drivers compile.
    Ptx,
    /// The kernels of a GPU schedule as machine code of one GPU; needs NVIDIA's assembler, `ptxas`.
    Cubin,
    /// The kernels of a GPU schedule as a code object of AMD, which HIP loads; needs `ld.lld` or Rust's
    /// `rust-lld`.
    Hsaco,
}

/// The floating-point type of the rows that code reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowType {
    /// 32-bit floats.
    #[value(aliases = ["float32", "float", "single"])]
    F32,
    /// 64-bit floats.
    #[value(aliases = ["float64", "double"])]
    F64,
}

/// The floating-point types of rows that an artefact has code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArtefactRowTypes {
    /// 32-bit floats.
    #[value(aliases = ["float32", "float", "single"])]
    F32,
    /// 64-bit floats.
    #[value(aliases = ["float64", "double"])]
    F64,
    /// Both types.
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

impl From<ArtefactRowTypes> for schedc_driver::RowTypes {
    fn from(rows: ArtefactRowTypes) -> Self {
        match rows {
            ArtefactRowTypes::F32 => Self::F32,
            ArtefactRowTypes::F64 => Self::F64,
            ArtefactRowTypes::Both => Self::Both,
        }
    }
}

/// End of the help of `--cpu` if the option takes a list.
const CPU_LIST_HELP_END: &str = ". With a list such as x86-64-v3,x86-64-v4 the library has code for each, \
                                 and uses the best that the machine supports";

/// `schedc build`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc build model.json -o model.so                    for this machine
  schedc build model.json -s fast.sched --cpu x86-64-v3  for any machine with AVX2
  schedc build model.json --target 'gpu(sm_90)'          for an H100, and for newer ones of NVIDIA
  schedc build fast.sched                                for the model that the schedule names
  schedc build model.json --emit static --pkg-config     a static library, and compiler flags to link it
  schedc build model.json --emit asm -o -                prints the assembly")]
pub struct Build {
    /// A model file, or a schedule that names one
    #[arg(required_unless_present = "emit")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// Options about the lock.
    pub lock: LockOptions,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    /// The file to write, or - for standard output [default: the model's name with the extension of --emit,
    /// in the current folder]
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The kind of file to write
    #[arg(long, value_enum, default_value_t)]
    pub emit: Emit,
    /// Effort if no schedule is given: full chooses the fastest code; fast compiles in half the time, to code
    /// that takes up to a fifth longer
    #[arg(long, default_value_t, value_name = "EFFORT")]
    pub effort: Effort,
    #[command(flatten)]
    /// Options of compiling.
    pub compiling: CompileOptions,
    /// Processors that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", CPU_LIST_HELP_END))]
    #[arg(default_value = "native", value_parser = parse_cpu, value_delimiter = ',')]
    pub cpu: Vec<Cpu>,
    /// A number that the code treats as a missing value, like `missing` of XGBoost's DMatrix. Set it if
    /// training did: model files do not record it [default: none; NaN is always missing]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub missing: Option<f64>,
    /// Let each call pass a base margin: a start value of each row's sum, in place of XGBoost's base_score
    #[arg(long)]
    pub base_margin: bool,
    /// Types of rows that have their own code, if the model reads 64-bit floats, as LightGBM's do. With f32
    /// alone, the library refuses 64-bit rows; with f64 alone, it widens 32-bit rows [default: both]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE")]
    pub row_type: Option<ArtefactRowTypes>,
    /// Prefix of the names of the C functions; give two models in one program two prefixes
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    /// The soname of a shared library, by which linked programs load it, such as libmodel.so.2 [default: the
    /// name of its file]
    #[arg(long, value_name = "NAME", value_parser = parse_soname)]
    pub soname: Option<String>,
    /// Also write a .pc file beside the library, with the flags by which pkg-config links it
    #[arg(long)]
    pub pkg_config: bool,
    /// Print the schedule that the code is compiled with, to standard error
    #[arg(long)]
    pub explain_schedule: bool,
    /// For GPU schedules, print the registers, spilled bytes and shared memory of each kernel
    #[arg(short, long)]
    pub verbose: bool,
}

fn parse_soname(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| !c.is_control() && c != '/');
    is_name.then(|| text.to_string()).ok_or_else(|| "write the name of a file without its folder".to_string())
}
