//! The cost model: cycles of a call, estimated from LIR without running it.
//!
//! [`cost`] passes over the code of a kernel as a core would run it. Numbers of iterations and addresses
//! follow from the number of rows and the model's tables. One iteration of a loop therefore represents all
//! iterations like it. Each operation occupies a unit of the core for as long as the [`Machine`] says, and
//! its result is available after a latency. The time of a loop follows from its busiest resource and from the
//! latency of values that its iterations pass on. Loads beyond the first-level cache take longer (`memory`).
//! [`breakdown()`] attributes the cycles to the loops of the nest.
//!
//! Addresses of the threads of a warp depend on data, so calls on GPUs are estimated in another way.
//! [`cost_on`] reads the nest and counts the work of a block from the shape of the trees.
//!
//! Estimates are for the comparison of schedules. They ignore other programs on the machine, and assume that
//! rows go left and right equally often.

mod breakdown;
mod call;
mod code;
mod describe;
mod estimate;
mod fetch;
mod gpu;
mod machine;
mod memory;
mod operation;
mod probe;
mod shape;
mod value;
mod work;

pub use breakdown::{Breakdown, Limit, OriginCycles};
pub use call::{Cost, KernelCall};
pub use code::fits_code_cache;
pub use gpu::{FittedFigures, GpuCost, GpuMachine, cost_on};
pub use machine::{Charge, Machine, MemoryLevel};
pub use operation::{Amount, InstructionKind};
pub use probe::{
    LEAST_PROBE_ROWS, Probe, STREAM_LINES, WINDOW_STEPS, chase_probe, probes, scatter_probe, stream_probe,
    window_probe,
};
pub use sched_machines::Level;
pub use shape::{ExpectedSteps, ModelShape};
pub use work::{CoreUnit, Work};

use breakdown::Attribution;
use estimate::{Estimator, PreparedKernel};
use sched_ir::lir::{KernelKind, Module};

/// The cost of a call of the kernel from rows to margins. `None` if there is no such kernel.
pub fn cost(module: &Module, machine: &Machine, call: KernelCall<'_>) -> Option<Cost> {
    Some(MarginsKernel::new(module, machine)?.cost(call))
}

/// The cost of a call of the kernel from rows to margins, by loops. `None` if there is no such kernel.
pub fn breakdown(module: &Module, machine: &Machine, call: KernelCall<'_>) -> Option<Breakdown> {
    let kernel = MarginsKernel::new(module, machine)?.0;
    let (cost, attribution) = estimate(&kernel, call, true);
    Some(Breakdown::new(cost, &attribution, &kernel.function().origins))
}

/// The kernel from rows to margins, prepared for estimates of calls of several sizes.
pub struct MarginsKernel<'a>(PreparedKernel<'a>);

impl<'a> MarginsKernel<'a> {
    /// Prepares the kernel of a module. `None` if it has none.
    pub fn new(module: &'a Module, machine: &'a Machine) -> Option<MarginsKernel<'a>> {
        let (_, function) = module.kernels.iter().find(|(kind, _)| *kind == KernelKind::RAW)?;
        Some(MarginsKernel(PreparedKernel::new(module, function, machine)))
    }

    /// The cost of a call.
    pub fn cost(&self, call: KernelCall<'_>) -> Cost {
        estimate(&self.0, call, false).0
    }
}

/// The cost of a call of a function, and the attribution of its cycles, which is empty unless `is_profiled`.
fn estimate(kernel: &PreparedKernel<'_>, call: KernelCall<'_>, is_profiled: bool) -> (Cost, Attribution) {
    let (body, machine) = (&kernel.function().body, kernel.machine());
    let mut first = Estimator::new(kernel, call);
    first.block(body);
    let mut estimator = first.into_second_pass(is_profiled);
    let work = estimator.block(body);
    let (bound, latest) = (work.bound(machine.issue), estimator.latest());
    let elapsed = latest.max(bound);
    let mut attribution = estimator.into_profiler().into_attribution().unwrap_or_default();
    if is_profiled {
        let resource = (bound > latest).then(|| work.bottleneck(machine.issue));
        attribution.distribute(elapsed, resource, machine.issue);
        attribution.note_call(machine.call);
    }
    (Cost { cycles: elapsed + machine.call, work }, attribution)
}
