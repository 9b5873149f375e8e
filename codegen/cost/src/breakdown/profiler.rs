//! The profiler of a pass: attributes cycles to origins if a breakdown is requested.

use super::attribution::Attribution;
use crate::machine::Machine;
use crate::memory::{MemoryOperand, Residency};
use crate::work::{Resource, Work};
use sched_ir::lir::{Origins, Value};

/// Attributes the cycles of a pass to the origins of the values; does nothing while it is off.
pub struct Profiler<'a> {
    origins: &'a Origins,
    /// The costs of the innermost open loop's iteration; `None` while it is off.
    attribution: Option<Attribution>,
}

/// The attribution from before an iteration or a pause, to be continued after it.
pub struct SavedAttribution(Option<Attribution>);

impl<'a> Profiler<'a> {
    /// A profiler of a function with these origins.
    pub fn new(origins: &'a Origins, is_on: bool) -> Profiler<'a> {
        Profiler { origins, attribution: is_on.then(Attribution::default) }
    }

    /// Whether costs are attributed.
    pub fn is_on(&self) -> bool {
        self.attribution.is_some()
    }

    /// Notes the piece of code that defines `value`: its work, and the cycles by which it makes its iteration
    /// longer.
    pub fn note(&mut self, value: Value, work: &Work, added_cycles: f64) {
        let origin = self.origins.number(value);
        if let Some(attribution) = &mut self.attribution {
            attribution.note(origin, work, added_cycles);
        }
    }

    /// Notes an access of the piece of code that the next call of [`Profiler::note`] notes.
    pub fn note_access(&mut self, operand: &MemoryOperand, residency: &Residency, machine: &Machine) {
        let origin = self.origins.number(operand.site.value);
        if let Some(attribution) = &mut self.attribution {
            attribution.note_access(origin, operand.site.store.is_none(), residency, machine);
        }
    }

    /// Begins an iteration with an empty attribution, and returns the previous one.
    pub fn begin_iteration(&mut self) -> SavedAttribution {
        SavedAttribution(self.attribution.as_mut().map(std::mem::take))
    }

    /// Ends an iteration, continues with the attribution `outside` it, and returns the iteration's own.
    pub fn end_iteration(&mut self, outside: SavedAttribution) -> Option<Attribution> {
        std::mem::replace(&mut self.attribution, outside.0)
    }

    /// Turns the profiler off.
    pub fn pause(&mut self) -> SavedAttribution {
        SavedAttribution(self.attribution.take())
    }

    /// Continues with the attribution before the pause.
    pub fn resume(&mut self, before: SavedAttribution) {
        self.attribution = before.0;
    }

    /// Adds the cost of a loop that took `elapsed` cycles; see [`Attribution::distribute`].
    pub fn add_loop(
        &mut self,
        mut inside: Attribution,
        elapsed: f64,
        resource: Option<Resource>,
        issue: f64,
    ) {
        let Some(all) = &mut self.attribution else { return };
        inside.distribute(elapsed, resource, issue);
        all.merge(&inside, 1.0);
    }

    /// The attribution of all simulated code.
    pub fn into_attribution(self) -> Option<Attribution> {
        self.attribution
    }
}
