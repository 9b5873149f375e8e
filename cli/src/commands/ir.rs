//! `schedc ir`: the stages of the compiler as text.

use super::{Job, print};
use crate::args::{Ir, ScheduleOptions, Stage};
use crate::compile::{compile, gpu_of};
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::terminal::Terminal;
use sched_ir::Compiled;
use sched_ir::lir::KernelKind;
use sched_llvm::{Gpu, asm_text, launch_text, llvm_text, ptx_text, sass_text};
use sched_nest::show::show_variants;

/// Runs the command.
pub fn run(args: &Ir, terminal: &Terminal) -> Result<(), Failure> {
    let schedule = ScheduleOptions { schedule: args.schedule.clone(), values: args.values.clone() };
    let what = args.model.as_ref().or(args.schedule.as_ref()).ok_or_else(|| {
        Failure::usage("neither a schedule nor a model is named", "try `schedc ir --model model.json`")
    })?;
    let schedule =
        if args.model.is_some() { schedule } else { ScheduleOptions { schedule: None, ..schedule } };
    let job = Job::load(what, &schedule, &args.reading, (args.cpu, CodeDestination::Artefact))?;
    let (nest, target) = job.nest(&args.values, terminal)?;
    let gpu = args.gpu.map_or_else(|| gpu_of(&target), Ok)?;
    let compiled = compile(&job.model, nest, &[KernelKind::Raw, KernelKind::Value, KernelKind::Class])?;
    print(&match args.stage {
        Stage::Hir => show_variants(&compiled.variants, |stages| stages.hir.to_string()),
        Stage::Mir => show_variants(&compiled.variants, |stages| stages.mir.to_string()),
        Stage::Plan => show_variants(&compiled.variants, |stages| stages.plan.to_string()),
        Stage::Lir => compiled.lir.to_string(),
        Stage::Llvm => llvm_text(&compiled.lir, args.cpu, true)?,
        Stage::Asm => asm_text(&compiled.lir, args.cpu)?,
        Stage::Launch => some(launch_text(&compiled.lir))?,
        Stage::Ptx => ptx(&compiled, gpu)?,
        Stage::Sass => sass_text(&ptx(&compiled, gpu)?, gpu)?,
    })
}

/// The kernels of a GPU schedule.
fn ptx(compiled: &Compiled, gpu: Gpu) -> Result<String, Failure> {
    some(launch_text(&compiled.lir))?;
    Ok(ptx_text(&compiled.lir, gpu)?)
}

/// What there is of launches; an error if there is none.
fn some(launches: String) -> Result<String, Failure> {
    if !launches.is_empty() {
        return Ok(launches);
    }
    Err(Failure::usage(
        "the schedule has no kernels for GPUs",
        "map loops with gpuDimension, as examples/gpu/direct.sched does",
    ))
}
