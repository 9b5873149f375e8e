//! `schedc show`: prints the loop nest or the lineage of a schedule.

use super::{checked_for_display, model_for_display};
use crate::args::{ModelChoice, ScheduleView, Show};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_forest::ReadOptions;
use sched_lang::diagnostics::Severity;
use sched_lang::show::{lineages_json, show_lineages, show_plain_stages, until_line};
use sched_llvm::Cpu;
use sched_nest::Variants;
use sched_nest::show::{nests_json, show_nests};
use schedc_driver::job::is_model;
use schedc_driver::{CodeDestination, Failure, Model, ScheduleSource};

/// Runs the command.
pub fn run(args: &Show, terminal: &Terminal) -> Result<(), Failure> {
    let (mut source, choice) = schedule_to_show(args)?;
    let mut least = Severity::Warning;
    let mut max_rows = None;
    if let Some(line) = args.after {
        let model = model_for_display(&source, &choice, &args.values, terminal)?;
        let until = until_line(&source.text, line, &ScheduleSource::options(model.as_ref(), &args.values));
        (source.text, max_rows) = (until.text, until.max_rows);
        // Warnings about an incomplete schedule are premature: later lines may resolve them.
        least = Severity::Error;
    }
    let (nests, lineages) = checked_for_display(&source, &choice, &args.values, least, terminal)?;
    let (nests, lineages) = (only(nests, max_rows), only(lineages, max_rows));
    print(&match (args.what, args.json) {
        (ScheduleView::Nest, false) => show_plain_stages(&lineages) + &show_nests(&nests),
        (ScheduleView::Nest, true) => format!("{:#}\n", nests_json(&nests)),
        (ScheduleView::Lineage, false) => show_lineages(&lineages),
        (ScheduleView::Lineage, true) => format!("{:#}\n", lineages_json(&lineages)),
    })
}

/// The schedule to show, and its model. For a model alone, the schedule that schedc chooses.
fn schedule_to_show(args: &Show) -> Result<(ScheduleSource, ModelChoice), Failure> {
    let (files, choice) = args.files.split()?;
    let [file] = files.as_slice() else {
        return Err(Failure::usage(
            "`schedc show` shows one schedule",
            "write `schedc show nest MODEL -s FILE`, or name a schedule alone",
        ));
    };
    if choice.model.is_some() || !is_model(file) {
        return Ok((ScheduleSource::read(file)?, choice));
    }
    let model = Model::read(file, &ReadOptions::default())?.with_profile(args.values.profile.as_deref())?;
    let target = args.values.target.as_ref();
    let source = ScheduleSource::chosen_for(&model, target, Cpu::Native, CodeDestination::Artefact);
    Ok((source, ModelChoice { model: Some(file.clone()), no_model: false }))
}

/// The variant for calls of at most `max_rows` rows; all variants if there is no limit.
fn only<T>(variants: Variants<T>, max_rows: Option<u32>) -> Variants<T> {
    match max_rows {
        Some(rows) => Variants::only(variants.into_for_rows(usize::try_from(rows).unwrap_or(usize::MAX))),
        None => variants,
    }
}
