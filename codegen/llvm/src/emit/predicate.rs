//! Comparisons of LIR as predicates of LLVM.

use inkwell::{FloatPredicate, IntPredicate};
use sched_ir::fault::{Fault, seeded};
use sched_ir::lir::Cmp;

/// A predicate, by the class of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Predicate {
    /// A comparison of integers.
    Int(IntPredicate),
    /// A comparison of floats.
    Float(FloatPredicate),
}

/// Returns the predicate of a comparison.
pub(super) fn predicate(cmp: Cmp) -> Predicate {
    match cmp {
        Cmp::Eq => Predicate::Int(IntPredicate::EQ),
        Cmp::Ne => Predicate::Int(IntPredicate::NE),
        Cmp::Lt => Predicate::Int(IntPredicate::SLT),
        Cmp::Le => Predicate::Int(IntPredicate::SLE),
        Cmp::UnsignedLt => Predicate::Int(IntPredicate::ULT),
        Cmp::OLt if seeded(Fault::CompareUnordered) => Predicate::Float(FloatPredicate::ULT),
        Cmp::OLt => Predicate::Float(FloatPredicate::OLT),
        Cmp::OLe => Predicate::Float(FloatPredicate::OLE),
        Cmp::ULt => Predicate::Float(FloatPredicate::ULT),
        Cmp::ULe => Predicate::Float(FloatPredicate::ULE),
        Cmp::Uno => Predicate::Float(FloatPredicate::UNO),
    }
}
