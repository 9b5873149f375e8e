//! Code of a GPU: launches, and loops whose iterations are blocks or threads.

use super::kernel_builder::KernelBuilder;
use super::row_source::RowCopy;
use super::scope::{InScope, WindowRows};
use super::shared::most_shared;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Cmp, GpuAxis, GpuDimension, GpuLevel, Space, Ty, Value};
use crate::mir::{CacheRows, Guard, Iter, Launch, Loop, Mapping};
use crate::quantize::encode::SharedBlock;
use crate::rows::{RowPlacement, Team};

/// Bytes that all banks of shared memory deliver at once; a feature's values begin at multiples of it.
const LINE: u32 = 128;
/// Rows per block below which the threads of a warp walk several trees with each row. Then consecutive
/// features of a row should be in different banks.
const FEW_ROWS: i64 = 32;

impl KernelBuilder<'_> {
    /// Emits a launch with as many blocks as its longest loops need.
    pub(super) fn device_code(&mut self, launch: &Launch) {
        let grid = launch.grid.each_ref().map(|loops| self.extent(loops));
        self.launch(&launch.name, grid, launch.block, |k| {
            k.threads = Some(launch.block);
            k.block(&launch.body);
            k.threads = None;
        });
    }

    fn extent(&mut self, loops: &[Iter]) -> Value {
        let mut longest = None;
        for iter in loops {
            let trips = self.scope.trip(&mut self.b, iter);
            longest = Some(longest.map_or(trips, |other| self.b.max(other, trips)));
        }
        longest.unwrap_or_else(|| self.b.int(1))
    }

    /// Emits a loop of which each block or thread has at most one iteration.
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

    /// Emits statements that only some blocks or threads run.
    pub(super) fn guarded(&mut self, guards: &[Guard], body: impl FnOnce(&mut Self)) {
        let mut all = None;
        for guard in guards {
            let holds = match guard {
                Guard::First(dimension) => {
                    let (id, zero) = (self.b.id(*dimension), self.b.int(0));
                    self.b.cmp(Cmp::Eq, id, zero)
                }
                Guard::Exists(iter) => {
                    let value = self.scope.value(&mut self.b, iter.var);
                    let stop = self.scope.stop(&mut self.b, iter);
                    self.b.cmp(Cmp::Lt, value, stop)
                }
            };
            all = Some(all.map_or(holds, |all| self.b.bin(Bin::And, all, holds)));
        }
        match all.filter(|_| !seeded(Fault::GuardDropped)) {
            Some(all) => self.when(all, body),
            None => body(self),
        }
    }

    /// Copies at most `most` rows to shared memory, feature by feature. Threads that walk neighbouring
    /// rows then read different banks, whatever features their nodes test.
    pub(super) fn share_rows(&mut self, cache: &CacheRows, threads: [u32; 3], most: i64) {
        let rows = self.scope.window(&mut self.b, &cache.window);
        let quantizer = self.ports.quantizer().filter(|_| cache.quantized);
        let (name, element, columns) = match &quantizer {
            Some(quantizer) => ("shared_bins", quantizer.bins.element(), i64::from(quantizer.bins.columns())),
            None => ("shared_rows", self.ports.input, self.ports.features()),
        };
        let spread = self.ports.lowering.plan.copies.get(&cache.id).is_some_and(|plan| plan.spread);
        let packed = cache.quantized && !spread;
        let few = most < FEW_ROWS && !packed;
        let line = i64::from(LINE / element.bytes());
        let lines = (most + line - 1) / line * line;
        let held = match few {
            _ if seeded(Fault::BankSwapped) => lines + 1,
            true => most | 1,
            false => lines,
        };
        let bytes = held.saturating_mul(columns).saturating_mul(element.bytes().into());
        let bytes = self.b.int(most_shared(bytes));
        let places = if spread && !few { RowPlacement::spread(element) } else { RowPlacement::IN_ORDER };
        self.alloc_in(Space::Shared, name, element, bytes, |k, buffer| {
            let team = k.team(threads);
            let WindowRows { first, count } = rows;
            let block = SharedBlock { copy: buffer, first, count, most, held, places };
            match (quantizer, k.ports.bins) {
                (Some(_), Some(transfer)) => k.share_bins(transfer, block, team),
                (Some(quantizer), None) => quantizer.quantize_shared(&mut k.b, block, team),
                (None, _) => k.copy_together(buffer, &rows, held, team),
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
            // Later copies may reuse this memory.
            k.b.barrier();
        });
    }

    /// Copies values in the order of the input, so that neighbouring threads read neighbouring values.
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

    /// Threads of a block, numbered in the direction x first.
    pub(super) fn team(&mut self, threads: [u32; 3]) -> Team {
        let mut thread = self.b.int(0);
        for (axis, extent) in [GpuAxis::Z, GpuAxis::Y, GpuAxis::X].into_iter().zip(threads.into_iter().rev())
        {
            thread = self.b.mul_int(thread, extent.into());
            if extent > 1 {
                let id = self.b.id(GpuDimension { level: GpuLevel::Block, axis });
                thread = self.b.add(thread, id);
            }
        }
        Team { thread, count: threads.iter().map(|extent| i64::from(*extent)).product() }
    }
}
