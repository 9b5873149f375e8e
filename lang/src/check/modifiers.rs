//! Applies the loop modifiers of a text to the builder, in the order written.

use super::problem_counter::Listener;
use crate::directives::Op;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{NestBuilder, RemarkKind, Select};
use crate::resolve::{Arg, Call};
use sched_nest::LoopId;
use sched_nest::sym::{Property, Sym};

/// Applies all loop modifiers. Returns false if the nest became too large to go on, or the listener has heard enough.
///
/// A refused modifier leaves the nest as it is. The loops it names are marked, and the names it would have made are
/// known from then on, so that one mistake gives one error.
pub(super) fn apply<'c>(
    calls: impl Iterator<Item = &'c Call>,
    builder: &mut NestBuilder,
    report: &mut dyn Listener,
) -> bool {
    for call in calls.filter(|call| call.shapes) {
        let loops = builder.nodes.len();
        let result = apply_one(call, builder, report);
        if let Err(illegal) = result {
            report.illegal(builder, &illegal);
            if illegal.problem.is_fatal() {
                return false;
            }
            recover(call, &illegal, builder, report);
        }
        tell_remarks(call.op, builder, report);
        report.spend(1 + builder.nodes.len() - loops);
        if report.has_enough() {
            return false;
        }
    }
    true
}

/// Passes on what a modifier had to remark.
pub(super) fn tell_remarks(op: Op, builder: &mut NestBuilder, report: &mut dyn Listener) {
    for remark in builder.take_remarks() {
        let problem = match remark.kind {
            RemarkKind::Unverified(what) => Problem::Unverified { what: what.into() },
            RemarkKind::TileOfOne => Problem::TileOfOne,
            RemarkKind::PartialTile(extent, size) => Problem::PartialTile { extent, size },
        };
        let illegal =
            Illegal { argument: argument(op), ..Illegal::at(remark.step, problem, vec![remark.index]) };
        report.illegal(builder, &illegal);
    }
}

/// The argument that remarks are about.
fn argument(op: Op) -> Option<usize> {
    match op {
        Op::Tile | Op::Split => Some(3),
        _ => Some(0),
    }
}

fn apply_one(call: &Call, builder: &mut NestBuilder, report: &mut dyn Listener) -> Result<(), Illegal> {
    let step = call.step;
    let poisoned = || Err(Illegal::at(step, Problem::Poisoned, Vec::new()));
    if call.broken {
        return poisoned();
    }
    let value = |at: usize| match call.number(at) {
        Some(sym) if sym.mentions(&|property| property == Property::RunDepth) => {
            Err(Illegal::argument(step, at, Problem::RunDepthUnknown, Vec::new()))
        }
        other => Ok(other),
    };
    match (call.op, call.args.as_slice()) {
        (Op::Tile, [Arg::Index(v), Arg::New(outer), Arg::New(inner), _]) => {
            let size = value(3).map_err(|illegal| report.illegal(builder, &illegal)).ok().flatten();
            builder.tile_or_guess(step, v, outer, inner, size)
        }
        (Op::Split, [Arg::Index(v), Arg::New(first), Arg::New(second), _]) => {
            let at = value(3).map_err(|illegal| report.illegal(builder, &illegal)).ok().flatten();
            builder.split_or_guess(step, v, first, second, at)
        }
        (Op::SplitByDepth, [Arg::Index(v)]) => builder.split_by_depth(step, v),
        (Op::Specialize, [Arg::Index(v)]) => builder.specialize(step, v),
        (Op::Unroll, [Arg::Index(v)]) => builder.unroll(step, v),
        (Op::SortTrees, [Arg::Word(_)]) => builder.sort_trees(step),
        (Op::Reorder, _) if !call.is_bad() => {
            let order: Vec<Select> = call.selects().map(|(_, select)| select.clone()).collect();
            builder.reorder(step, &order)
        }
        _ => poisoned(),
    }
}

/// Goes on after a refused modifier, as if it had been a legal one as far as that can be guessed.
fn recover(call: &Call, illegal: &Illegal, builder: &mut NestBuilder, report: &mut dyn Listener) {
    let guess: Option<&Sym> = None;
    let again = match (&illegal.problem, call.op, call.args.as_slice()) {
        (
            Problem::TileSize { .. } | Problem::TileOffStep { .. },
            Op::Tile,
            [Arg::Index(v), Arg::New(outer), Arg::New(inner), _],
        ) => builder.tile_or_guess(call.step, v, outer, inner, guess),
        (
            Problem::SplitOutside { .. } | Problem::SplitOffStep { .. },
            Op::Split,
            [Arg::Index(v), Arg::New(first), Arg::New(second), _],
        ) => builder.split_or_guess(call.step, v, first, second, guess),
        _ => Err(illegal.clone()),
    };
    if again.is_ok() {
        return;
    }
    for name in call.new_names() {
        builder.poison(name);
    }
    if matches!(call.op, Op::Tile | Op::Split) && call.new_names().count() < 2 {
        builder.poison_unknown();
    }
    if matches!(call.op, Op::Specialize | Op::SplitByDepth) {
        call.selects().for_each(|(_, select)| builder.poison_copies(&select.name));
    }
    let reshapes =
        matches!(call.op, Op::Tile | Op::Split | Op::Reorder) && illegal.problem != Problem::ReorderFew;
    if reshapes {
        let named = call.selects().filter_map(|(at, select)| builder.select(call.step, at, select).ok());
        let named: Vec<LoopId> = named.flatten().collect();
        builder.taint(&named);
    }
    // Names that only this directive uses wrongly are reported beside the first problem.
    let unknown = call.selects().filter_map(|(at, select)| builder.select(call.step, at, select).err());
    for other in unknown.collect::<Vec<_>>() {
        report.illegal(builder, &other);
    }
}
