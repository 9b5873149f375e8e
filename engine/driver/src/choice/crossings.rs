//! The division of call sizes among candidates, each of which serves a range of sizes.

use super::candidates::plain;
use super::evaluate::{CandidateCode, Evaluator, PricedCandidate};
use super::sizes::SIZES;
use sched_nest::Variants;
use std::cell::OnceCell;

/// Most schedules of one text. Each adds tables and code.
const MOST_SCHEDULES: usize = 7;
/// Least gain that justifies the tables and the code of a further schedule, as a share of the cost of calls
/// of one size. Lower values give more blocks, larger libraries, and gains within the error of the cost
/// model.
const LEAST_GAIN: f64 = 0.06;

/// The candidates among which the call sizes are divided.
pub struct Crossings<'a> {
    /// The candidates with their costs for calls of [`SIZES`] rows.
    pub priced: &'a [PricedCandidate],
    /// The evaluator that priced them.
    pub evaluator: &'a Evaluator<'a>,
}

/// A division of the smallest sizes among candidates.
#[derive(Clone)]
struct Division {
    /// The sum over all sizes of the logarithm of the cost relative to the cheapest candidate's.
    loss: f64,
    /// The candidates in ascending order of sizes, each with the number of sizes that it and the candidates
    /// before it serve.
    parts: Vec<(usize, usize)>,
}

/// A candidate of a division. Its code is compiled only if a size that is not in [`SIZES`] needs a price.
struct DivisionPart<'a> {
    priced: Option<&'a PricedCandidate>,
    /// The number of sizes that it and the parts before it serve.
    end: usize,
    code: OnceCell<Option<CandidateCode>>,
}

impl Crossings<'_> {
    /// The chosen schedules, by the number of rows.
    pub fn variants(&self) -> Variants<String> {
        let part = |(number, end): (usize, usize)| DivisionPart {
            priced: self.priced.get(number),
            end,
            code: OnceCell::new(),
        };
        let parts: Vec<DivisionPart> = self.parts().into_iter().map(part).collect();
        let text = |part: &DivisionPart| {
            part.priced.map_or_else(String::new, |priced| self.evaluator.text(&priced.candidate))
        };
        let plain = || self.evaluator.text(&plain());
        let mut variants = Variants::only(parts.last().map_or_else(plain, text));
        for pair in parts.windows(2) {
            let [few, many] = pair else { continue };
            let _kept = variants.insert(self.crossing(few, many) as u32, text(few));
        }
        variants
    }

    /// The division with the least loss among those in which each further candidate gains at least
    /// [`LEAST_GAIN`].
    fn parts(&self) -> Vec<(usize, usize)> {
        let least: Vec<f64> = (0..SIZES.len())
            .map(|size| self.priced.iter().map(|one| one.cost(size)).fold(f64::INFINITY, f64::min))
            .collect();
        let loss = |candidate: &PricedCandidate, sizes: std::ops::Range<usize>| -> f64 {
            sizes.map(|size| (candidate.cost(size) / least.get(size).copied().unwrap_or(1.0)).ln()).sum()
        };
        // The best divisions, by the number of served sizes and the number of candidates.
        let mut best: Vec<Vec<Option<Division>>> = vec![vec![None; MOST_SCHEDULES + 1]; SIZES.len() + 1];
        if let Some(none) = best.first_mut().and_then(|best| best.first_mut()) {
            *none = Some(Division { loss: 0.0, parts: Vec::new() });
        }
        let numbers = (1..=SIZES.len()).flat_map(|end| (1..=MOST_SCHEDULES).map(move |count| (end, count)));
        for (end, count) in numbers {
            let mut least: Option<Division> = None;
            for begin in 0..end {
                let Some(before) = best.get(begin).and_then(|best| best.get(count - 1)?.as_ref()) else {
                    continue;
                };
                for (number, candidate) in self.priced.iter().enumerate() {
                    let loss = before.loss + loss(candidate, begin..end);
                    if least.as_ref().is_none_or(|least| loss < least.loss) {
                        let parts = before.parts.iter().copied().chain([(number, end)]).collect();
                        least = Some(Division { loss, parts });
                    }
                }
            }
            if let Some(division) = best.get_mut(end).and_then(|best| best.get_mut(count)) {
                *division = least;
            }
        }
        let worth = |division: &Division| division.loss + LEAST_GAIN * division.parts.len() as f64;
        let all = best.pop().unwrap_or_default().into_iter().flatten();
        let least = all.min_by(|one, other| worth(one).total_cmp(&worth(other)));
        least.map_or_else(|| vec![(0, SIZES.len())], |division| division.parts)
    }

    /// Most rows for which the first of two neighbouring parts is cheaper, between the last size of the first
    /// part and the first size of the second.
    fn crossing(&self, few: &DivisionPart, many: &DivisionPart) -> usize {
        let size = |n: usize| SIZES.get(n).copied().unwrap_or(usize::MAX);
        let (below, above) = (size(few.end - 1), size(few.end));
        if below + 1 >= above {
            return below;
        }
        let few = self.evaluator.costs(self.code(few));
        let many = self.evaluator.costs(self.code(many));
        last_where((below, above), |rows| few(rows) <= many(rows))
    }

    fn code<'p>(&self, part: &'p DivisionPart) -> Option<&'p CandidateCode> {
        part.code.get_or_init(|| self.evaluator.compile(&part.priced?.candidate)).as_ref()
    }
}

/// Bisects for the largest number at which `holds` is true. It must hold at `below`, fail at `above`, and
/// change once.
pub fn last_where((mut below, mut above): (usize, usize), holds: impl Fn(usize) -> bool) -> usize {
    while below + 1 < above {
        let middle = below.midpoint(above);
        if holds(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}
