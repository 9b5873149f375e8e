//! Loops and conditionals as blocks with phis.

use super::function::Emitter;
use super::types;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValueEnum, PhiValue};
use sched_ir::lir::{Carried, For, If, Value, While};

impl<'ctx> Emitter<'_, 'ctx> {
    /// A new block at the function's end.
    pub(super) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.ir().context.append_basic_block(self.operands.frame.llvm, name)
    }

    /// A phi of a value's type, without incoming values.
    fn phi(&self, value: Value, name: &str) -> Result<PhiValue<'ctx>, LlvmError> {
        Ok(self.ir().builder.build_phi(types::basic(self.ir().context, self.operands.ty(value)?)?, name)?)
    }

    /// Adds an incoming value to a phi of its type.
    fn incoming(&self, phi: PhiValue<'ctx>, value: Value, from: BasicBlock<'ctx>) -> Result<(), LlvmError> {
        let value = self.operands.frame.value(value)?;
        if value.get_type() != phi.as_basic_value().get_type() {
            return Err(LlvmError::ill_formed("a joined value has two types"));
        }
        phi.add_incoming(&[(&value, from)]);
        Ok(())
    }

    /// Phis for the carried values of a loop, at the start of its first block.
    fn enter_loop(
        &mut self,
        carried: &[Carried],
        before: BasicBlock<'ctx>,
    ) -> Result<Vec<PhiValue<'ctx>>, LlvmError> {
        let mut phis = Vec::with_capacity(carried.len());
        for c in carried {
            let phi = self.phi(c.inside, "")?;
            self.incoming(phi, c.first, before)?;
            self.operands.frame.define(c.inside, phi.as_basic_value())?;
            phis.push(phi);
        }
        Ok(phis)
    }

    /// A counted loop, with a test before the first iteration and one at the end of each.
    pub(super) fn for_loop(&mut self, stmt: &For) -> Result<(), LlvmError> {
        let (lo, hi) = (self.operands.index(stmt.lo)?, self.operands.index(stmt.hi)?);
        let before = self.ir().current_block()?;
        let (body, after) = (self.new_block("for"), self.new_block("for.end"));
        let enter = self.ir().builder.build_int_compare(IntPredicate::SLT, lo, hi, "")?;
        self.ir().builder.build_conditional_branch(enter, body, after)?;

        self.ir().builder.position_at_end(body);
        let iv = self.phi(stmt.iv, "i")?;
        self.incoming(iv, stmt.lo, before)?;
        let counter = iv.as_basic_value();
        self.operands.frame.define(stmt.iv, counter)?;
        let phis = self.enter_loop(&stmt.carried, before)?;
        self.block(&stmt.body)?;

        self.mark_origin(stmt.iv);
        let latch = self.ir().current_block()?;
        let step = lo.get_type().const_int(stmt.step as u64, true);
        let BasicValueEnum::IntValue(counter) = counter else {
            return Err(LlvmError::ill_formed("a loop counter is no integer"));
        };
        // A step of one ends at `hi` at the latest, so it cannot overflow; a longer one could.
        let next = match stmt.step {
            1 => self.ir().builder.build_int_nsw_add(counter, step, "")?,
            _ => self.ir().builder.build_int_add(counter, step, "")?,
        };
        let again = self.ir().builder.build_int_compare(IntPredicate::SLT, next, hi, "")?;
        self.ir().builder.build_conditional_branch(again, body, after)?;
        iv.add_incoming(&[(&next, latch)]);
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.incoming(*phi, c.next, latch)?;
        }

        self.ir().builder.position_at_end(after);
        for c in &stmt.carried {
            let phi = self.phi(c.after, "")?;
            self.incoming(phi, c.first, before)?;
            self.incoming(phi, c.next, latch)?;
            self.operands.frame.define(c.after, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// A loop with a test before each iteration.
    pub(super) fn while_loop(&mut self, stmt: &While) -> Result<(), LlvmError> {
        let before = self.ir().current_block()?;
        let (test, body, after) =
            (self.new_block("while"), self.new_block("while.do"), self.new_block("while.end"));
        self.ir().builder.build_unconditional_branch(test)?;

        self.ir().builder.position_at_end(test);
        let phis = self.enter_loop(&stmt.carried, before)?;
        self.block(&stmt.test)?;
        self.ir().builder.build_conditional_branch(self.operands.condition(stmt.cond)?, body, after)?;

        self.ir().builder.position_at_end(body);
        self.block(&stmt.body)?;
        let latch = self.ir().current_block()?;
        self.ir().builder.build_unconditional_branch(test)?;
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.incoming(*phi, c.next, latch)?;
        }

        self.ir().builder.position_at_end(after);
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.operands.frame.define(c.after, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// A conditional.
    pub(super) fn conditional(&mut self, stmt: &If) -> Result<(), LlvmError> {
        let cond = self.operands.condition(stmt.cond)?;
        let (then, otherwise, after) =
            (self.new_block("then"), self.new_block("else"), self.new_block("if.end"));
        self.ir().builder.build_conditional_branch(cond, then, otherwise)?;
        let mut branch = |start, block| -> Result<BasicBlock<'ctx>, LlvmError> {
            self.ir().builder.position_at_end(start);
            self.block(block)?;
            let end = self.ir().current_block()?;
            self.ir().builder.build_unconditional_branch(after)?;
            Ok(end)
        };
        let then_end = branch(then, &stmt.then)?;
        let otherwise_end = branch(otherwise, &stmt.otherwise)?;

        self.ir().builder.position_at_end(after);
        for j in &stmt.joined {
            let phi = self.phi(j.after, "")?;
            self.incoming(phi, j.then, then_end)?;
            self.incoming(phi, j.otherwise, otherwise_end)?;
            self.operands.frame.define(j.after, phi.as_basic_value())?;
        }
        Ok(())
    }
}
