//! Costs of single operations on a machine.

use super::folded::FoldedValues;
use crate::machine::Machine;
use crate::operation::{Amount, InstructionKind, instructions};
use sched_ir::lir::{Function, Op, Stmt, Ty, Value};

/// The cost of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationCost {
    /// Kind of the operation's instructions.
    pub kind: InstructionKind,
    /// Cycles for which it occupies the unit of the core for this kind.
    pub busy: f64,
    /// Cycles from its operands to its result, if the first-level cache serves it.
    pub latency: f64,
    /// Instructions.
    pub instructions: f64,
}

/// The costs of a function's operations on a machine, by the value that each defines. `None` for those that
/// take no instruction.
pub struct OperationCosts(Vec<Option<OperationCost>>);

impl OperationCosts {
    /// The costs of a function on a machine.
    pub fn new(function: &Function, machine: &Machine) -> OperationCosts {
        let folded = FoldedValues::of(function, machine.register_bits);
        let mut costs = vec![None; function.types.len()];
        Stmt::visit_all(&function.body, |stmt| {
            if let Stmt::Let(value, op) = stmt
                && !folded.contains(*value)
                && let Some(cost) = costs.get_mut(value.0 as usize)
            {
                *cost = operation(function, *value, op, machine);
            }
        });
        OperationCosts(costs)
    }

    /// The cost of the operation that defines `value`.
    pub fn of(&self, value: Value) -> Option<OperationCost> {
        self.0.get(value.0 as usize).copied().flatten()
    }
}

/// The cost of an operation that defines `value`. `None` if it takes no instruction.
fn operation(function: &Function, value: Value, op: &Op, machine: &Machine) -> Option<OperationCost> {
    let amount = instructions(function, op, function.ty(value), machine.register_bits)?;
    let charge = machine.cost(amount);
    let instructions = match op {
        // A gather is a load for each lane. On cores that split gathers slowly, a gather takes all slots of
        // the front end meanwhile.
        Op::Gather(gather) => {
            let lanes = f64::from(function.ty(gather.index).lanes);
            lanes.max(charge.each * machine.issue)
        }
        _ => amount.registers.max(1.0),
    };
    let kind = match amount.kind {
        InstructionKind::Multiply if !machine.multiplies_apart => InstructionKind::Float,
        kind => kind,
    };
    Some(OperationCost { kind, busy: charge.each, latency: charge.latency, instructions })
}

/// The cost of storing a value of a type.
pub fn store(ty: Ty, machine: &Machine) -> OperationCost {
    let registers = f64::from(ty.bytes()) / f64::from(machine.register_bits / 8);
    let registers = if registers < 1.0 { registers } else { registers.ceil() };
    let charge = machine.cost(Amount { kind: InstructionKind::Store, registers });
    let instructions = registers.max(1.0);
    OperationCost { kind: InstructionKind::Store, busy: charge.each, latency: charge.latency, instructions }
}

/// The cost of a prefetch.
pub fn prefetch(machine: &Machine) -> OperationCost {
    let charge = machine.charge(InstructionKind::Load);
    OperationCost {
        kind: InstructionKind::Load,
        busy: charge.each,
        latency: charge.latency,
        instructions: 1.0,
    }
}
