//! Composition of one schedule from entries for several call sizes.

use super::Entry;
use sched_lang::part::MOST_BLOCKS;
use sched_lang::schedule_parts::ScheduleParts;
use sched_nest::Variants;

/// The schedule of entries in ascending order of their rows. Each serves calls of at most its rows that no
/// smaller entry serves. The last one serves all larger calls, too. `None` if a text has blocks whose bounds
/// are not plain numbers.
pub fn composed(entries: &[&Entry]) -> Option<String> {
    let last = entries.last()?;
    let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
    let head: String = names.iter().map(|name| format!("// from the lock: {name}\n")).collect();
    if entries.iter().all(|entry| entry.schedule == last.schedule) {
        return Some(head + &last.schedule);
    }
    let target = last.key.target.as_str();
    let mut text = if target.starts_with("gpu") { format!("{head}target {target}\n") } else { head };
    // The parts of each schedule with the most rows that it serves. Equal neighbours are merged.
    let mut served: Vec<(u64, ScheduleParts)> = Vec::new();
    for entry in entries {
        let pieces = ScheduleParts::of(&entry.schedule)?;
        let rows = usize::try_from(entry.key.rows).unwrap_or(usize::MAX);
        let directives = Variants::only(pieces.directives.for_rows(rows).clone());
        let pieces = ScheduleParts { directives, ..pieces };
        match served.last_mut() {
            Some((rows, before)) if *before == pieces => *rows = entry.key.rows,
            _ => served.push((entry.key.rows, pieces)),
        }
    }
    let (_, outer) = served.pop()?;
    // A text has at most `MOST_BLOCKS` blocks. Calls of fewer rows are served by the next larger entry.
    let blocks = served.split_off(served.len().saturating_sub(MOST_BLOCKS));
    let beside = |(rows, pieces): (u64, ScheduleParts)| (rows, pieces.beside(&outer, &format!("_{rows}")));
    let blocks: Vec<(u64, ScheduleParts)> = blocks.into_iter().map(beside).collect();
    let declarations = blocks.iter().flat_map(|(_, pieces)| &pieces.declarations);
    for line in outer.declarations.iter().chain(declarations) {
        text = text + line + "\n";
    }
    text += outer.directives.rest();
    for (rows, pieces) in &blocks {
        text += &format!("\nwhen n_rows <= {rows} {{\n");
        text.extend(pieces.directives.rest().lines().map(|line| format!("    {line}\n")));
        text += "}\n";
    }
    Some(text)
}
