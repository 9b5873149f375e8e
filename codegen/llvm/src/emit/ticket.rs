//! Tickets of blocks.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel, Ticket};
use std::rc::Rc;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits a ticket: the first thread of the block adds 1 to the counter, and passes the old value through
    /// shared memory.
    pub(super) fn ticket(&mut self, ticket: &Ticket) -> Result<(), LlvmError> {
        let device = Rc::clone(self.device()?);
        let shared = self.operands.frame.buffer(ticket.shared)?;
        device.barrier(self.ir())?;
        let is_first = self.is_first_thread()?;
        let (first, all) = (self.new_block("first"), self.new_block("taken"));
        self.ir().builder.build_conditional_branch(is_first, first, all)?;
        self.ir().builder.position_at_end(first);
        let old = self.memory.count_up(&self.operands, &ticket.counter)?;
        self.ir().builder.build_store(shared, old)?;
        self.ir().builder.build_unconditional_branch(all)?;
        self.ir().builder.position_at_end(all);
        device.barrier(self.ir())?;
        let number = self.ir().builder.build_load(self.ir().context.i32_type(), shared, "ticket")?;
        self.operands.frame.define(ticket.number, number)
    }

    /// Whether the thread is the first one of its block.
    fn is_first_thread(&self) -> Result<IntValue<'ctx>, LlvmError> {
        let zero = self.ir().context.i32_type().const_zero();
        let mut any = zero;
        for axis in [GpuAxis::X, GpuAxis::Y, GpuAxis::Z] {
            let id = self.device()?.id(self.ir(), GpuDimension { level: GpuLevel::Block, axis })?;
            let BasicValueEnum::IntValue(id) = id else {
                return Err(LlvmError::ill_formed("the number of a thread is no integer"));
            };
            any = self.ir().builder.build_or(any, id, "")?;
        }
        Ok(self.ir().builder.build_int_compare(IntPredicate::EQ, any, zero, "")?)
    }
}
