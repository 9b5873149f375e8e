//! Value with which a sum starts: a start value in the first iterations of some loops, otherwise the value in
//! memory.

use super::kernel_builder::KernelBuilder;
use crate::lir::{Address, Bin, BuildStmts, Cmp, Ty, Value};
use crate::mir::{Iter, StartValue, SumStart};

/// Value with which a sum starts: the start value of its margin, or the value in memory.
pub(super) fn sum_start<'a>(
    k: &mut KernelBuilder<'a>,
    start: &SumStart,
    margin: impl FnOnce(&mut KernelBuilder<'a>) -> Value,
    memory: impl FnOnce(&mut KernelBuilder<'a>) -> Value,
) -> Value {
    let SumStart::Value(value, firsts) = start else { return memory(k) };
    let value = |k: &mut KernelBuilder<'a>| match value {
        StartValue::NegativeZero => k.ports.empty_sum(&mut k.b),
        StartValue::Base => base_of(k, margin),
    };
    match is_first(k, firsts) {
        None => value(k),
        Some(first) => k.if_else(first, |k| vec![value(k)], |k| vec![memory(k)])[0],
    }
}

/// Whether all loops are in their first iteration; `None` if there are no loops.
pub(super) fn is_first(k: &mut KernelBuilder, loops: &[Iter]) -> Option<Value> {
    let mut all = None;
    for iter in loops {
        let (value, start) = (k.variable(iter.var), k.b.int(iter.start));
        let first = k.b.cmp(Cmp::Eq, value, start);
        all = Some(all.map_or(first, |all| k.b.bin(Bin::And, all, first)));
    }
    all
}

/// Base value of a margin.
fn base_of<'a>(k: &mut KernelBuilder<'a>, margin: impl FnOnce(&mut KernelBuilder<'a>) -> Value) -> Value {
    let ty = Ty::of(k.ports.accumulator);
    let bases = &k.ports.lowering.hir.forest.base;
    let Some(table) = k.ports.base else {
        return k.b.float(ty, bases.first().copied().unwrap_or(0.0));
    };
    let margin = margin(k);
    match k.b.as_int(margin).and_then(|margin| bases.get(usize::try_from(margin).ok()?)) {
        Some(base) => k.b.float(ty, *base),
        None => k.b.load(ty, Address::element(table, margin, k.ports.accumulator)),
    }
}
