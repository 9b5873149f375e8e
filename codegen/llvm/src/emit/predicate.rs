//! Comparisons of LIR as predicates of LLVM.

use inkwell::{FloatPredicate, IntPredicate};
use sched_ir::fault::{Fault, seeded};
use sched_ir::lir::Cmp;

/// A predicate, by the class of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CmpPredicate {
    /// A comparison of integers.
    Int(IntPredicate),
    /// A comparison of floats.
    Float(FloatPredicate),
}

/// Returns the predicate of a comparison.
pub(super) fn predicate(cmp: Cmp) -> CmpPredicate {
    match cmp {
        Cmp::Eq => CmpPredicate::Int(IntPredicate::EQ),
        Cmp::Ne => CmpPredicate::Int(IntPredicate::NE),
        Cmp::Lt => CmpPredicate::Int(IntPredicate::SLT),
        Cmp::Le => CmpPredicate::Int(IntPredicate::SLE),
        Cmp::UnsignedLt => CmpPredicate::Int(IntPredicate::ULT),
        Cmp::OLt if seeded(Fault::CompareUnordered) => CmpPredicate::Float(FloatPredicate::ULT),
        Cmp::OLt => CmpPredicate::Float(FloatPredicate::OLT),
        Cmp::OLe => CmpPredicate::Float(FloatPredicate::OLE),
        Cmp::ULt => CmpPredicate::Float(FloatPredicate::ULT),
        Cmp::ULe => CmpPredicate::Float(FloatPredicate::ULE),
        Cmp::Uno => CmpPredicate::Float(FloatPredicate::UNO),
    }
}
