//! `schedc inspect`: describes a model in numbers, or the content of a library.

mod features;
mod library;
mod loader;
mod memory;
mod stages;

use crate::args::Inspect;
use crate::stdout::print;
pub use library::{ELF_MAGIC, has_no_predict_function};
use library::{InspectedLibrary, is_library};
use sched_diagnostics::internal;
use sched_forest::{MissingDirections, MissingValues, ModelFormat, ModelSummary, summarize};
use sched_nest::{StageInfo, StageKind};
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::categories::{cut_names, warning_of_cut_names};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Width of the longest bar of a histogram, in characters.
const BAR_WIDTH: usize = 40;

/// Runs the command.
pub fn run(args: &Inspect) -> Result<(), Failure> {
    let bytes = Model::bytes(&args.model)?;
    if is_library(&bytes) {
        return inspect_library(args, &bytes);
    }
    let model = Model::of_bytes(&args.model, &bytes, &args.reading.options())?;
    if args.facts {
        return print(&format!("{}\n", facts(&model)));
    }
    let summary = summarize(model.forest()).from_file(&model.source, &model.version);
    if args.json {
        let mut json = serde_json::to_value(&summary)
            .map_err(|error| Failure::new(internal::IMPOSSIBLE, error, internal::BUG_REPORT_HELP))?;
        json["fingerprint"] = model.fingerprint.clone().into();
        json["loader"] = loader::differences(&model).into();
        if !model.stages.is_empty() {
            json["stages"] = stages::to_json(&model);
        }
        if args.memory {
            json["memory"] = memory::to_json(&memory::of_each_layout(&model));
        }
        return print(&format!("{json:#}\n"));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = describe(&mut text, &model, &summary);
    if args.memory {
        let _ = memory::describe(&mut text, &memory::of_each_layout(&model));
    }
    print(&text)
}

/// Describes a library. Refuses options that only affect models, since a library is compiled already.
fn inspect_library(args: &Inspect, bytes: &[u8]) -> Result<(), Failure> {
    let decided = [
        ("--facts", args.facts),
        ("--iterations", args.reading.iterations.is_some()),
        ("--as-release", args.reading.as_release.is_some()),
        ("--memory", args.memory),
    ];
    if let Some((option, _)) = decided.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(
            format!("{option} has no effect on {}, which is already compiled", args.model.display()),
            "inspect the model that the library was built from",
        ));
    }
    let library = InspectedLibrary::read(&args.model, bytes)?;
    if args.json {
        return print(&format!("{:#}\n", library.to_json()));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = library.describe(&mut text, &args.model);
    print(&text)
}

/// The processors of a library's versions, the most demanding first.
pub fn targets(path: &Path, bytes: &[u8]) -> Result<Vec<String>, Failure> {
    Ok(InspectedLibrary::read(path, bytes)?.targets())
}

/// The descriptions in a library's versions, the most demanding processor first.
pub fn versions(path: &Path, bytes: &[u8]) -> Result<Vec<serde_json::Value>, Failure> {
    Ok(InspectedLibrary::read(path, bytes)?.into_versions())
}

/// A model's properties for the language server, which parses this JSON.
fn facts(model: &Model) -> serde_json::Value {
    let facts = model.info();
    serde_json::json!({
        "fingerprint": model.fingerprint,
        "num_trees": facts.num_trees,
        "num_features": facts.num_features,
        "tested_features": facts.tested_features,
        "oblivious": facts.oblivious,
        "num_classes": facts.num_classes,
        "depths": facts.depths.to_vec(),
        "leaves": facts.leaves,
        "leaf_vectors": facts.has_leaf_vectors,
        "margins_in_turn": facts.takes_margins_in_turn,
        "value_bytes": facts.value_bytes,
        "sum_bytes": facts.sum_bytes,
        "bin_bytes": facts.bin_bytes,
        "bins": facts.bins_per_row,
        "search_steps": facts.search_steps,
        "category_features": facts.category_features,
        "class_features": facts.class_features,
        "stages": facts.stages.iter().map(stage_facts).collect::<Vec<_>>(),
    })
}

/// A stage for the language server.
fn stage_facts(stage: &StageInfo) -> serde_json::Value {
    serde_json::json!({
        "name": stage.name,
        "steps": stage.steps,
        "kind": stage.kind.word(),
        "units": stage.units,
        "terms": stage.terms,
        "ordered": stage.is_ordered,
        "doubles": stage.in_doubles,
    })
}

fn describe(out: &mut String, model: &Model, summary: &ModelSummary) -> std::fmt::Result {
    let version: Vec<String> = model.version.iter().map(u64::to_string).collect();
    writeln!(out, "{}  {}", model.path.display(), model.fingerprint)?;
    writeln!(out, "  objective   {} ({})", summary.objective, summary.transform)?;
    let format = model.source.format.map(ModelFormat::title);
    let version = if version.is_empty() { String::new() } else { format!(", version {}", version.join(".")) };
    if let Some(format) = format {
        writeln!(out, "  saved by    {format}{version}")?;
    }
    let has_sums_alone = summary.inner_nodes == 0 && summary.linear_leaves > 0;
    match has_sums_alone {
        true => {
            let noun = if summary.linear_leaves == 1 { "sum" } else { "sums" };
            let (sums, terms) = (summary.linear_leaves, summary.linear_terms);
            writeln!(out, "  scores      {sums} {noun}, {terms} terms")?;
        }
        false => writeln!(
            out,
            "  trees       {} in {} iterations, {} inner nodes, {} leaves",
            summary.trees, summary.iterations, summary.inner_nodes, summary.leaves
        )?,
    }
    let stages: Vec<String> = model.info().stages.iter().filter_map(column_stage).collect();
    if !stages.is_empty() {
        writeln!(out, "  stages      {}", stages.join(", "))?;
    }
    if let Some(best) = summary.best_iteration {
        writeln!(out, "  best        iteration {best}; --iterations best predicts with those up to it")?;
    }
    let margins = if summary.num_margins == 1 { "margin" } else { "margins" };
    writeln!(out, "  rows        {} features, {} {margins}", summary.num_features, summary.num_margins)?;
    if has_sums_alone {
        writeln!(
            out,
            "  types       features {}, sums {}, results {}",
            summary.input, summary.accumulator, summary.output
        )?;
    } else {
        describe_tests(out, summary)?;
    }
    if !summary.raw_steps.is_empty() {
        writeln!(out, "  margins     sums, then {}", summary.raw_steps.join(", "))?;
    }
    if let Some(labels) = summary.labels.as_ref().filter(|labels| !labels.is_empty()) {
        describe_classes(out, labels, &summary.targets)?;
    }
    if let Some(leaf) = summary.leaf_values.filter(|_| !has_sums_alone) {
        writeln!(out, "  leaves      {:.6} to {:.6}, mean {:.6}", leaf.min, leaf.max, leaf.mean)?;
    }
    for rule in &summary.rules {
        writeln!(out, "  release     {rule}")?;
    }
    for note in &model.notes {
        writeln!(out, "  note        {note}")?;
    }
    if let Some(warning) = warning_of_cut_names(&cut_names(model)) {
        writeln!(out, "  warning     {}", warning.message)?;
    }
    for difference in loader::differences(model) {
        writeln!(out, "  loader      {difference}")?;
    }
    stages::describe(out, model)?;
    if has_sums_alone {
        return Ok(());
    }
    histogram(out, "depth of trees", &summary.depths)?;
    histogram(out, "depth of leaves", &summary.leaf_depths)?;
    features::describe(out, summary)
}

/// A stage before the last trees, as schedules name it.
fn column_stage(stage: &StageInfo) -> Option<String> {
    let (name, StageInfo { units, terms, .. }) = (stage.title(), stage);
    let order = if stage.is_ordered { ", in order" } else { "" };
    match stage.kind {
        StageKind::Trees => None,
        StageKind::Products | StageKind::Scores => {
            let sums = if *units == 1 { "sum" } else { "sums" };
            let noun = if *terms == 1 { "term" } else { "terms" };
            Some(format!("{name}: {units} {sums} of {terms} {noun}{order}"))
        }
        StageKind::Distances => {
            Some(format!("{name}: squared distances from {units} vectors of {terms} columns{order}"))
        }
        StageKind::ColumnTrees => {
            let results = if *units == 1 { "result" } else { "results" };
            let trees = if *terms == 1 { "tree" } else { "trees" };
            Some(format!("{name}: {units} {results} of {terms} {trees}"))
        }
    }
}

/// Describes the labels of classes, on a line for each target if there are several.
fn describe_classes(out: &mut String, labels: &[String], targets: &[usize]) -> std::fmt::Result {
    if targets.is_empty() {
        return writeln!(out, "  classes     {}", labels.join(", "));
    }
    let mut rest = labels;
    for (target, count) in targets.iter().enumerate() {
        let (own, behind) = rest.split_at(rest.len().min(*count));
        writeln!(out, "  classes {target:<3} {}", own.join(", "))?;
        rest = behind;
    }
    Ok(())
}

/// Describes the tests of nodes, and the types in which they compare.
fn describe_tests(out: &mut String, summary: &ModelSummary) -> std::fmt::Result {
    writeln!(
        out,
        "  types       features {}, thresholds {}, sums {}, results {}",
        summary.input, summary.threshold, summary.accumulator, summary.output
    )?;
    writeln!(out, "  missing     {}; {}", missing_values(summary.missing_values), missing(summary.missing))?;
    writeln!(out, "  thresholds  {}", thresholds(summary))?;
    if summary.sets > 0 {
        writeln!(out, "  categories  {} sets that nodes test", summary.sets)?;
    }
    if summary.linear_leaves > 0 {
        writeln!(out, "  linear      {} leaves are linear functions of features", summary.linear_leaves)?;
    }
    Ok(())
}

fn missing_values(values: MissingValues) -> &'static str {
    match values {
        MissingValues::Nan => "NaN",
        MissingValues::NanAndSomeZeros => "NaN, at some nodes zeros",
        MissingValues::NanAndZeros => "NaN and zeros",
    }
}

fn thresholds(summary: &ModelSummary) -> String {
    let different = format!("{} different", summary.distinct_thresholds);
    match summary.wide_thresholds {
        0 => different,
        wide => format!("{different}, {wide} of them rounded for rows in single precision"),
    }
}

fn missing(directions: MissingDirections) -> &'static str {
    match directions {
        MissingDirections::None => "there are no inner nodes",
        MissingDirections::AllLeft => "always left",
        MissingDirections::AllRight => "always right",
        MissingDirections::Mixed => "left or right, by node",
    }
}

fn histogram(out: &mut String, title: &str, counts: &BTreeMap<u32, usize>) -> std::fmt::Result {
    let most = counts.values().copied().max().unwrap_or(0).max(1);
    writeln!(out, "{title}")?;
    for (depth, count) in counts {
        let bar = "█".repeat((count * BAR_WIDTH).div_ceil(most));
        writeln!(out, "  {depth:>4}  {count:>8}  {bar}")?;
    }
    Ok(())
}
