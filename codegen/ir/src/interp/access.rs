//! Accesses to memory, and the reports of invalid ones.

use super::conflict::Concurrent;
use super::memory::{Trap, byte};
use super::{Access, InterpreterError, Machine, Race, fault};
use crate::lir::{Address, BufferId, Stmt, Value};

impl<'f> Machine<'f, '_> {
    /// First byte of an access. The type is wider than an index, since the address may overflow one.
    #[inline]
    pub(super) fn start(&self, at: &Address) -> i128 {
        byte(self.int(at.index).into(), at.stride, at.offset)
    }

    #[inline]
    pub(super) fn store(
        &mut self,
        stmt: &'f Stmt,
        to: &Address,
        value: Value,
    ) -> Result<(), InterpreterError> {
        let ty = self.function.ty(value);
        let (from, start) = (self.at(value), self.start(to));
        self.count_access((stmt, 0), to.buffer, start, ty.bytes());
        let lanes = &self.lanes[from..from + usize::from(ty.lanes)];
        self.regions[to.buffer.0 as usize]
            .store(&self.tasks, start, ty, lanes)
            .map_err(|trap| self.fault(stmt, to.buffer, trap))
    }

    pub(super) fn atomic_add(
        &mut self,
        stmt: &'f Stmt,
        to: &Address,
        value: Value,
    ) -> Result<(), InterpreterError> {
        let scalar = self.function.ty(value).scalar;
        let (start, lane) = (self.start(to), self.lane(value));
        self.count_access((stmt, 0), to.buffer, start, scalar.bytes());
        self.regions[to.buffer.0 as usize]
            .atomic_add(&self.tasks, start, scalar, lane)
            .map_err(|trap| self.fault(stmt, to.buffer, trap))
    }

    /// Counts an access of a thread, or of a vector's lane with its own address, to memory that it
    /// shares with other threads.
    #[inline]
    pub(super) fn count_access(
        &mut self,
        access: (&'f Stmt, u16),
        buffer: BufferId,
        start: i128,
        bytes: u32,
    ) {
        let own = self.regions[buffer.0 as usize].is_of_thread();
        if let Some(warps) = self.warps.as_mut().filter(|_| self.tasks.in_launch() && !own) {
            warps.access(access, buffer, start, bytes);
        }
    }

    /// Converts a trap to a fault, with the names of buffer and statement.
    #[cold]
    pub(super) fn fault(&self, stmt: &Stmt, buffer: BufferId, trap: Trap<'_>) -> InterpreterError {
        let access = |bytes| Access {
            buffer: self.function.buffer(buffer).name.clone(),
            size: self.regions[buffer.0 as usize].size(),
            bytes,
            statement: fault::text(self.function, stmt),
        };
        match trap {
            Trap::OutOfBounds(bytes) => InterpreterError::OutOfBounds(Box::new(access(bytes))),
            Trap::ReadOnly(bytes) => InterpreterError::ReadOnly(Box::new(access(bytes))),
            Trap::Uninitialised(bytes) => InterpreterError::Uninitialised(Box::new(access(bytes))),
            Trap::Race(bytes, touch, conflict) => InterpreterError::Race(Box::new(Race {
                access: access(bytes),
                touch,
                iteration: conflict.iteration,
                other_touch: conflict.other_touch,
                other_iteration: conflict.other_iteration,
                threads: match conflict.loop_or_launch {
                    Concurrent::Parallel(_) => None,
                    Concurrent::Launch(launch) => Some(launch.threads()),
                },
                parallel: fault::text(self.function, &conflict.loop_or_launch.head()),
            })),
        }
    }
}
