//! Operations whose lanes access memory separately: masked accesses, gathers and look-ups.

use super::memory::byte_offset;
use super::{Interpreter, InterpreterError, ops};
use crate::lir::{Address, BufferId, Gather, Stmt, Ty, Value};

impl<'f> Interpreter<'f, '_> {
    fn count(&self, value: Value) -> usize {
        self.function.ty(value).lanes.into()
    }

    fn holds(&self, mask: Value, lane: usize) -> bool {
        self.lanes[self.at(mask) + lane] != 0
    }

    /// A load of the active lanes; the others become zero and touch no memory.
    pub(super) fn load_masked(
        &mut self,
        stmt: &'f Stmt,
        value: Value,
        from: &Address,
        mask: Value,
    ) -> Result<(), InterpreterError> {
        let (start, width) = (self.start_byte(from), self.function.ty(value).scalar.bytes());
        for lane in 0..self.count(value) {
            let at = self.holds(mask, lane).then(|| start + lane as i128 * i128::from(width));
            self.load_lane(stmt, (value, lane), from.buffer, at)?;
        }
        Ok(())
    }

    /// A load of each active lane from its own address.
    pub(super) fn gather(
        &mut self,
        stmt: &'f Stmt,
        value: Value,
        gather: &Gather,
    ) -> Result<(), InterpreterError> {
        let (base, index) = (i128::from(self.int(gather.base)), self.at(gather.index));
        for lane in 0..self.count(value) {
            let active = gather.mask.is_none_or(|mask| self.holds(mask, lane));
            let element = base + i128::from(self.lanes[index + lane] as i64);
            let at = active.then(|| byte_offset(element, gather.stride, gather.offset));
            self.load_lane(stmt, (value, lane), gather.buffer, at)?;
        }
        Ok(())
    }

    /// One lane from a byte of a buffer, or zero if the lane is inactive.
    fn load_lane(
        &mut self,
        stmt: &'f Stmt,
        (value, lane): (Value, usize),
        buffer: BufferId,
        at: Option<i128>,
    ) -> Result<(), InterpreterError> {
        let (ty, to) = (self.function.ty(value), self.at(value) + lane);
        let Some(at) = at else {
            self.lanes[to] = 0;
            return Ok(());
        };
        self.count_access((stmt, lane as u16), buffer, at, ty.scalar.bytes());
        self.regions[buffer.0 as usize]
            .load(&self.tasks, at, Ty::of(ty.scalar), &mut self.lanes[to..to + 1])
            .map_err(|trap| self.trap_error(stmt, buffer, trap))
    }

    /// A store of the active lanes.
    pub(super) fn store_masked(
        &mut self,
        stmt: &'f Stmt,
        to: &Address,
        value: Value,
        mask: Value,
    ) -> Result<(), InterpreterError> {
        let (start, ty, from) = (self.start_byte(to), self.function.ty(value), self.at(value));
        for lane in 0..self.count(value) {
            if self.holds(mask, lane) {
                let at = start + lane as i128 * i128::from(ty.scalar.bytes());
                self.count_access((stmt, lane as u16), to.buffer, at, ty.scalar.bytes());
                let lanes = &self.lanes[from + lane..from + lane + 1];
                self.regions[to.buffer.0 as usize]
                    .store(&self.tasks, at, Ty::of(ty.scalar), lanes)
                    .map_err(|trap| self.trap_error(stmt, to.buffer, trap))?;
            }
        }
        Ok(())
    }

    /// Elements of a table by number, modulo its length.
    pub(super) fn lookup(&mut self, value: Value, table: Value, index: Value) {
        let (from, scalar) = (self.function.ty(table), self.function.ty(value).scalar);
        let (to, elements, indices) = (self.at(value), self.at(table), self.at(index));
        for lane in 0..self.count(value) {
            // The length is a power of two, so the mask also handles negative indices.
            let number = self.lanes[indices + lane] & u64::from(from.lanes - 1);
            let element = self.lanes[elements + number as usize];
            self.lanes[to + lane] = ops::widen(from.scalar, scalar, element);
        }
    }
}
