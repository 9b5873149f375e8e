//! `schedc ir`: prints the stages of the compiler as text.

mod serve;
mod stages;

use super::load_job;
use crate::args::{Ir, ScheduleOptions};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_ir::lir::KernelKind;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::compile::compile;
use schedc_driver::machines;
use stages::stage_text;

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
