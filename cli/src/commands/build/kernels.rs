//! Writes the kernels of a GPU schedule without the host's code.

use super::files::write;
use crate::args::{Build, Emit};
use crate::terminal::Terminal;
use sched_ir::lir::Module;
use sched_llvm::{DeviceCode, Gpu, Ptxas, code_object, ptx_text};
use sched_machines::Maker;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::Job;
use schedc_driver::compile::{compile, gpu_of, runs_on_device};
use schedc_driver::machines;
use schedc_driver::outputs::KERNELS;
use std::path::Path;

/// Compiles the kernels of a schedule and writes them.
pub fn run(args: &Build, mut job: Job, out: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let cpu = args.cpu.first().copied().unwrap_or_default();
    if let Some(rows) = args.row_type {
        let [rows] = job.model.row_types(rows.into())[..] else {
            let message = "kernels without host code serve one type of rows";
            return Err(Failure::usage(
                message,
                "build once with --row-type f32 and once with --row-type f64",
            ));
        };
        job.set_row_type(rows, args.schedule.values.target.as_ref(), (cpu, CodeDestination::Artefact));
    }
    if args.explain_schedule {
        terminal.say(job.source.text.trim_end());
    }
    let (nest, target) = job.nest(&args.schedule.values, terminal)?;
    let compiled = compile(&job.model, nest, &KERNELS, &machines::of(cpu))?;
    if !runs_on_device(&compiled) {
        return Err(Failure::usage(
            "the schedule has no kernels for GPUs",
            "map loops with gpuDimension, or let schedc choose a schedule with --target gpu",
        ));
    }
    let gpu = match args.emit {
        Emit::Hsaco if target.options.is_empty() => Gpu::default_of(Maker::Amd),
        _ => gpu_of(&target)?,
    };
    let (bytes, kernels) = match args.emit {
        Emit::Hsaco => {
            let code = code_object(&compiled.lir, gpu)?;
            (code.bytes, texts(&code.kernels))
        }
        Emit::Cubin => {
            let ptxas = Ptxas::require()?;
            let mut code = DeviceCode::compile(&compiled.lir, gpu)?;
            code.assemble(&ptxas, gpu)?;
            (code.cubin().unwrap_or_default().to_vec(), texts(code.kernels()))
        }
        _ => (ptx_text(&compiled.lir, gpu)?.into_bytes(), Vec::new()),
    };
    if args.verbose {
        kernels.iter().for_each(|kernel| terminal.say(kernel));
    }
    write(&[(out, &bytes)], terminal)
}

fn texts(kernels: &[impl ToString]) -> Vec<String> {
    kernels.iter().map(ToString::to_string).collect()
}

/// Prints the resources of an artefact's kernels on a GPU, and the transfer of rows to it.
pub fn report(module: &Module, launches: Option<&DeviceCode>, terminal: &Terminal) {
    let Some(code) = launches else { return terminal.say("no kernels for GPUs") };
    if let Some(transfer) = module.transfer {
        terminal.say(&transfer.to_string());
    }
    if code.cubin().is_none() {
        terminal.say(
            "NVIDIA's assembler `ptxas` is not installed: registers and memory of the kernels are unknown",
        );
    }
    texts(code.kernels()).iter().for_each(|kernel| terminal.say(kernel));
}
