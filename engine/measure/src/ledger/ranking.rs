//! Which of the things that a schedule could say instead are worth compiling, and which are faster.

use super::entrants::Entrants;
use super::plan::{Entry, Plan, Times};
use super::table::{Advice, Figure, Predicted, PredictedAdvice};
use std::collections::BTreeSet;

/// Proposals that are raced once more: the fastest of many are often lucky.
const FINALISTS: usize = 6;
/// Predicted slowdown from which a variation is certainly slower: larger than the cost model's error among
/// schedules that differ in one directive.
const LOSES: f64 = 1.6;

/// Speed-up of an entrant over the schedule, by their lower quartiles, which disturbances change least.
fn faster(times: &Times, whole: usize, other: usize) -> Option<f64> {
    let low = |number: usize| times.get(&number).copied().flatten().map(|time| time.low);
    Some(low(whole)? / low(other)?)
}

impl Plan {
    /// The schedule and what promises to be faster than it, by the times of a race among many.
    pub fn finalists(&self, times: &Times) -> Vec<usize> {
        let Entry::Runs(whole) = self.whole else { return Vec::new() };
        let mut others: Vec<(usize, f64)> =
            self.advised().filter_map(|(_, number)| Some((number, faster(times, whole, number)?))).collect();
        others.sort_by(|one, two| two.1.total_cmp(&one.1));
        others.dedup_by_key(|(number, _)| *number);
        let best = others.into_iter().filter(|(number, gain)| *number != whole && *gain > 1.0);
        std::iter::once(whole).chain(best.map(|(number, _)| number).take(FINALISTS)).collect()
    }

    /// The finalists that are faster than the schedule, the fastest first.
    pub fn advice(&self, entrants: &Entrants, finals: &Times) -> Vec<Advice> {
        let Entry::Runs(whole) = self.whole else { return Vec::new() };
        let mut seen = vec![whole];
        let advice = self.advised().filter_map(|(text, number)| {
            // Of several words for the same nest the first are enough.
            if seen.contains(&number) {
                return None;
            }
            seen.push(number);
            let gain = faster(finals, whole, number).filter(|gain| *gain > 1.0)?;
            let figure = Figure::of(finals.get(&number).copied().flatten());
            let predicted = self.gain(entrants, number);
            Some(Advice { text: text.to_string(), figure, gain, predicted })
        });
        let mut advice: Vec<Advice> = advice.collect();
        advice.sort_by(|one, two| two.gain.total_cmp(&one.gain));
        advice
    }

    /// The variations of the schedule.
    fn advised(&self) -> impl Iterator<Item = (&str, usize)> {
        let own = std::iter::once(("take the schedule that schedc chooses", &self.chosen));
        let own = own.filter(|_| !self.advice.is_empty());
        let all = own.chain(self.advice.iter().map(|(text, entry)| (text.as_str(), entry)));
        all.filter_map(|(text, entry)| match entry {
            Entry::Runs(number) => Some((text, *number)),
            Entry::Illegal(_) => None,
        })
    }

    /// Predicted speed-up of an entrant over the schedule.
    fn gain(&self, entrants: &Entrants, number: usize) -> Option<f64> {
        Some(entrants.predicted(self.whole.number()?)? / entrants.predicted(number)?)
    }

    /// The variations that are clearly slower by the cost model.
    pub fn surely_slower(&self, entrants: &Entrants) -> BTreeSet<usize> {
        let slower = |number: &usize| self.gain(entrants, *number).is_some_and(|gain| gain * LOSES < 1.0);
        self.advised().map(|(_, number)| number).filter(slower).collect()
    }

    /// The cost model's predictions.
    pub fn predicted(&self, entrants: &Entrants) -> Predicted {
        let over = |entry: &Entry| Some(1.0 / self.gain(entrants, entry.number()?)?);
        let mut seen: BTreeSet<usize> = self.whole.number().into_iter().collect();
        let advised = self.advised().filter(|(_, number)| seen.insert(*number));
        let gain = |(text, number): (&str, usize)| {
            let gain = self.gain(entrants, number).filter(|gain| *gain > 1.0)?;
            Some(PredictedAdvice { text: text.to_string(), gain })
        };
        let mut advice: Vec<PredictedAdvice> = advised.filter_map(gain).collect();
        advice.sort_by(|one, two| two.gain.total_cmp(&one.gain));
        let surely_slower = self.surely_slower(entrants).len();
        Predicted { over_plain: over(&self.plain), over_chosen: over(&self.chosen), advice, surely_slower }
    }
}
