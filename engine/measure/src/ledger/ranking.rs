//! Selects the variations of a schedule that are worth compiling, and those that are faster.

use super::entrants::Entrants;
use super::plan::{EntrantTimes, LedgerEntry, TablePlan};
use super::table::{Advice, MeasuredTime, PredictedAdvice, PredictedTable};
use std::collections::BTreeSet;

/// Most proposals that are timed again in a final race: among many, the fastest may be fast by chance.
const MAX_FINALISTS: usize = 6;
/// Predicted slowdown above which a variation is not compiled: larger than the cost model's error among
/// schedules that differ in one directive.
const MAX_COMPILED_SLOWDOWN: f64 = 1.6;

/// The advice to use schedc's own choice.
const TAKE_CHOSEN: &str = "use the schedule that schedc chooses";

/// A proposed schedule that is legal.
struct LegalProposal<'p> {
    text: &'p str,
    idea: &'p str,
    /// The number of its entrant.
    number: usize,
}

/// The proposals, the largest gain first. Of those with the same idea, only the first.
fn best_of_each_idea<I: Ord, T>(mut all: Vec<(I, T)>, gain: impl Fn(&T) -> f64) -> Vec<T> {
    all.sort_by(|(_, one), (_, two)| gain(two).total_cmp(&gain(one)));
    let mut ideas = BTreeSet::new();
    all.into_iter().filter_map(|(idea, one)| ideas.insert(idea).then_some(one)).collect()
}

/// Speed-up of an entrant over the schedule, by their lower quartiles, on which other load has the least
/// influence.
fn speed_up(times: &EntrantTimes, whole: usize, other: usize) -> Option<f64> {
    let low = |number: usize| times.get(&number).copied().flatten().map(|time| time.low);
    Some(low(whole)? / low(other)?)
}

impl TablePlan {
    /// The schedule, and the proposals that were faster than it in the first race.
    pub fn finalists(&self, times: &EntrantTimes) -> Vec<usize> {
        let LedgerEntry::Runs(whole) = self.whole else { return Vec::new() };
        let other = |advised: LegalProposal<'_>| {
            let gain = speed_up(times, whole, advised.number)?;
            (advised.number != whole && gain > 1.0)
                .then_some((advised.idea.to_string(), (advised.number, gain)))
        };
        let others = best_of_each_idea(self.legal_proposals().filter_map(other).collect(), |(_, gain)| *gain);
        let mut finalists = vec![whole];
        for (number, _) in others {
            if !finalists.contains(&number) && finalists.len() <= MAX_FINALISTS {
                finalists.push(number);
            }
        }
        finalists
    }

    /// The finalists that are faster than the schedule, the fastest first.
    pub fn advice(&self, entrants: &Entrants, finals: &EntrantTimes) -> Vec<Advice> {
        let LedgerEntry::Runs(whole) = self.whole else { return Vec::new() };
        let mut seen = vec![whole];
        let advice = self.legal_proposals().filter_map(|LegalProposal { text, idea, number }| {
            // Of several proposals with the same nest, the first is enough.
            if seen.contains(&number) {
                return None;
            }
            seen.push(number);
            let gain = speed_up(finals, whole, number).filter(|gain| *gain > 1.0)?;
            let figure = MeasuredTime::of(finals.get(&number).copied().flatten());
            let predicted = self.gain(entrants, number);
            Some((idea.to_string(), Advice { text: text.to_string(), figure, gain, predicted }))
        });
        best_of_each_idea(advice.collect(), |one| one.gain)
    }

    /// The legal proposals; if there are any, also the schedule that schedc chooses.
    fn legal_proposals(&self) -> impl Iterator<Item = LegalProposal<'_>> {
        let own = std::iter::once((TAKE_CHOSEN, TAKE_CHOSEN, &self.chosen));
        let own = own.filter(|_| !self.advice.is_empty());
        let others = self.advice.iter().map(|one| (one.text.as_str(), one.idea.as_str(), &one.entry));
        own.chain(others).filter_map(|(text, idea, entry)| match entry {
            LedgerEntry::Runs(number) => Some(LegalProposal { text, idea, number: *number }),
            LedgerEntry::Illegal(_) => None,
        })
    }

    /// Predicted speed-up of an entrant over the schedule.
    fn gain(&self, entrants: &Entrants, number: usize) -> Option<f64> {
        Some(entrants.predicted(self.whole.number()?)? / entrants.predicted(number)?)
    }

    /// The proposals that are clearly slower by the cost model.
    pub fn surely_slower(&self, entrants: &Entrants) -> BTreeSet<usize> {
        let slower = |number: &usize| {
            self.gain(entrants, *number).is_some_and(|gain| gain * MAX_COMPILED_SLOWDOWN < 1.0)
        };
        self.legal_proposals().map(|advised| advised.number).filter(slower).collect()
    }

    /// The cost model's predictions.
    pub fn predicted(&self, entrants: &Entrants) -> PredictedTable {
        let over = |entry: &LedgerEntry| Some(1.0 / self.gain(entrants, entry.number()?)?);
        let mut seen: BTreeSet<usize> = self.whole.number().into_iter().collect();
        let advised = self.legal_proposals().filter(|advised| seen.insert(advised.number));
        let gain = |LegalProposal { text, idea, number }: LegalProposal<'_>| {
            let gain = self.gain(entrants, number).filter(|gain| *gain > 1.0)?;
            Some((idea.to_string(), PredictedAdvice { text: text.to_string(), gain }))
        };
        let advice = best_of_each_idea(advised.filter_map(gain).collect(), |one| one.gain);
        let surely_slower = self.surely_slower(entrants).len();
        PredictedTable {
            over_plain: over(&self.plain),
            over_chosen: over(&self.chosen),
            advice,
            surely_slower,
        }
    }
}
