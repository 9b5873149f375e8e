//! The stages of a pipeline, and the compilation of their columns: folded, a table, leaves, computed or never
//! read.

use schedc_driver::{ColumnFate, ColumnSummary, Model};
use std::fmt::Write;

/// Most columns of a stage that are listed; the others are counted.
const MOST_LISTED: usize = 20;

/// The words for the compilation of a column, in the order in which they are counted.
const WORDS: [&str; 5] = ["folded", "table", "leaf", "computed", "never read"];

fn word(fate: ColumnFate) -> &'static str {
    let [folded, table, leaf, computed, never_read] = WORDS;
    match fate {
        ColumnFate::Folded => folded,
        ColumnFate::Categories | ColumnFate::Table => table,
        ColumnFate::Leaf => leaf,
        ColumnFate::Computed(_) => computed,
        ColumnFate::Unread => never_read,
    }
}

/// The names of a model's stages: those of the pipeline's steps, each of which may have several operators.
/// The last one has the name that schedules take.
fn names(model: &Model) -> Vec<String> {
    let facts = model.info();
    let last = facts.stages.last().map(|stage| stage.name.clone());
    let before = model.stages.len().saturating_sub(1);
    let steps = model.stages.iter().map(|stage| stage.name.clone());
    steps.take(before).chain(last).collect()
}

/// Describes stages and their columns.
pub fn describe(out: &mut String, model: &Model) -> std::fmt::Result {
    for (name, stage) in names(model).iter().zip(&model.stages) {
        let count = |of: &str| stage.columns.iter().filter(|column| word(column.fate) == of).count();
        let counts = WORDS.map(|word| (count(word), word)).into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        writeln!(out, "stage {name}: {} columns: {}", stage.columns.len(), counts.join(", "))?;
        writeln!(out, "  column  fate        from")?;
        for (number, column) in stage.columns.iter().enumerate().take(MOST_LISTED) {
            writeln!(out, "  {number:>6}  {:<10}  {}", word(column.fate), column.description)?;
        }
        if stage.columns.len() > MOST_LISTED {
            writeln!(out, "  and {} more", stage.columns.len() - MOST_LISTED)?;
        }
    }
    Ok(())
}

/// Stages as JSON.
pub fn to_json(model: &Model) -> serde_json::Value {
    let column =
        |column: &ColumnSummary| serde_json::json!({ "fate": word(column.fate), "from": column.description });
    let stages = names(model).into_iter().zip(&model.stages).map(|(name, stage)| {
        let columns: Vec<_> = stage.columns.iter().map(column).collect();
        serde_json::json!({ "name": name, "columns": columns })
    });
    stages.collect()
}
