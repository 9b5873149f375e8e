//! The stages of a pipeline, and what became of their columns.

use schedc_driver::{ColumnSummary, Fate, StageSummary};
use std::fmt::Write;

/// Most columns of a stage that are listed; the others are counted.
const LISTED: usize = 20;

/// The words for the fates of columns, in the order in which they are counted.
const WORDS: [&str; 4] = ["folded", "table", "computed", "never read"];

fn word(fate: Fate) -> &'static str {
    let [folded, table, computed, never_read] = WORDS;
    match fate {
        Fate::Folded => folded,
        Fate::Categories | Fate::Table => table,
        Fate::Computed(_) => computed,
        Fate::Unread => never_read,
    }
}

/// The name of a stage: that of the pipeline's step, which nodes of several operators share.
fn name(stage: &StageSummary) -> &str {
    let step = stage.name.split('/').next().unwrap_or_default();
    if step.is_empty() { "trees" } else { step }
}

/// Describes stages and their columns.
pub fn describe(out: &mut String, stages: &[StageSummary]) -> std::fmt::Result {
    for stage in stages {
        let count = |of: &str| stage.columns.iter().filter(|column| word(column.fate) == of).count();
        let counts = WORDS.map(|word| (count(word), word)).into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        writeln!(out, "stage {}: {} columns: {}", name(stage), stage.columns.len(), counts.join(", "))?;
        writeln!(out, "  column  fate        from")?;
        for (number, column) in stage.columns.iter().enumerate().take(LISTED) {
            writeln!(out, "  {number:>6}  {:<10}  {}", word(column.fate), column.description)?;
        }
        if stage.columns.len() > LISTED {
            writeln!(out, "  and {} more", stage.columns.len() - LISTED)?;
        }
    }
    Ok(())
}

/// Stages as JSON.
pub fn to_json(stages: &[StageSummary]) -> serde_json::Value {
    let column =
        |column: &ColumnSummary| serde_json::json!({ "fate": word(column.fate), "from": column.description });
    let stage = |stage: &StageSummary| {
        let columns: Vec<_> = stage.columns.iter().map(column).collect();
        serde_json::json!({ "name": name(stage), "columns": columns })
    };
    stages.iter().map(stage).collect()
}
