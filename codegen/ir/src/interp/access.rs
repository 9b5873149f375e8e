//! Accesses to memory, and the reports of invalid ones.

use super::conflict::Concurrent;
use super::memory::{Trap, byte_offset};
use super::{Interpreter, InterpreterError, InvalidAccess, Race, error};
use crate::lir::{Address, BufferId, Stmt, Value};

impl<'f> Interpreter<'f, '_> {
    /// First byte of an access. The type is wider than an index, since the address may overflow one.
    #[inline]
    pub(super) fn start_byte(&self, at: &Address) -> i128 {
        byte_offset(self.int(at.index).into(), at.stride, at.offset)
    }

    #[inline]
    pub(super) fn store(
        &mut self,
        stmt: &'f Stmt,
        to: &Address,
        value: Value,
    ) -> Result<(), InterpreterError> {
        let ty = self.function.ty(value);
        let (from, start) = (self.at(value), self.start_byte(to));
        self.count_access((stmt, 0), to.buffer, start, ty.bytes());
        let lanes = &self.lanes[from..from + usize::from(ty.lanes)];
        self.regions[to.buffer.0 as usize]
            .store(&self.tasks, start, ty, lanes)
            .map_err(|trap| self.trap_error(stmt, to.buffer, trap))
    }

    pub(super) fn atomic_add(
        &mut self,
        stmt: &'f Stmt,
        to: &Address,
        value: Value,
    ) -> Result<(), InterpreterError> {
        let scalar = self.function.ty(value).scalar;
        let (start, lane) = (self.start_byte(to), self.lane(value));
        self.count_access((stmt, 0), to.buffer, start, scalar.bytes());
        self.regions[to.buffer.0 as usize]
            .atomic_add(&self.tasks, start, scalar, lane)
            .map_err(|trap| self.trap_error(stmt, to.buffer, trap))
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
        if let Some(counter) = self.access_counter.as_mut().filter(|_| self.tasks.in_launch() && !own) {
            counter.access(access, buffer, start, bytes);
        }
    }

    /// Converts a trap to an error, with the names of buffer and statement.
    #[cold]
    pub(super) fn trap_error(&self, stmt: &Stmt, buffer: BufferId, trap: Trap<'_>) -> InterpreterError {
        let access = |bytes| InvalidAccess {
            buffer: self.function.buffer(buffer).name.clone(),
            size: self.regions[buffer.0 as usize].size(),
            bytes,
            statement: error::statement_text(self.function, stmt),
        };
        match trap {
            Trap::OutOfBounds(bytes) => InterpreterError::OutOfBounds(Box::new(access(bytes))),
            Trap::ReadOnly(bytes) => InterpreterError::ReadOnly(Box::new(access(bytes))),
            Trap::Uninitialised(bytes) => InterpreterError::Uninitialised(Box::new(access(bytes))),
            Trap::Race(bytes, kind, conflict) => InterpreterError::Race(Box::new(Race {
                access: access(bytes),
                kind,
                iteration: conflict.iteration,
                other_kind: conflict.other_kind,
                other_iteration: conflict.other_iteration,
                threads: match conflict.loop_or_launch {
                    Concurrent::Parallel(_) => None,
                    Concurrent::Launch(launch) => Some(launch.threads()),
                },
                parallel: error::statement_text(self.function, &conflict.loop_or_launch.head()),
            })),
        }
    }
}
