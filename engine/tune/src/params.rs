//! The search from a start schedule: over the values of its params.

use crate::field::{Entrant, RaceField, Watch};
use crate::limits::MIN_GAIN_OVER_CHOSEN;
use crate::results::{BestSchedule, SearchResult};
use crate::state::SearchState;
use crate::task::TuningTask;
use sched_lang::schedule_parts::ScheduleParts;
use sched_lang::{CheckOptions, CheckPurpose};
use schedc_driver::choice::ChosenSchedules;
use schedc_driver::{CodeDestination, Failure, ScheduleSource};
use std::time::{Duration, Instant};

/// Share of the remaining time that goes into one race. A larger share compares values more precisely, and
/// leaves time for fewer.
const RACE_SHARE: f64 = 0.25;

/// Searches for each call size the values of the params under which its calls are fastest.
pub fn search(
    task: &TuningTask,
    start: &ScheduleSource,
    state: &mut SearchState,
    watch: &mut Watch,
) -> Result<SearchResult, Failure> {
    let began = Instant::now();
    let known = ScheduleSource::options(Some(task.model), task.values);
    let options = CheckOptions { purpose: CheckPurpose::Compile, target: Some(task.target.clone()), ..known };
    let names: Vec<String> =
        sched_lang::check(&start.text, &options).params.into_iter().map(|param| param.name).collect();
    if names.is_empty() {
        return Err(Failure::usage(
            format!("the schedule {} has no params whose values could be varied", start.name),
            "write `param block = 64` above it and `block` in place of a number, or leave out -s to search \
             all schedules",
        ));
    }
    if task.sizes.len() > 1 && ScheduleParts::of(&start.text).is_none() {
        return Err(Failure::usage(
            format!("the schedule {} has a block whose bound is not a plain number", start.name),
            "write the bound as in `when n_rows <= 8`, or tune one number of rows, such as --batch 64",
        ));
    }
    let owns = ChosenSchedules::new(task.model, task.cpu, CodeDestination::Artefact).variants;
    let sizes = task.sizes.len();
    let mut fields: Vec<RaceField> = Vec::new();
    for (number, rows) in task.sizes.iter().enumerate() {
        let until = task.budget.mul_f64((number + 1) as f64 / sizes as f64);
        fields.push(RaceField::new(task, *rows, began, until.max(Duration::from_millis(50))));
    }
    let mut found = SearchResult::default();
    for (field, rows) in fields.iter_mut().zip(task.sizes) {
        let own = owns.for_rows(*rows).clone();
        let mut best = start.text.clone();
        // A field keeps one of several texts with the same nests. The start is kept, since it has the params.
        let own = if field.have_same_nests(&own, &best) { best.clone() } else { own };
        let own_has_params = own == best;
        let entered = field.enter(&[own.clone(), best.clone()]);
        field.race(&entered, RACE_SHARE, watch)?;
        'better: while !field.ended && !field.remaining_time().is_zero() {
            for name in &names {
                let others = variants(&best, name, &options);
                let mut racing = field.enter(&others);
                if racing.is_empty() {
                    continue;
                }
                racing.extend(field.entrants.iter().position(|one| one.text == best));
                field.race(&racing, RACE_SHARE, watch)?;
                let fastest = field.entrants.iter().filter(|one| own_has_params || one.text != own);
                let fastest =
                    fastest.min_by(|a, b| a.time().total_cmp(&b.time())).map(|one| one.text.clone());
                if let Some(fastest) = fastest.filter(|fastest| *fastest != best) {
                    best = fastest;
                    continue 'better;
                }
            }
            break;
        }
        let place = |text: &str| field.entrants.iter().position(|one| one.text == text);
        let (Some(at), Some(chosen)) = (place(&best), place(&own)) else {
            return Err(Failure::usage(
                format!("the schedule {} cannot be compiled for the model", start.name),
                "run `schedc build MODEL -s FILE` with the same options to see the errors",
            ));
        };
        if !field.ended {
            field.last_race(&[at, chosen], watch)?;
        }
        field.save_times(state);
        let time = |number: usize| field.entrants.get(number).map_or(f64::INFINITY, Entrant::time);
        let slower = time(at) / time(chosen);
        let is_own = !task.allow_slower && slower > MIN_GAIN_OVER_CHOSEN;
        found.best.push(BestSchedule {
            rows: *rows,
            schedule: if is_own { own } else { best },
            figures: field.figures(if is_own { chosen } else { at }, chosen),
            exact: field.entrants.get(if is_own { chosen } else { at }).is_some_and(|one| one.exact),
            predicted: None,
            tried: field.entrants.len(),
            is_own,
            slower: is_own.then_some(slower),
        });
        found.ended_early |= field.ended;
        if field.ended {
            break;
        }
    }
    found.bounds = found.best.windows(2).map(|pair| pair[0].rows).collect();
    // Calls of other sizes keep the start schedule, unless it was too slow for some size.
    found.own = found.best.iter().any(|best| best.slower.is_some()).then_some(owns);
    Ok(found)
}

/// Copies of the text with other values of a param: the declared ones, or else half and double its value.
fn variants(text: &str, name: &str, options: &CheckOptions) -> Vec<String> {
    let checked = sched_lang::check(text, options);
    let Some(param) = checked.params.iter().find(|param| param.name == name) else { return Vec::new() };
    let Some(value) = param.value.as_int() else { return Vec::new() };
    let declared: Vec<i64> = param.choices.iter().filter_map(|choice| choice.as_int()).collect();
    let others = if declared.is_empty() { vec![value / 2, value.saturating_mul(2)] } else { declared };
    let with = |other: i64| {
        let place = value_of(text, param.span.start as usize)?;
        let mut changed = text.to_owned();
        changed.replace_range(place, &other.to_string());
        let is_new = other > 0 && other != value && sched_lang::check(&changed, options).nests.is_some();
        is_new.then_some(changed)
    };
    others.into_iter().filter_map(with).collect()
}

/// The range of a param's value in `text`, if it is a number. `declared` is the start of the declaration.
fn value_of(text: &str, declared: usize) -> Option<std::ops::Range<usize>> {
    let sign = declared + text.get(declared..)?.find('=')?;
    let is_digit = |c: char| c.is_ascii_digit();
    let start = sign + text.get(sign..)?.find(is_digit)?;
    let rest = text.get(start..)?;
    let length = rest.find(|c: char| !is_digit(c)).unwrap_or(rest.len());
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_get_the_values_that_they_declare_or_their_neighbours() {
        let options = CheckOptions::default();
        let text = "param rows = 64\ntile(batch, b0, b1, rows)\n";
        let others = variants(text, "rows", &options);
        assert_eq!(others, [text.replace("64", "32"), text.replace("64", "128")]);
        assert!(variants(text, "columns", &options).is_empty());
    }
}
