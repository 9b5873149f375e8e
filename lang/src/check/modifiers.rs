//! Applies the loop modifiers of a text to the builder, in the order written.

use crate::directives::{self, DirectiveOp, Role, Signature};
use crate::illegal::{Illegal, Problem};
use crate::lineage::{NestBuilder, RemarkKind, SplitLoop, TileLoop};
use crate::listener::Listener;
use crate::operation::Operation;
use crate::resolve::{Arg, DirectiveCall};
use sched_nest::LoopId;
use sched_nest::sym::{Property, Sym};

/// Applies all loop modifiers. Returns false if the nest became too large, or the listener has enough.
///
/// A refused modifier leaves the nest unchanged. Its loops are marked, and the names of its new loops count
/// as declared, so that one mistake gives one error.
pub(super) fn apply<'c>(
    calls: impl Iterator<Item = &'c DirectiveCall>,
    builder: &mut NestBuilder,
    report: &mut dyn Listener,
) -> bool {
    for call in calls.filter(|call| call.is_modifier) {
        let loops = builder.indices().iter().len();
        let result = apply_one(call, builder, report);
        if let Err(illegal) = result {
            report.illegal(builder, &illegal);
            if illegal.problem.is_fatal() {
                return false;
            }
            recover(call, &illegal, builder, report);
        }
        report_remarks(call.op, builder, report);
        report.spend(1 + builder.indices().iter().len() - loops);
        if report.has_enough() {
            return false;
        }
    }
    true
}

/// Reports the remarks of a modifier.
pub(super) fn report_remarks(op: DirectiveOp, builder: &mut NestBuilder, report: &mut dyn Listener) {
    for remark in builder.take_remarks() {
        let problem = match remark.kind {
            RemarkKind::Unverified(what) => Problem::Unverified { what: what.into() },
            RemarkKind::TileOfOne => Problem::TileOfOne,
            RemarkKind::PartialTile(extent, size) => Problem::PartialTile { extent, size },
            RemarkKind::TileBeyond(extent, size) => Problem::TileBeyond { extent, size },
        };
        let illegal =
            Illegal { argument: argument(op), ..Illegal::at(remark.step, problem, vec![remark.index]) };
        report.illegal(builder, &illegal);
    }
}

/// The argument at which remarks on a directive are reported: its number, if it has one.
fn argument(op: DirectiveOp) -> Option<usize> {
    let number = directives::of(op).and_then(|signature| signature.position(|role| role == Role::Number));
    number.or(Some(0))
}

fn apply_one(
    call: &DirectiveCall,
    builder: &mut NestBuilder,
    report: &mut dyn Listener,
) -> Result<(), Illegal> {
    let poisoned = || Err(Illegal::at(call.step, Problem::Poisoned, Vec::new()));
    if call.has_wrong_count {
        return poisoned();
    }
    let mentions_depth = |sym: &Sym| sym.mentions(&|property| property == Property::RunDepth);
    let unknown = (0..call.args.len()).find(|at| call.number(*at).is_some_and(mentions_depth));
    if let Some(at) = unknown {
        report.illegal(builder, &Illegal::argument(call.step, at, Problem::RunDepthUnknown, Vec::new()));
    }
    match Operation::modifier(call.op, &call.args).filter(|_| unknown.is_none()) {
        Some(operation) => operation.apply(call.step, builder),
        None => guess(call, builder).unwrap_or_else(poisoned),
    }
}

/// Makes and marks the loops of a `tile` or `split` whose size or split point is unknown or refused. Later
/// directives can then name them. `None` for other modifiers.
fn guess(call: &DirectiveCall, builder: &mut NestBuilder) -> Option<Result<(), Illegal>> {
    match (call.op, call.args.as_slice()) {
        (DirectiveOp::Tile, [Arg::Index(v), Arg::New(outer), Arg::New(inner), _]) => {
            Some(builder.modify(call.step, &TileLoop::new(v, outer, inner, None)))
        }
        (DirectiveOp::Split, [Arg::Index(v), Arg::New(first), Arg::New(second), _]) => {
            Some(builder.modify(call.step, &SplitLoop::new(v, first, second, None)))
        }
        _ => None,
    }
}

/// Continues after a refused modifier as if it had been legal, as far as possible.
fn recover(call: &DirectiveCall, illegal: &Illegal, builder: &mut NestBuilder, report: &mut dyn Listener) {
    let is_number = matches!(
        illegal.problem,
        Problem::TileSize { .. }
            | Problem::TileOffStep { .. }
            | Problem::SplitOutside { .. }
            | Problem::SplitOffStep { .. }
    );
    if is_number && guess(call, builder).is_some_and(|again| again.is_ok()) {
        return;
    }
    let new_loops = directives::of(call.op).map_or(0, Signature::new_loops);
    for name in call.new_names() {
        builder.names_mut().poison(name);
    }
    if call.new_names().count() < new_loops {
        builder.names_mut().poison_unknown();
    }
    if matches!(call.op, DirectiveOp::Specialize | DirectiveOp::SplitByDepth) {
        call.selects().for_each(|(_, select)| builder.names_mut().poison_copies(&select.name));
    }
    let reshapes =
        (new_loops > 0 || call.op == DirectiveOp::Reorder) && illegal.problem != Problem::ReorderFew;
    if reshapes {
        let named = call.selects().filter_map(|(at, select)| builder.select(call.step, at, select).ok());
        let named: Vec<LoopId> = named.flatten().collect();
        builder.taint(&named);
    }
    // The first problem may concern another argument, so unknown names of this directive are reported too.
    let unknown = call.selects().filter_map(|(at, select)| builder.select(call.step, at, select).err());
    for other in unknown.collect::<Vec<_>>() {
        report.illegal(builder, &other);
    }
}
