//! Costs of single operations on a machine.

use super::folded::Folded;
use crate::machine::Machine;
use crate::operation::{Amount, Kind, instructions};
use sched_ir::lir::{Function, Op, Ty, Value};

/// The cost of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationCost {
    /// The kind of its instructions.
    pub kind: Kind,
    /// Cycles for which it occupies the unit of the core for this kind.
    pub busy: f64,
    /// Cycles from its operands to its result, if the first cache serves it.
    pub latency: f64,
    /// Instructions.
    pub instructions: f64,
}

/// The costs of a function's operations.
pub struct OperationCosts<'a> {
    function: &'a Function,
    machine: &'a Machine,
    folded: Folded,
}

impl<'a> OperationCosts<'a> {
    /// The costs of a function on a machine.
    pub fn new(function: &'a Function, machine: &'a Machine) -> OperationCosts<'a> {
        OperationCosts { function, machine, folded: Folded::of(function, machine.register_bits) }
    }

    /// The cost of an operation that defines `value`. `None` if it takes no instruction.
    pub fn operation(&self, value: Value, op: &Op) -> Option<OperationCost> {
        let ty = self.function.ty(value);
        let amount = instructions(self.function, op, ty, self.machine.register_bits);
        let amount = amount.filter(|_| !self.folded.has(value))?;
        let charge = self.machine.cost(amount);
        let instructions = match op {
            // A gather is a load for each lane. On cores that split it slowly it takes all slots of the front
            // end meanwhile.
            Op::Gather(gather) => {
                let lanes = f64::from(self.function.ty(gather.index).lanes);
                lanes.max(charge.each * self.machine.issue)
            }
            _ => amount.registers.max(1.0),
        };
        Some(OperationCost { kind: amount.kind, busy: charge.each, latency: charge.latency, instructions })
    }

    /// The cost of storing a value of a type.
    pub fn store(&self, ty: Ty) -> OperationCost {
        let registers = f64::from(ty.bytes()) / f64::from(self.machine.register_bits / 8);
        let registers = if registers < 1.0 { registers } else { registers.ceil() };
        let charge = self.machine.cost(Amount { kind: Kind::Store, registers });
        let instructions = registers.max(1.0);
        OperationCost { kind: Kind::Store, busy: charge.each, latency: charge.latency, instructions }
    }

    /// The cost of a prefetch.
    pub fn prefetch(&self) -> OperationCost {
        let charge = self.machine.charge(Kind::Load);
        OperationCost { kind: Kind::Load, busy: charge.each, latency: charge.latency, instructions: 1.0 }
    }
}
