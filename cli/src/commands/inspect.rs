//! `schedc inspect`: a model in numbers, and what is in a library.

mod library;

use super::print;
use crate::args::Inspect;
use crate::failure::Failure;
use crate::model::Model;
use library::{Library, is_library};
use sched_diagnostics::internal;
use sched_forest::{MissingDirections, ModelSummary, summarize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Features listed one by one; the rest is summed up.
const LISTED: usize = 40;
/// Width of the longest bar of a histogram, in characters.
const BAR: usize = 40;

/// Runs the command.
pub fn run(args: &Inspect) -> Result<(), Failure> {
    let bytes = Model::bytes(&args.model)?;
    if is_library(&bytes) {
        return inspect_library(args, &bytes);
    }
    let model = Model::of_bytes(&args.model, &bytes, &args.reading)?;
    if args.facts {
        return print(&format!("{}\n", facts(&model)));
    }
    let summary = summarize(&model.forest).from_file(&model.source, &model.version);
    if args.json {
        let mut json = serde_json::to_value(&summary)
            .map_err(|error| Failure::new(internal::IMPOSSIBLE, error, internal::REPORT))?;
        json["fingerprint"] = model.fingerprint.clone().into();
        return print(&format!("{json:#}\n"));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = describe(&mut text, &model, &summary);
    print(&text)
}

/// Says what is in a library, where options on the model's reading have been decided.
fn inspect_library(args: &Inspect, bytes: &[u8]) -> Result<(), Failure> {
    if args.facts || args.reading.iterations.is_some() {
        let option = if args.facts { "--facts" } else { "--iterations" };
        return Err(Failure::usage(
            format!("{option} has no effect on {}, which is compiled", args.model.display()),
            "inspect the model that the library was built from",
        ));
    }
    let library = Library::read(&args.model, bytes)?;
    if args.json {
        return print(&format!("{:#}\n", library.to_json()));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = library.describe(&mut text, &args.model);
    print(&text)
}

/// What the language server needs to know of a model; it reads this back.
fn facts(model: &Model) -> serde_json::Value {
    let facts = model.facts();
    serde_json::json!({
        "fingerprint": model.fingerprint,
        "num_trees": facts.num_trees,
        "num_features": facts.num_features,
        "tested_features": facts.tested_features,
        "oblivious": facts.oblivious,
        "num_classes": facts.num_classes,
        "depths": facts.depths.to_vec(),
        "leaves": facts.leaves,
    })
}

fn describe(out: &mut String, model: &Model, summary: &ModelSummary) -> std::fmt::Result {
    let version: Vec<String> = model.version.iter().map(u64::to_string).collect();
    writeln!(out, "{}  {}", model.path.display(), model.fingerprint)?;
    writeln!(out, "  objective   {} ({})", summary.objective, summary.transform)?;
    let trainer = [model.source.trainer, model.source.format].into_iter().filter(|name| !name.is_empty());
    let trainer = trainer.collect::<Vec<_>>().join(" ");
    let version = if version.is_empty() { String::new() } else { format!(", version {}", version.join(".")) };
    if !trainer.is_empty() {
        writeln!(out, "  saved by    {trainer}{version}")?;
    }
    writeln!(
        out,
        "  trees       {} in {} iterations, {} inner nodes, {} leaves",
        summary.trees, summary.iterations, summary.inner_nodes, summary.leaves
    )?;
    if let Some(best) = summary.best_iteration {
        writeln!(out, "  best        iteration {best}: --iterations best uses those up to it")?;
    }
    writeln!(out, "  rows        {} features, {} margins", summary.num_features, summary.num_margins)?;
    writeln!(
        out,
        "  types       features {}, thresholds {}, sums {}",
        summary.input, summary.threshold, summary.accumulator
    )?;
    writeln!(out, "  missing     {}", missing(summary.missing))?;
    if summary.sets > 0 {
        writeln!(out, "  categories  {} sets that splits test", summary.sets)?;
    }
    if let Some(labels) = summary.labels.as_ref().filter(|labels| !labels.is_empty()) {
        writeln!(out, "  classes     {}", labels.join(", "))?;
    }
    if let Some(leaf) = summary.leaf_values {
        writeln!(out, "  leaves      {:.6} to {:.6}, mean {:.6}", leaf.min, leaf.max, leaf.mean)?;
    }
    for note in &model.notes {
        writeln!(out, "  note        {note}")?;
    }
    histogram(out, "depth of trees", &summary.depths)?;
    histogram(out, "depth of leaves", &summary.leaf_depths)?;
    features(out, summary)
}

fn missing(directions: MissingDirections) -> &'static str {
    match directions {
        MissingDirections::None => "no node asks",
        MissingDirections::AllLeft => "always left",
        MissingDirections::AllRight => "always right",
        MissingDirections::Mixed => "left or right, each node says",
    }
}

fn histogram(out: &mut String, title: &str, counts: &BTreeMap<u32, usize>) -> std::fmt::Result {
    let most = counts.values().copied().max().unwrap_or(0).max(1);
    writeln!(out, "{title}")?;
    for (depth, count) in counts {
        let bar = "█".repeat((count * BAR).div_ceil(most));
        writeln!(out, "  {depth:>4}  {count:>8}  {bar}")?;
    }
    Ok(())
}

fn features(out: &mut String, summary: &ModelSummary) -> std::fmt::Result {
    writeln!(out, "features used: {} of {}", summary.features.len(), summary.num_features)?;
    let mut used: Vec<_> = summary.features.iter().collect();
    used.sort_by_key(|feature| (std::cmp::Reverse(feature.nodes), feature.feature));
    writeln!(out, "  {:>6}  {:>8}  {:>10}  name", "number", "nodes", "thresholds")?;
    for feature in used.iter().take(LISTED) {
        let name = feature.name.as_deref().unwrap_or("");
        let line =
            format!("  {:>6}  {:>8}  {:>10}  {name}", feature.feature, feature.nodes, feature.thresholds);
        writeln!(out, "{}", line.trim_end())?;
    }
    if used.len() > LISTED {
        writeln!(out, "  ... and {} more: --json lists all", used.len() - LISTED)?;
    }
    Ok(())
}
