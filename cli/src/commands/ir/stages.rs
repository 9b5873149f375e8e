//! Stages of the compiler as text.

use crate::args::{Ir, Stage};
use sched_ir::Compiled;
use sched_ir::lir::Module;
use sched_lang::Target;
use sched_llvm::{Gpu, amdgpu_text, asm_text, launch_text, llvm_text, marked_asm_text, ptx_text, sass_text};
use sched_machines::Maker;
use sched_nest::show::show_variants;
use schedc_driver::Failure;
use schedc_driver::compile::runs_on_device;

/// A stage as text. Fails if the schedule lacks the stage, or a tool of the stage fails.
pub fn stage_text(args: &Ir, stage: Stage, compiled: &Compiled, target: &Target) -> Result<String, Failure> {
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
        // For editors, the text marks the source line of each instruction.
        Stage::Asm if args.serve => marked_asm_text(&compiled.lir, args.cpu)?,
        Stage::Asm => asm_text(&compiled.lir, args.cpu)?,
        Stage::Launch => launch_text(with_launches(compiled)?),
        Stage::Ptx => ptx_text(with_launches(compiled)?, gpu(Gpu::default())?)?,
        Stage::Sass => {
            sass_text(&ptx_text(with_launches(compiled)?, gpu(Gpu::default())?)?, gpu(Gpu::default())?)?
        }
        Stage::Gcn => amdgpu_text(with_launches(compiled)?, gpu(Gpu::default_of(Maker::Amd))?)?,
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
