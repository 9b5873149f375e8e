//! What code costs: cycles of a call, read off LIR without running it.
//!
//! [`cost`] reads a kernel as a core would run it. Numbers of iterations and addresses follow from the number of rows and
//! from the model's tables, so loops are not run: one iteration stands for those that are like it. Each operation keeps parts
//! of the core busy for as long as the [`Machine`] says, and its result is there after a latency. A loop takes as long as its
//! busiest part, or as what one iteration waits for, as far as that does not hide behind other iterations. Loads cost more
//! where what they read does not stay in the first cache (`memory.rs`).
//!
//! Code for GPUs cannot be read so: addresses of the threads of a warp matter, which data decides. [`cost_on`] runs a few of its
//! blocks in the simulator.
//!
//! The figures serve to compare schedules. They know nothing of neighbours on the machine, and the rows that they have in mind
//! go left and right equally often.

mod breakdown;
mod code;
mod describe;
mod facts;
mod fetch;
mod flight;
mod folded;
mod gpu;
mod loops;
mod machine;
mod memory;
mod operation;
mod probe;
mod read;
mod value;
mod work;

pub use breakdown::{Breakdown, Limit, Piece, breakdown};
pub use code::fits_code_cache;
pub use facts::{Facts, Steps};
pub use gpu::{GpuCall, GpuCost, GpuMachine, LaunchLimit, LaunchTime, cost_on};
pub use machine::{Cache, Charge, Machine};
pub use operation::{Amount, Kind};
pub use probe::{PLACES, Probe, SIDE_BY_SIDE, WINDOW_STEPS, chase, probes, scatter, stream, window};
pub use sched_machines::Level;
pub use work::{Part, Work};

use breakdown::Told;
use read::Reader;
use sched_ir::lir::{KernelKind, Module, Origins};

/// A call whose cost is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Rows.
    pub rows: usize,
    /// Threads that it may use.
    pub threads: usize,
    /// Whether its rows are handed as columns.
    pub columns: bool,
    /// What is known of the model.
    pub facts: &'a Facts,
}

/// What a call costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles from its beginning to its end.
    pub cycles: f64,
    /// What keeps the core busy.
    pub work: Work,
}

/// What a call of the kernel from rows to margins costs. None if there is no such kernel.
pub fn cost(module: &Module, machine: &Machine, call: Call<'_>) -> Option<Cost> {
    let (cost, _) = whole(module, machine, call, None)?;
    Some(cost)
}

/// The same, and which loops take it, if that is asked for.
fn whole<'m>(
    module: &'m Module,
    machine: &Machine,
    call: Call<'_>,
    told: Option<&mut Told>,
) -> Option<(Cost, &'m Origins)> {
    let (_, function) = module.kernels.iter().find(|(kind, _)| *kind == KernelKind::Raw)?;
    let mut reader = Reader::new(module, function, machine, call);
    reader.accesses = Some(Vec::new());
    reader.block(&function.body);
    let accesses = reader.accesses.take().unwrap_or_default();
    let served = memory::served(&accesses, function, &reader.sizes, machine);
    let mut reader = Reader { served, ..Reader::new(module, function, machine, call) };
    reader.told = told.as_ref().map(|_| Told::default());
    let work = reader.block(&function.body);
    let bound = work.bound(machine.issue);
    let elapsed = reader.latest.max(bound);
    if let (Some(all), Some(mut found)) = (told, reader.told.take()) {
        let limit = (bound > reader.latest).then(|| work.busiest(machine.issue));
        found.settle(elapsed, limit, machine.issue);
        found.note_call(machine.call);
        *all = found;
    }
    Some((Cost { cycles: elapsed + machine.call, work }, &function.origins))
}
