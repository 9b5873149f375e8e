//! The code of a GPU: launches, and loops whose iterations are blocks or threads.

use super::elements::launch_over;
use super::kernel_builder::KernelBuilder;
use super::row_source::RowCopy;
use super::scope::{InScope, WindowRows};
use super::sum_target::{PrivateBuffer, SumTarget};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Cmp, GpuAxis, GpuDimension, GpuLevel, Space, Ty, Value};
use crate::mir::{CacheRows, Iter, Launch, Loop, Mapping, PrivateId, Stmt};
use crate::quantize::encode::SharedBlock;
use crate::rows::{Places, Team};

/// Bytes that all banks of shared memory deliver at once: a feature's values begin at a multiple of it.
const LINE: u32 = 128;

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

    /// What only the first block or thread of some directions does.
    pub(super) fn first(&mut self, dimensions: &[GpuDimension], body: &[Stmt]) {
        let zero = self.b.int(0);
        let mut first = self.b.int_of(Ty::I1, 1);
        for dimension in dimensions {
            let id = self.b.id(*dimension);
            let is_zero = self.b.cmp(Cmp::Eq, id, zero);
            first =
                if self.b.as_int(first).is_some() { is_zero } else { self.b.bin(Bin::And, first, is_zero) };
        }
        self.when(first, |k| k.block(body));
    }

    /// Sets `count` sums of a private buffer to zero.
    pub(super) fn clear_on_device(&mut self, id: PrivateId, private: &PrivateBuffer, count: Value) {
        let element = self.ports.accumulator;
        let zero = self.b.float(Ty::of(element), 0.0);
        let buffer = private.buffer;
        launch_over(self, &format!("clear{}", id.0), count, |k, index| {
            k.b.store(Address::element(buffer, index, element), zero);
        });
    }

    /// Adds `slots` slots into a target from its element `first` on, in their order: a sum for each thread.
    pub(super) fn fold_on_device(
        &mut self,
        id: PrivateId,
        private: &PrivateBuffer,
        into: &SumTarget,
        (slots, first): (Value, Value),
    ) {
        let element = self.ports.accumulator;
        let PrivateBuffer { buffer, slot_size, .. } = *private;
        launch_over(self, &format!("fold{}", id.0), slot_size, |k, index| {
            let target = k.b.add(first, index);
            let zero = k.b.int(0);
            k.for_loop((zero, slots, 1), &[], |k, slot, _| {
                let before = k.b.mul(slot, slot_size);
                let source = k.b.add(before, index);
                let part = k.b.load(Ty::of(element), Address::element(buffer, source, element));
                into.add(&mut k.b, target, part);
                Vec::new()
            });
        });
    }

    /// A copy of `most` rows at most in memory that a block shares, feature by feature: threads that walk
    /// neighbouring rows read neighbouring elements, whatever features their nodes test.
    pub(super) fn share_rows(&mut self, cache: &CacheRows, threads: [u32; 3], most: i64) {
        let rows = self.scope.window(&mut self.b, &cache.window);
        let quantizer = self.ports.quantizer().filter(|_| cache.quantized);
        let (name, element, columns) = match &quantizer {
            Some(quantizer) => ("shared_bins", quantizer.bins.element(), i64::from(quantizer.bins.columns())),
            None => ("shared_rows", self.ports.input, self.ports.features()),
        };
        let line = i64::from(LINE / element.bytes());
        let held = (most + line - 1) / line * line + i64::from(seeded(Fault::BankSwapped));
        let bytes = self.b.int(held * columns * i64::from(element.bytes()));
        let spread = self.ports.lowering.plan.copies.get(&cache.id).is_some_and(|plan| plan.spread);
        let places = if spread { Places::spread(element) } else { Places::IN_ORDER };
        self.alloc_in(Space::Shared, name, element, bytes, |k, buffer| {
            let thread = k.thread(threads);
            let count = threads.iter().map(|extent| i64::from(*extent)).product();
            let team = Team { thread, count };
            match quantizer {
                Some(quantizer) => {
                    let WindowRows { first, count } = rows;
                    let block = SharedBlock { copy: buffer, first, count, most, held, places };
                    quantizer.together(&mut k.b, block, team);
                }
                None => k.copy_together(buffer, &rows, held, team),
            }
            if !seeded(Fault::BarrierDropped) {
                k.b.barrier();
            }
            let blocks = u32::try_from(held).ok();
            let first_row = rows.first;
            let copy = RowCopy { buffer, first_row, blocks, element, columns, single_block: true, places };
            k.scope.copies.insert(cache.id, copy);
            k.block(&cache.body);
            k.scope.copies.remove(&cache.id);
            // The next copy may be made where this one lies.
            k.b.barrier();
        });
    }

    /// Copies value after value of the input, so that what threads read together lies together.
    fn copy_together(&mut self, buffer: BufferId, rows: &WindowRows, held: i64, team: Team) {
        let (element, columns, input) = (self.ports.input, self.ports.features(), self.ports.rows);
        let mut all = self.b.mul_int(rows.count, columns);
        if seeded(Fault::CopyStopsShort) {
            all = self.b.add_int(all, -1);
        }
        let from = self.b.mul_int(rows.first, columns);
        self.for_loop((team.thread, all, team.count), &[], |k, number, _| {
            let source = k.b.add(from, number);
            let value = k.b.load(Ty::of(element), Address::element(input, source, element));
            let per_row = k.b.int(columns);
            let row = k.b.bin(Bin::IDiv, number, per_row);
            let before = k.b.mul(row, per_row);
            let feature = k.b.sub(number, before);
            let place = k.b.mul_int(feature, held);
            let place = k.b.add(place, row);
            k.b.store(Address::element(buffer, place, element), value);
            Vec::new()
        });
    }

    /// The number of the thread in its block, x first.
    fn thread(&mut self, threads: [u32; 3]) -> Value {
        let mut number = self.b.int(0);
        for (axis, extent) in [GpuAxis::Z, GpuAxis::Y, GpuAxis::X].into_iter().zip(threads.into_iter().rev())
        {
            number = self.b.mul_int(number, extent.into());
            if extent > 1 {
                let id = self.b.id(GpuDimension { level: GpuLevel::Block, axis });
                number = self.b.add(number, id);
            }
        }
        number
    }
}
