//! The schedule for one call whose rows are known: what compiles fast may be better than what runs fast.

use super::candidates::{self, Candidate, Candidates, Form, Known, Layout};
use super::evaluate::{Priced, price_all};
use super::{CodeDestination, tested};
use crate::model::Model;
use sched_cost::Machine;
use sched_ir::quantize::BinMap;

/// The candidate that compiles and runs in the least time together, of those that are worth a look.
pub fn cheapest(model: &Model, machine: &Machine, rows: usize) -> Candidate {
    let facts = model.facts();
    let bins = BinMap::rows_of(&model.forest, tested(&facts));
    let known =
        Known { model: &facts, bins: bins.as_ref(), machine, destination: CodeDestination::OneCall(rows) };
    let candidates = Candidates::of(&known);
    let price = |all: Vec<Candidate>| price_all(model, machine, &[rows], all);
    let mut priced = price(vec![one_by_one()]);
    if runs_long(machine, &priced) {
        priced.extend(price(candidates.first()));
    }
    if runs_long(machine, &priced) {
        let costs: Vec<_> = priced.iter().map(|one| (&one.candidate, one.costs.as_slice())).collect();
        let more = candidates.more(&costs);
        priced.extend(price(more));
    }
    least(machine, &priced).map_or_else(candidates::plain, |one| one.candidate)
}

/// Walks in the plainest code.
fn one_by_one() -> Candidate {
    let form = Form::Rows { block: 64, lanes: 1, together: 1, copied: false, tiled: false };
    Candidate { layout: Layout::Sparse, form, unrolled: 0, unroll_and_jam: false }
}

/// Whether the best one runs for longer than it is compiled: what is not looked at may gain that time, and no more.
fn runs_long(machine: &Machine, priced: &[Priced]) -> bool {
    least(machine, priced).is_none_or(|best| run(best) > compile(machine, best))
}

fn least<'a>(machine: &Machine, priced: &'a [Priced]) -> Option<&'a Priced> {
    let total = |one: &Priced| run(one) + compile(machine, one);
    // Narrow vectors stand in blocks for few rows only.
    let usable = priced.iter().filter(|one| one.max_rows.is_none());
    usable.min_by(|a, b| total(a).total_cmp(&total(b)))
}

fn run(one: &Priced) -> f64 {
    one.costs.first().copied().unwrap_or(f64::INFINITY)
}

fn compile(machine: &Machine, one: &Priced) -> f64 {
    machine.compile * one.operations() as f64
}
