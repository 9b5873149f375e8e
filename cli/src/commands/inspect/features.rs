//! The features of a model as a table.

use sched_forest::{FeatureUse, ModelSummary};
use std::fmt::Write;

/// Most features that are listed; the others are counted.
const MOST_LISTED: usize = 20;

/// A column of the table.
struct FeatureColumn {
    title: &'static str,
    width: usize,
    cell: fn(&FeatureUse) -> String,
    /// Whether the column appears even if it is empty for all features.
    always: bool,
}

const COLUMNS: [FeatureColumn; 7] = [
    FeatureColumn { title: "number", width: 6, cell: |it| it.feature.to_string(), always: true },
    FeatureColumn { title: "nodes", width: 8, cell: |it| it.nodes.to_string(), always: true },
    FeatureColumn { title: "thresholds", width: 10, cell: |it| it.thresholds.to_string(), always: true },
    FeatureColumn { title: "values", width: 6, cell: |it| nonzero_cell(it.values), always: false },
    FeatureColumn { title: "sets", width: 6, cell: |it| nonzero_cell(it.sets), always: false },
    FeatureColumn { title: "categories", width: 10, cell: |it| nonzero_cell(it.categories), always: false },
    FeatureColumn {
        title: "type",
        width: 5,
        cell: |it| it.trainer_type.clone().unwrap_or_default(),
        always: false,
    },
];

/// The text of a cell; empty for 0.
fn nonzero_cell(number: usize) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

/// Describes the features that most nodes test.
pub fn describe(out: &mut String, summary: &ModelSummary) -> std::fmt::Result {
    let is_computed = |used: &&FeatureUse| used.feature as usize >= summary.num_features;
    let computed = summary.features.iter().filter(is_computed).count();
    let and_computed =
        if computed > 0 { format!(", and {computed} computed columns") } else { String::new() };
    let features = summary.features.len() - computed;
    writeln!(out, "features used: {features} of {}{and_computed}", summary.num_features)?;
    let mut used: Vec<&FeatureUse> = summary.features.iter().collect();
    used.sort_by_key(|feature| (std::cmp::Reverse(feature.nodes), feature.feature));
    let shown = |column: &&FeatureColumn| {
        column.always || summary.features.iter().any(|feature| !(column.cell)(feature).is_empty())
    };
    let columns: Vec<&FeatureColumn> = COLUMNS.iter().filter(shown).collect();
    let line = |cell: &dyn Fn(&FeatureColumn) -> String, name: &str| {
        let cells = columns.iter().map(|column| format!("{:>width$}", cell(column), width = column.width));
        let cells: Vec<String> = cells.chain([name.to_string()]).collect();
        format!("  {}", cells.join("  ")).trim_end().to_string()
    };
    writeln!(out, "{}", line(&|column| column.title.to_string(), "name"))?;
    for feature in used.iter().take(MOST_LISTED) {
        let name = feature.name.as_deref().unwrap_or_default();
        writeln!(out, "{}", line(&|column| (column.cell)(feature), name))?;
    }
    if used.len() > MOST_LISTED {
        writeln!(out, "  ... and {} more: --json lists all", used.len() - MOST_LISTED)?;
    }
    Ok(())
}
