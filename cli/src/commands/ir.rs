//! `schedc ir`: prints the stages of the compiler as text.

mod serve;
mod stages;

use super::load_job;
use crate::args::Ir;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_ir::lir::OutputKind;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::compile::compile;
use schedc_driver::machines;
use stages::stage_text;

/// Runs the command.
pub fn run(args: &Ir, terminal: &Terminal) -> Result<(), Failure> {
    let model = args.model.as_ref().ok_or_else(|| {
        Failure::usage("neither a model nor a schedule is named", "try `schedc ir model.json`")
    })?;
    if args.serve {
        return serve::serve(args, model);
    }
    let place = (args.cpu, CodeDestination::Artefact);
    let mut job = load_job(model, &args.schedule, &args.reading, place)?;
    if let Some(rows) = args.row_type {
        job.set_row_type(rows.into(), args.schedule.values.target.as_ref(), place);
    }
    let (nest, target) = job.nest(&args.schedule.values, terminal)?;
    let compiled = compile(
        &job.model,
        nest,
        &[OutputKind::Raw, OutputKind::Value, OutputKind::Class],
        &machines::of(args.cpu),
    )?;
    print(&stage_text(args, args.stage, &compiled, &target)?)
}
