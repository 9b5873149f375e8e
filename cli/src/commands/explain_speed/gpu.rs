//! The speed of a schedule for a GPU, as the cost model predicts it.

use super::report::{FORMAT, count};
use crate::args::ExplainSpeed;
use crate::stdout::print;
use sched_ir::Compiled;
use sched_lang::Target;
use schedc_driver::choice::gpu::Pricer;
use schedc_driver::{Failure, Job};
use serde::Serialize;

/// Prints the predicted time of a call's kernels.
pub fn explain(
    args: &ExplainSpeed,
    (job, target): (&Job, &Target),
    compiled: &Compiled,
) -> Result<(), Failure> {
    if !args.only_static {
        let help =
            "add --static for the time that the cost model predicts; `schedc bench` times the schedule";
        return Err(Failure::usage("explain-speed does not time schedules for GPUs", help));
    }
    if args.threads != 1 {
        return Err(Failure::usage(
            "--threads has no effect on kernels, whose time --static predicts for a GPU",
            "leave out --threads; `schedc bench --threads` times whole calls on a machine with the GPU",
        ));
    }
    let nest = &compiled.variants.rest().hir.nest;
    let info = job.model.info();
    let pricer = Pricer::new(&info, target)?;
    let cost = pricer.price(nest, args.batch).ok_or_else(|| {
        Failure::usage("the cost model cannot price this nest", "`schedc bench` times the schedule")
    })?;
    let report = GpuSpeedReport {
        format: FORMAT,
        model: args.model.display().to_string(),
        schedule: job.source.name.clone(),
        gpu: pricer.gpu().kind.name.to_string(),
        batch: args.batch,
        us: cost.us,
    };
    if args.json {
        return print(&(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"));
    }
    print(&report.text())
}

/// Result of the command for a GPU. `docs/speed.md` documents its JSON.
#[derive(Serialize)]
struct GpuSpeedReport {
    /// Version of the JSON: increased if a field is removed or changes its meaning.
    format: u32,
    model: String,
    schedule: String,
    gpu: String,
    batch: u64,
    /// Predicted microseconds of the kernels of a call, whose rows and results are in the GPU's memory.
    us: f64,
}

impl GpuSpeedReport {
    fn text(&self) -> String {
        let us = self.us;
        let ns = us * 1000.0 / self.batch as f64;
        format!(
            "{}, {} a call, {}\npredicted: {us:.1} µs for the kernels of a call, {ns:.2} ns a row\n",
            self.schedule,
            count(self.batch, "row"),
            self.gpu
        )
    }
}
