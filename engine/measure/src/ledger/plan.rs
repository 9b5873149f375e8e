//! Plans: the nests to time for each entry of a ledger's table.

use super::advice::{self, Proposal};
use super::entrants::Entrants;
use super::question::{NumberSweep, Question, Subject, SweepNumber};
use super::table::{
    Ablation, Baselines, DirectiveEffect, LedgerTable, MeasuredTime, PrefixLine, SweepValue, ValueSweep,
};
use crate::samples::Quartiles;
use sched_diagnostics::Diagnostic;
use sched_lang::CheckPurpose;
use sched_lang::schedule::DirectiveText;
use sched_lang::variations::{NumberLiteral, Variation, Variations};
use schedc_driver::{Failure, ScheduleSource, ScheduleValues};
use std::collections::{BTreeMap, BTreeSet};

/// Number of values to try if the user gives none, including the present one.
const SWEEP_LENGTH: usize = 5;
/// Factors of the values to try, as fractions, the nearest first.
const SWEEP_FACTORS: [(i64, i64); 8] = [(1, 2), (2, 1), (1, 4), (4, 1), (1, 8), (8, 1), (1, 16), (16, 1)];

/// The times of the entrants of a race, by entrant; `None` without a sample.
pub type EntrantTimes = BTreeMap<usize, Option<Quartiles>>;

/// An entry of a table: an entrant to time, or the reason why there is none.
#[derive(Clone, Debug)]
pub(super) enum LedgerEntry {
    Runs(usize),
    Illegal(String),
}

impl LedgerEntry {
    /// The number of the entrant.
    pub(super) fn number(&self) -> Option<usize> {
        if let LedgerEntry::Runs(number) = self { Some(*number) } else { None }
    }
}

/// An entry for a proposed change.
pub(super) struct AdvisedEntry {
    /// The change.
    pub(super) text: String,
    /// The change without its numbers. Of changes with the same text here, only the fastest is shown.
    pub(super) idea: String,
    /// The changed schedule.
    pub(super) entry: LedgerEntry,
}

/// The entries of a table.
pub struct TablePlan {
    max_rows: Option<u32>,
    /// Rows per call.
    pub batch: usize,
    pub(super) whole: LedgerEntry,
    pub(super) plain: LedgerEntry,
    pub(super) chosen: LedgerEntry,
    prefixes: Vec<(DirectiveText, DirectiveEffect, LedgerEntry)>,
    ablations: Vec<(DirectiveText, Vec<usize>, LedgerEntry)>,
    sweeps: Vec<SweepPlan>,
    pub(super) advice: Vec<AdvisedEntry>,
}

/// A number of the schedule, and the values to try in its place.
struct SweepPlan {
    name: String,
    value: i64,
    tried: Vec<(i64, LedgerEntry)>,
}

/// Makes plans.
pub struct PlanMaker<'a> {
    pub subject: &'a Subject<'a>,
    pub variations: &'a Variations<'a>,
    pub chosen: &'a ScheduleSource,
    pub entrants: &'a mut Entrants,
}

impl PlanMaker<'_> {
    /// The plan of one of the schedules.
    pub fn make(mut self, schedule: usize, batch: usize, question: &Question) -> Result<TablePlan, Failure> {
        let events = self.variations.directives(schedule);
        let whole = self.enter(self.variations.unchanged(schedule));
        let plain = self.enter(self.variations.prefix(schedule, 0));
        let chosen = self.chosen(batch);
        let prefixes = if question.prefixes { self.prefixes(schedule, &events) } else { Vec::new() };
        let ablations = if question.ablations { self.ablations(schedule, &events) } else { Vec::new() };
        let sweeps = question.sweeps.iter().map(|request| self.sweep(schedule, request));
        let sweeps = sweeps.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let max_rows = self.variations.max_rows(schedule);
        let advice =
            if question.advice_threads.is_some() { self.proposals(schedule, &events) } else { Vec::new() };
        Ok(TablePlan { max_rows, batch, whole, plain, chosen, prefixes, ablations, sweeps, advice })
    }

    fn enter(&mut self, variation: Variation) -> LedgerEntry {
        match variation.nest {
            Ok(nest) => LedgerEntry::Runs(self.entrants.enter(&nest, self.subject.target)),
            Err(errors) => LedgerEntry::Illegal(errors.first().map(reason).unwrap_or_default()),
        }
    }

    fn chosen(&mut self, batch: usize) -> LedgerEntry {
        let values = ScheduleValues { sets: Vec::new(), ..self.subject.values.clone() };
        let checked = self.chosen.check_for(CheckPurpose::Compile, self.subject.model, &values);
        match checked.nests {
            Some(nests) => LedgerEntry::Runs(self.entrants.enter(nests.for_rows(batch), &checked.target)),
            None => LedgerEntry::Illegal(checked.diagnostics.first().map(reason).unwrap_or_default()),
        }
    }

    fn prefixes(
        &mut self,
        schedule: usize,
        events: &[DirectiveText],
    ) -> Vec<(DirectiveText, DirectiveEffect, LedgerEntry)> {
        let mut before = self.enter(self.variations.prefix(schedule, 0));
        let mut lines = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let variation = self.variations.prefix(schedule, at + 1);
            let waits = variation.left_out.contains(&at);
            let entry = self.enter(variation);
            let state = match (&before, &entry) {
                (_, LedgerEntry::Illegal(_)) => DirectiveEffect::Illegal,
                (LedgerEntry::Runs(one), LedgerEntry::Runs(two)) if one == two && waits => {
                    DirectiveEffect::Waits
                }
                (LedgerEntry::Runs(one), LedgerEntry::Runs(two)) if one == two => DirectiveEffect::Same,
                _ => DirectiveEffect::Own,
            };
            if state != DirectiveEffect::Illegal {
                before = entry.clone();
            }
            lines.push((event.clone(), state, entry));
        }
        lines
    }

    fn ablations(
        &mut self,
        schedule: usize,
        events: &[DirectiveText],
    ) -> Vec<(DirectiveText, Vec<usize>, LedgerEntry)> {
        let without = |(at, event): (usize, &DirectiveText)| {
            let variation = self.variations.without(schedule, at);
            let line = |other: &usize| events.get(*other).map(|event| event.line);
            let mut with: Vec<usize> = variation.left_out.iter().filter_map(line).collect();
            with.dedup();
            (event.clone(), with, self.enter(variation))
        };
        events.iter().enumerate().map(without).collect()
    }

    fn proposals(&mut self, schedule: usize, events: &[DirectiveText]) -> Vec<AdvisedEntry> {
        let options = self.subject.options();
        let all = advice::proposals((&self.subject.source.text, &options), schedule, events);
        let entered = |Proposal { text, idea, variation }: Proposal| {
            let entry = self.enter(variation);
            AdvisedEntry { text, idea, entry }
        };
        all.into_iter().map(entered).collect()
    }

    /// The experiments with other values of a number; `None` if the number belongs to another schedule of the
    /// text.
    fn sweep(&mut self, schedule: usize, request: &NumberSweep) -> Result<Option<SweepPlan>, Failure> {
        let Some(found) = self.number(schedule, &request.number)? else { return Ok(None) };
        let with = |value: i64| match &found.source {
            NumberSource::Param(name) => self.variations.with_param(schedule, name, value),
            NumberSource::Text(number) => self.variations.with_number(schedule, *number, value),
        };
        let mut values: Vec<(i64, Variation)> = match (request.values.as_slice(), found.choices.as_slice()) {
            ([], []) => {
                let near = nearby_values(found.value).map(|value| (value, with(value)));
                near.filter(|(value, variation)| *value == found.value || variation.nest.is_ok())
                    .take(SWEEP_LENGTH)
                    .collect()
            }
            ([], choices) => choices.iter().map(|value| (*value, with(*value))).collect(),
            (given, _) => given.iter().map(|value| (*value, with(*value))).collect(),
        };
        values.sort_by_key(|(value, _)| *value);
        values.dedup_by_key(|(value, _)| *value);
        let tried = values.into_iter().map(|(value, variation)| (value, self.enter(variation))).collect();
        Ok(Some(SweepPlan { name: found.name, value: found.value, tried }))
    }

    fn number(&self, schedule: usize, number: &SweepNumber) -> Result<Option<SweptNumber>, Failure> {
        let source = self.subject.source;
        match number {
            SweepNumber::Param(name) => {
                let checked =
                    source.check_for(CheckPurpose::Compile, self.subject.model, self.subject.values);
                let param = checked.params.iter().find(|param| param.name == *name);
                let value = param.and_then(|param| Some((param, param.value.as_int()?)));
                let (param, value) = value.ok_or_else(|| no_param(name, &checked))?;
                let choices = param.choices.iter().filter_map(|choice| choice.as_int()).collect();
                Ok(Some(SweptNumber {
                    name: name.clone(),
                    value,
                    choices,
                    source: NumberSource::Param(name.clone()),
                }))
            }
            SweepNumber::At(line, column) => {
                let offset = byte_offset(&source.text, *line, *column);
                let found = offset.and_then(|offset| self.variations.number_at(offset));
                let (owner, number) = found.ok_or_else(|| {
                    let help = "name the line and the column of a number in a directive, or a `param`";
                    Failure::usage(format!("there is no number in line {line} at column {column}"), help)
                        .in_file(&source.name)
                })?;
                let name = format!("{line}:{column}");
                let found = SweptNumber {
                    name,
                    value: number.value,
                    choices: Vec::new(),
                    source: NumberSource::Text(number),
                };
                Ok((owner == schedule).then_some(found))
            }
        }
    }
}

/// A number of a schedule that a sweep replaces.
struct SweptNumber {
    name: String,
    value: i64,
    /// The values after `in` in the declaration of the param.
    choices: Vec<i64>,
    source: NumberSource,
}

/// The source of a number: the value of a param, or a literal of the text.
enum NumberSource {
    Param(String),
    Text(NumberLiteral),
}

fn no_param(name: &str, checked: &sched_lang::CheckedSchedule) -> Failure {
    let names: Vec<&str> = checked.params.iter().map(|param| param.name.as_str()).collect();
    let help = match names.as_slice() {
        [] => "it has none; a number is named by its line and column, as in --sweep 3:21".to_string(),
        names => format!("it has {}", names.join(", ")),
    };
    Failure::usage(format!("the schedule has no param {name} with a value"), help)
}

/// Values near a number: the number itself, then its products with [`SWEEP_FACTORS`] that are whole and
/// positive.
fn nearby_values(value: i64) -> impl Iterator<Item = i64> {
    let others = SWEEP_FACTORS.into_iter().filter_map(move |(times, over)| {
        let is_whole = value % over == 0;
        value.checked_mul(times).filter(|_| is_whole).map(|product| product / over)
    });
    std::iter::once(value).chain(others.filter(move |other| *other != value && *other > 0))
}

/// The byte at a line and a column, both from 1, columns in characters.
fn byte_offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(start..)?.lines().next()?;
    let within = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(column.checked_sub(1)?)?;
    Some(start + within)
}

fn reason(diagnostic: &Diagnostic) -> String {
    let Diagnostic { code, message, .. } = diagnostic;
    format!("{code}: {message}")
}

impl TablePlan {
    /// The numbers of the entrants to time, each once.
    pub fn entrants(&self) -> Vec<usize> {
        let advised = self.advice.iter().filter_map(|advised| advised.entry.number());
        let numbers: BTreeSet<usize> = self.requested_entrants().into_iter().chain(advised).collect();
        numbers.into_iter().collect()
    }

    /// The entrants that the user asked for: the baselines, prefixes, ablations and sweeps. They are timed
    /// even if the cost model predicts them to be slow.
    pub fn requested_entrants(&self) -> Vec<usize> {
        let all = [&self.whole, &self.plain, &self.chosen].into_iter();
        let all = all.chain(self.prefixes.iter().map(|(_, _, entry)| entry));
        let all = all.chain(self.ablations.iter().map(|(_, _, entry)| entry));
        let all = all.chain(self.sweeps.iter().flat_map(|sweep| &sweep.tried).map(|(_, entry)| entry));
        all.filter_map(LedgerEntry::number).collect()
    }

    /// The table, from the time of each entrant.
    pub fn table(&self, threads: i32, entrants: &Entrants, times: &EntrantTimes) -> LedgerTable {
        let figure = |entry: &LedgerEntry| match entry {
            LedgerEntry::Illegal(why) => MeasuredTime::unmeasured(why.clone()),
            LedgerEntry::Runs(number) => match entrants.problem(*number) {
                Some(why) => MeasuredTime::unmeasured(why.to_string()),
                None => MeasuredTime::of(times.get(number).copied().flatten()),
            },
        };
        let (whole, plain) = (figure(&self.whole), figure(&self.plain));
        let mut before = plain.clone();
        let prefixes = self.prefixes.iter().map(|(event, state, entry)| {
            let figure = figure(entry);
            let gain = figure.speed_up_over(&before);
            if figure.us_per_row.is_some() {
                before = figure.clone();
            }
            let over_plain = figure.speed_up_over(&plain);
            PrefixLine { line: event.line, text: event.text.clone(), state: *state, figure, gain, over_plain }
        });
        let prefixes = prefixes.collect();
        let ablations = self.ablations.iter().map(|(event, with, entry)| {
            let figure = figure(entry);
            let loss = whole.speed_up_over(&figure);
            Ablation { line: event.line, text: event.text.clone(), with: with.clone(), figure, loss }
        });
        let tried = |(value, entry): &(i64, LedgerEntry)| {
            let figure = figure(entry);
            SweepValue { value: *value, over_whole: figure.speed_up_over(&whole), figure }
        };
        let sweeps = self.sweeps.iter().map(|SweepPlan { name, value, tried: all }| ValueSweep {
            name: name.clone(),
            value: *value,
            tried: all.iter().map(tried).collect(),
        });
        LedgerTable {
            advice: Vec::new(),
            max_rows: self.max_rows,
            batch: self.batch,
            threads,
            prefixes,
            ablations: ablations.collect(),
            sweeps: sweeps.collect(),
            baselines: Baselines { plain: plain.clone(), chosen: figure(&self.chosen) },
            whole: whole.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{byte_offset, nearby_values};

    #[test]
    fn near_numbers_are_whole_and_positive() {
        assert_eq!(nearby_values(64).take(5).collect::<Vec<_>>(), [64, 32, 128, 16, 256]);
        assert_eq!(nearby_values(1).take(4).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(nearby_values(6).collect::<Vec<_>>(), [6, 3, 12, 24, 48, 96]);
        assert_eq!(nearby_values(0).collect::<Vec<_>>(), [0]);
        assert_eq!(nearby_values(i64::MAX).collect::<Vec<_>>(), [i64::MAX]);
    }

    #[test]
    fn columns_count_characters() {
        let text = "// µ\nab\n";
        assert_eq!(
            [byte_offset(text, 1, 4), byte_offset(text, 1, 5), byte_offset(text, 2, 1)],
            [Some(3), Some(5), Some(6)]
        );
        assert_eq!([byte_offset(text, 1, 9), byte_offset(text, 0, 1), byte_offset(text, 9, 1)], [None; 3]);
    }
}
