//! Composition of one schedule from entries for several call sizes.

use super::Entry;
use sched_lang::part::MOST_BLOCKS;
use sched_lang::pieces::Pieces;

/// The schedule of entries in ascending order of their rows. Each serves calls of at most its rows that no
/// smaller entry serves. The last one serves all larger calls, too. `None` if the texts cannot be composed
/// because they declare different params.
pub fn composed(entries: &[&Entry]) -> Option<String> {
    let last = entries.last()?;
    let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
    let head: String = names.iter().map(|name| format!("// from the lock: {name}\n")).collect();
    if entries.iter().all(|entry| entry.schedule == last.schedule) {
        return Some(head + &last.schedule);
    }
    let target = last.key.target.as_str();
    let mut text = if target.starts_with("gpu") { format!("{head}target {target}\n") } else { head };
    let mut declared: Option<Vec<String>> = None;
    // Directives with the most rows that they serve. Equal neighbours are merged.
    let mut served: Vec<(u64, String)> = Vec::new();
    for entry in entries {
        let pieces = Pieces::of(&entry.schedule)?;
        if *declared.get_or_insert_with(|| pieces.declarations.clone()) != pieces.declarations {
            return None;
        }
        let rows = usize::try_from(entry.key.rows).unwrap_or(usize::MAX);
        let directives = pieces.directives.for_rows(rows).clone();
        match served.last_mut() {
            Some((rows, before)) if *before == directives => *rows = entry.key.rows,
            _ => served.push((entry.key.rows, directives)),
        }
    }
    let (_, rest) = served.pop()?;
    for line in declared.unwrap_or_default() {
        text = text + &line + "\n";
    }
    text += &rest;
    // A text has at most `MOST_BLOCKS` blocks. Calls of fewer rows are served by the next larger entry.
    for (rows, directives) in served.iter().skip(served.len().saturating_sub(MOST_BLOCKS)) {
        text += &format!("\nwhen n_rows <= {rows} {{\n");
        text.extend(directives.lines().map(|line| format!("    {line}\n")));
        text += "}\n";
    }
    Some(text)
}
