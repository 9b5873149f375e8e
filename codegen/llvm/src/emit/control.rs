//! Loops and choices as blocks with phis.

use super::function::Emitter;
use super::types;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValueEnum, IntValue, PhiValue};
use sched_ir::lir::{Carried, For, If, Ty, Value, While};

impl<'ctx> Emitter<'_, 'ctx> {
    /// A new block at the function's end.
    pub(super) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.frame.llvm, name)
    }

    fn here(&self) -> Result<BasicBlock<'ctx>, LlvmError> {
        self.builder.get_insert_block().ok_or_else(|| LlvmError::ill_formed("code outside a block"))
    }

    /// A phi of a value's type; what comes in is added later.
    fn phi(&self, value: Value, name: &str) -> Result<PhiValue<'ctx>, LlvmError> {
        Ok(self.builder.build_phi(types::basic(self.context, self.ty(value)?)?, name)?)
    }

    /// Adds what comes into a phi, if its type is the phi's.
    fn incoming(&self, phi: PhiValue<'ctx>, value: Value, from: BasicBlock<'ctx>) -> Result<(), LlvmError> {
        let value = self.frame.value(value)?;
        if value.get_type() != phi.as_basic_value().get_type() {
            return Err(LlvmError::ill_formed("a joined value has two types"));
        }
        phi.add_incoming(&[(&value, from)]);
        Ok(())
    }

    fn truth(&self, value: Value) -> Result<IntValue<'ctx>, LlvmError> {
        match (self.ty(value)?, self.frame.value(value)?) {
            (Ty::I1, BasicValueEnum::IntValue(cond)) => Ok(cond),
            (ty, _) => Err(LlvmError::ill_formed(format_args!("a condition is {ty}"))),
        }
    }

    /// Phis for what a loop carries, at the start of its first block.
    fn enter_loop(
        &mut self,
        carried: &[Carried],
        before: BasicBlock<'ctx>,
    ) -> Result<Vec<PhiValue<'ctx>>, LlvmError> {
        let mut phis = Vec::with_capacity(carried.len());
        for c in carried {
            let phi = self.phi(c.inside, "")?;
            self.incoming(phi, c.first, before)?;
            self.frame.define(c.inside, phi.as_basic_value())?;
            phis.push(phi);
        }
        Ok(phis)
    }

    /// A counted loop, tested once before it and then at the end of each iteration.
    pub(super) fn for_loop(&mut self, stmt: &For) -> Result<(), LlvmError> {
        let (lo, hi) = (self.index(stmt.lo)?, self.index(stmt.hi)?);
        let before = self.here()?;
        let (body, after) = (self.new_block("for"), self.new_block("for.end"));
        let enter = self.builder.build_int_compare(IntPredicate::SLT, lo, hi, "")?;
        self.builder.build_conditional_branch(enter, body, after)?;

        self.builder.position_at_end(body);
        let iv = self.phi(stmt.iv, "i")?;
        self.incoming(iv, stmt.lo, before)?;
        let counter = iv.as_basic_value();
        self.frame.define(stmt.iv, counter)?;
        let phis = self.enter_loop(&stmt.carried, before)?;
        self.block(&stmt.body)?;

        self.mark(stmt.iv);
        let latch = self.here()?;
        let step = lo.get_type().const_int(stmt.step as u64, true);
        let BasicValueEnum::IntValue(counter) = counter else {
            return Err(LlvmError::ill_formed("a loop counter is no integer"));
        };
        // A step of one stays at or below `hi`; a longer one could pass the largest integer, if only in
        // theory.
        let next = match stmt.step {
            1 => self.builder.build_int_nsw_add(counter, step, "")?,
            _ => self.builder.build_int_add(counter, step, "")?,
        };
        let again = self.builder.build_int_compare(IntPredicate::SLT, next, hi, "")?;
        self.builder.build_conditional_branch(again, body, after)?;
        iv.add_incoming(&[(&next, latch)]);
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.incoming(*phi, c.next, latch)?;
        }

        self.builder.position_at_end(after);
        for c in &stmt.carried {
            let phi = self.phi(c.after, "")?;
            self.incoming(phi, c.first, before)?;
            self.incoming(phi, c.next, latch)?;
            self.frame.define(c.after, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// A loop tested before each iteration.
    pub(super) fn while_loop(&mut self, stmt: &While) -> Result<(), LlvmError> {
        let before = self.here()?;
        let (test, body, after) =
            (self.new_block("while"), self.new_block("while.do"), self.new_block("while.end"));
        self.builder.build_unconditional_branch(test)?;

        self.builder.position_at_end(test);
        let phis = self.enter_loop(&stmt.carried, before)?;
        self.block(&stmt.test)?;
        self.builder.build_conditional_branch(self.truth(stmt.cond)?, body, after)?;

        self.builder.position_at_end(body);
        self.block(&stmt.body)?;
        let latch = self.here()?;
        self.builder.build_unconditional_branch(test)?;
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.incoming(*phi, c.next, latch)?;
        }

        self.builder.position_at_end(after);
        for (c, phi) in stmt.carried.iter().zip(&phis) {
            self.frame.define(c.after, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// A choice.
    pub(super) fn choice(&mut self, stmt: &If) -> Result<(), LlvmError> {
        let cond = self.truth(stmt.cond)?;
        let (then, otherwise, after) =
            (self.new_block("then"), self.new_block("else"), self.new_block("if.end"));
        self.builder.build_conditional_branch(cond, then, otherwise)?;
        let mut arm = |start, block| -> Result<BasicBlock<'ctx>, LlvmError> {
            self.builder.position_at_end(start);
            self.block(block)?;
            let end = self.here()?;
            self.builder.build_unconditional_branch(after)?;
            Ok(end)
        };
        let then_end = arm(then, &stmt.then)?;
        let otherwise_end = arm(otherwise, &stmt.otherwise)?;

        self.builder.position_at_end(after);
        for j in &stmt.joined {
            let phi = self.phi(j.after, "")?;
            self.incoming(phi, j.then, then_end)?;
            self.incoming(phi, j.otherwise, otherwise_end)?;
            self.frame.define(j.after, phi.as_basic_value())?;
        }
        Ok(())
    }
}
