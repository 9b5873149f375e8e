//! The code of a GPU: launches, and loops whose iterations are blocks or threads.

use super::kernel_builder::KernelBuilder;
use super::scope::InScope;
use crate::fault::{Fault, seeded};
use crate::lir::{Build, Cmp, Value};
use crate::mir::{Iter, Launch, Loop, Mapping};

impl KernelBuilder<'_> {
    /// A launch with as many blocks as its longest loops need.
    pub(super) fn device_code(&mut self, launch: &Launch) {
        let grid = launch.grid.each_ref().map(|loops| self.extent(loops));
        self.launch(&launch.name, grid, launch.block, |k| k.block(&launch.body));
    }

    fn extent(&mut self, loops: &[Iter]) -> Value {
        let mut longest = None;
        for iter in loops {
            let trips = self.scope.trip(&mut self.b, iter);
            longest = Some(longest.map_or(trips, |other| self.b.max(other, trips)));
        }
        longest.unwrap_or_else(|| self.b.int(1))
    }

    /// A loop of which each block or thread has one iteration, if it has any.
    pub(super) fn mapped(&mut self, this: &Loop, mapping: Mapping) {
        let iteration = self.b.id(mapping.dimension);
        let offset = self.b.mul_int(iteration, this.iter.step);
        let value = self.b.add_int(offset, this.iter.start);
        let bound = InScope { value, iteration: Some(iteration) };
        let body = |k: &mut Self| k.with_var(this.iter.var, bound, |k| k.block(&this.body));
        if !mapping.guarded || seeded(Fault::GuardDropped) {
            return body(self);
        }
        let stop = self.scope.stop(&mut self.b, &this.iter);
        let exists = self.b.cmp(Cmp::Lt, value, stop);
        self.when(exists, body);
    }
}
