//! Earlier integer arithmetic of a kernel, with which a machine may fuse later operations.

use sched_ir::lir::{Bin, Op, Ty, Value};
use std::collections::HashMap;

/// Earlier operations on integers of one type, by their results.
pub(super) struct EarlierOps {
    ty: Ty,
    ops: HashMap<Value, Op>,
}

impl EarlierOps {
    /// Remembers operations on integers of type `ty`.
    pub(super) fn of(ty: Ty) -> EarlierOps {
        EarlierOps { ty, ops: HashMap::new() }
    }

    /// Remembers an operation, if it is a sum, a mask, a shift or a constant of the type.
    pub(super) fn note(&mut self, (value, ty): (Value, Ty), op: &Op) {
        if ty == self.ty && matches!(op, Op::Bin(Bin::Add | Bin::And | Bin::Shr, ..) | Op::Int(_)) {
            self.ops.insert(value, op.clone());
        }
    }

    /// The number that a value is, if it is a constant.
    pub(super) fn constant(&self, value: Value) -> Option<i64> {
        match self.ops.get(&value) {
            Some(Op::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// The operands of a value, if it is the result of the operation `bin`.
    pub(super) fn operands(&self, bin: Bin, value: Value) -> Option<(Value, Value)> {
        match self.ops.get(&value) {
            Some(Op::Bin(op, a, b)) if *op == bin => Some((*a, *b)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arithmetic_of_the_type_is_remembered() {
        let mut earlier = EarlierOps::of(Ty::I64);
        earlier.note((Value(0), Ty::I64), &Op::Int(5));
        earlier.note((Value(1), Ty::of(sched_ir::lir::Scalar::I32)), &Op::Int(5));
        earlier.note((Value(2), Ty::I64), &Op::Bin(Bin::Mul, Value(0), Value(0)));
        earlier.note((Value(3), Ty::I64), &Op::Bin(Bin::Add, Value(0), Value(2)));
        assert_eq!((earlier.constant(Value(0)), earlier.constant(Value(1))), (Some(5), None));
        assert_eq!(earlier.operands(Bin::Mul, Value(2)), None);
        assert_eq!(earlier.operands(Bin::Add, Value(3)), Some((Value(0), Value(2))));
        assert_eq!(earlier.operands(Bin::Shr, Value(3)), None);
    }
}
