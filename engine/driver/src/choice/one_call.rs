//! The schedule for one call of known size: fast compilation may be worth more than fast code.

use super::candidate::{Candidate, VectorForm};
use super::candidates::{Candidates, plain};
use super::evaluate::{Evaluator, PricedCandidate};
use sched_cost::Machine;
use sched_nest::Layout;

/// The candidate with the least sum of compile time and run time. Further candidates are compiled only if the
/// call takes longer under the best one than its compilation.
pub fn cheapest(
    candidates: &Candidates<'_>,
    evaluator: &Evaluator<'_>,
    machine: &Machine,
    rows: usize,
) -> Candidate {
    let price = |all: Vec<Candidate>| evaluator.price_one_size(rows, &all);
    let mut priced = price(vec![one_by_one()]);
    if runs_long(machine, &priced) {
        priced.extend(price(candidates.initial()));
    }
    if runs_long(machine, &priced) {
        let costs: Vec<_> = priced.iter().map(|one| (&one.candidate, one.costs.as_slice())).collect();
        let more = candidates.further(&costs);
        priced.extend(price(more));
    }
    cheapest_priced(machine, &priced).map_or_else(plain, |one| one.candidate)
}

/// Scalar walks one by one: the least code.
fn one_by_one() -> Candidate {
    let form = VectorForm::Rows { block: 64, lanes: 1, together: 1, copied: false, tiled: false };
    Candidate::new(Layout::Sparse, form)
}

/// Whether the best candidate runs for longer than it compiles. Other candidates can gain at most its run
/// time.
fn runs_long(machine: &Machine, priced: &[PricedCandidate]) -> bool {
    cheapest_priced(machine, priced).is_none_or(|best| run_cycles(best) > compile_cycles(machine, best))
}

fn cheapest_priced<'a>(machine: &Machine, priced: &'a [PricedCandidate]) -> Option<&'a PricedCandidate> {
    let total = |one: &PricedCandidate| run_cycles(one) + compile_cycles(machine, one);
    // Vectors narrower than registers are legal in blocks for few rows only.
    let usable = priced.iter().filter(|one| one.max_rows.is_none());
    usable.min_by(|a, b| total(a).total_cmp(&total(b)))
}

fn run_cycles(one: &PricedCandidate) -> f64 {
    one.costs.first().copied().unwrap_or(f64::INFINITY)
}

fn compile_cycles(machine: &Machine, one: &PricedCandidate) -> f64 {
    machine.compile * one.operations as f64
}
