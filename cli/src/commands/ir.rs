//! `schedc ir`: prints the stages of the compiler as text.

mod serve;

use super::{load_job, print};
use crate::args::{Ir, ScheduleOptions, Stage};
use crate::terminal::Terminal;
use sched_ir::Compiled;
use sched_ir::lir::{KernelKind, Module};
use sched_lang::Target;
use sched_llvm::{Gpu, amdgpu_text, asm_text, launch_text, llvm_text, marked_asm_text, ptx_text, sass_text};
use sched_machines::Maker;
use sched_nest::show::show_variants;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::compile::{compile, runs_on_device};
use schedc_driver::machines;

/// Runs the command.
pub fn run(args: &Ir, terminal: &Terminal) -> Result<(), Failure> {
    if let (true, Some(model)) = (args.serve, &args.model) {
        return serve::serve(args, model);
    }
    let schedule = ScheduleOptions { schedule: args.schedule.clone(), values: args.values.clone() };
    let what = args.model.as_ref().or(args.schedule.as_ref()).ok_or_else(|| {
        Failure::usage("neither a schedule nor a model is named", "try `schedc ir --model model.json`")
    })?;
    let schedule =
        if args.model.is_some() { schedule } else { ScheduleOptions { schedule: None, ..schedule } };
    let place = (args.cpu, CodeDestination::Artefact);
    let mut job = load_job(what, &schedule, &args.reading, place)?;
    if let Some(rows) = args.rows {
        job.read_rows(rows.into(), args.values.target.as_ref(), place);
    }
    let (nest, target) = job.nest(&args.values, terminal)?;
    let compiled = compile(
        &job.model,
        nest,
        &[KernelKind::Raw, KernelKind::Value, KernelKind::Class],
        &machines::of(args.cpu),
    )?;
    print(&stage_text(args, args.stage, &compiled, &target)?)
}

/// A stage as text.
fn stage_text(args: &Ir, stage: Stage, compiled: &Compiled, target: &Target) -> Result<String, Failure> {
    let named = target.options.first().filter(|_| target.is_gpu());
    let gpu = |default: Gpu| match (args.gpu, named) {
        (Some(gpu), _) => Ok(gpu),
        (None, Some(name)) => name.parse(),
        (None, None) => Ok(default),
    };
    Ok(match stage {
        Stage::Hir => show_variants(&compiled.variants, |stages| stages.hir.to_string()),
        Stage::Mir => show_variants(&compiled.variants, |stages| stages.mir.to_string()),
        Stage::Plan => show_variants(&compiled.variants, |stages| stages.plan.to_string()),
        Stage::Lir => compiled.lir.to_string(),
        Stage::Llvm => llvm_text(&compiled.lir, args.cpu, true)?,
        // Editors show the source lines beside the instructions, so the text marks them.
        Stage::Asm if args.serve => marked_asm_text(&compiled.lir, args.cpu)?,
        Stage::Asm => asm_text(&compiled.lir, args.cpu)?,
        Stage::Launch => launch_text(with_launches(compiled)?),
        Stage::Ptx => ptx_text(with_launches(compiled)?, gpu(Gpu::default())?)?,
        Stage::Sass => {
            sass_text(&ptx_text(with_launches(compiled)?, gpu(Gpu::default())?)?, gpu(Gpu::default())?)?
        }
        Stage::Gcn => amdgpu_text(with_launches(compiled)?, gpu(Gpu::usual(Maker::Amd))?)?,
    })
}

/// The module of a GPU schedule; fails if the schedule has no launches.
fn with_launches(compiled: &Compiled) -> Result<&Module, Failure> {
    if runs_on_device(compiled) {
        return Ok(&compiled.lir);
    }
    Err(Failure::usage(
        "the schedule has no kernels for GPUs",
        "map loops with gpuDimension, as examples/gpu/direct.sched does",
    ))
}
