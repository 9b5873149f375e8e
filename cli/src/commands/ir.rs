//! `schedc ir`: the stages of the compiler as text.

use super::{load_job, print};
use crate::args::{Ir, ScheduleOptions, Stage};
use crate::terminal::Terminal;
use sched_ir::Compiled;
use sched_ir::lir::{KernelKind, Module};
use sched_llvm::{Gpu, amdgpu_text, asm_text, launch_text, llvm_text, ptx_text, sass_text};
use sched_nest::show::show_variants;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::compile::{compile, runs_on_device};

/// Runs the command.
pub fn run(args: &Ir, terminal: &Terminal) -> Result<(), Failure> {
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
    let compiled = compile(&job.model, nest, &[KernelKind::Raw, KernelKind::Value, KernelKind::Class])?;
    let named = target.options.first().filter(|_| target.is_gpu());
    let gpu = |default: Gpu| match (args.gpu, named) {
        (Some(gpu), _) => Ok(gpu),
        (None, Some(name)) => name.parse(),
        (None, None) => Ok(default),
    };
    print(&match args.stage {
        Stage::Hir => show_variants(&compiled.variants, |stages| stages.hir.to_string()),
        Stage::Mir => show_variants(&compiled.variants, |stages| stages.mir.to_string()),
        Stage::Plan => show_variants(&compiled.variants, |stages| stages.plan.to_string()),
        Stage::Lir => compiled.lir.to_string(),
        Stage::Llvm => llvm_text(&compiled.lir, args.cpu, true)?,
        Stage::Asm => asm_text(&compiled.lir, args.cpu)?,
        Stage::Launch => launch_text(with_launches(&compiled)?),
        Stage::Ptx => ptx_text(with_launches(&compiled)?, gpu(Gpu::DEFAULT)?)?,
        Stage::Sass => {
            sass_text(&ptx_text(with_launches(&compiled)?, gpu(Gpu::DEFAULT)?)?, gpu(Gpu::DEFAULT)?)?
        }
        Stage::Gcn => amdgpu_text(with_launches(&compiled)?, gpu(Gpu::DEFAULT_AMD)?)?,
    })
}

/// The code of a GPU schedule.
fn with_launches(compiled: &Compiled) -> Result<&Module, Failure> {
    if runs_on_device(compiled) {
        return Ok(&compiled.lir);
    }
    Err(Failure::usage(
        "the schedule has no kernels for GPUs",
        "map loops with gpuDimension, as examples/gpu/direct.sched does",
    ))
}
