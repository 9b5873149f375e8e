//! Which candidate serves calls of which sizes.

use super::SIZES;
use super::evaluate::Priced;
use crate::model::Model;
use sched_cost::{Facts, Machine};
use sched_nest::Variants;

/// Most schedules that one text has, each with tables and code of its own.
const MOST: usize = 7;
/// What a further schedule has to gain, as a share of the cost of calls of one size, to be worth its tables and its code.
const WORTH: f64 = 0.06;

/// The candidates of which some are chosen.
pub struct Crossings<'a> {
    /// The candidates.
    pub priced: &'a [Priced],
    /// The model.
    pub model: &'a Model,
    /// The processor.
    pub machine: &'a Machine,
}

/// The best way to serve the smallest sizes, up to one of them, with so many candidates.
#[derive(Clone)]
struct Best {
    /// Logarithms of how much dearer calls are than under the best candidate of their size, added up.
    loss: f64,
    /// The candidates, with the number of sizes that each and those before it serve.
    parts: Vec<(usize, usize)>,
}

impl Crossings<'_> {
    /// The schedules by the number of rows.
    pub fn variants(&self) -> Variants<String> {
        let parts = self.parts();
        let facts = Facts::of(&self.model.forest);
        let text =
            |number: usize| self.priced.get(number).map_or_else(String::new, |one| one.candidate.text());
        let last = parts.last().map_or(0, |(candidate, _)| *candidate);
        let mut variants = Variants::only(text(last));
        for pair in parts.windows(2) {
            let [(few, sizes), (many, _)] = pair else { continue };
            let bound = self.crossing(&facts, (*few, *many), *sizes);
            let _kept = variants.insert(bound as u32, text(*few));
        }
        variants
    }

    /// Consecutive sizes and who serves them, with the least loss.
    fn parts(&self) -> Vec<(usize, usize)> {
        let least: Vec<f64> = (0..SIZES.len())
            .map(|size| self.priced.iter().map(|one| cost(one, size)).fold(f64::INFINITY, f64::min))
            .collect();
        let loss = |candidate: &Priced, sizes: std::ops::Range<usize>| -> f64 {
            sizes.map(|size| (cost(candidate, size) / least.get(size).copied().unwrap_or(1.0)).ln()).sum()
        };
        // By how many sizes are served, and by how many candidates.
        let mut best: Vec<Vec<Option<Best>>> = vec![vec![None; MOST + 1]; SIZES.len() + 1];
        if let Some(none) = best.first_mut().and_then(|best| best.first_mut()) {
            *none = Some(Best { loss: 0.0, parts: Vec::new() });
        }
        for (end, count) in (1..=SIZES.len()).flat_map(|end| (1..=MOST).map(move |count| (end, count))) {
            let mut least: Option<Best> = None;
            for begin in 0..end {
                let Some(before) = best.get(begin).and_then(|best| best.get(count - 1)?.as_ref()) else {
                    continue;
                };
                for (number, candidate) in self.priced.iter().enumerate() {
                    let loss = before.loss + loss(candidate, begin..end);
                    if least.as_ref().is_none_or(|least| loss < least.loss) {
                        let parts = before.parts.iter().copied().chain([(number, end)]).collect();
                        least = Some(Best { loss, parts });
                    }
                }
            }
            if let Some(place) = best.get_mut(end).and_then(|best| best.get_mut(count)) {
                *place = least;
            }
        }
        let worth = |best: &Best| best.loss + WORTH * best.parts.len() as f64;
        let all = best.pop().unwrap_or_default().into_iter().flatten();
        let least = all.min_by(|one, other| worth(one).total_cmp(&worth(other)));
        least.map_or_else(|| vec![(0, SIZES.len())], |best| best.parts)
    }

    /// The most rows for which the first of two candidates is better, if it is so for some of the sizes and the other one is
    /// for the next.
    fn crossing(&self, facts: &Facts, (few, many): (usize, usize), sizes: usize) -> usize {
        let size = |n: usize| SIZES.get(n).copied().unwrap_or(usize::MAX);
        let (below, above) = (size(sizes - 1), size(sizes));
        let (Some(few), Some(many)) = (self.priced.get(few), self.priced.get(many)) else { return below };
        let cost = |one: &Priced, rows: usize| one.cost(self.machine, facts, rows);
        crossing((below, above), |rows| cost(few, rows) <= cost(many, rows))
    }
}

/// The largest number of rows at which something holds, if it does at the first of two numbers, does not at the second one, and
/// changes once between them.
pub fn crossing((mut below, mut above): (usize, usize), holds: impl Fn(usize) -> bool) -> usize {
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

fn cost(one: &Priced, size: usize) -> f64 {
    one.costs.get(size).copied().unwrap_or(f64::INFINITY)
}
