//! Composition of one schedule from entries for several call sizes.

use super::LockEntry;
use sched_lang::part::MOST_BLOCKS;
use sched_lang::schedule_parts::ScheduleParts;
use sched_nest::Variants;

/// The schedule of entries in ascending order of their rows. Each serves calls of at most its rows that no
/// smaller entry serves, with the blocks of its schedule for such calls. The last one also serves all larger
/// calls. `None` if a text has blocks whose bounds are not plain numbers.
pub fn composed(entries: &[&LockEntry]) -> Option<String> {
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
    let mut smaller = 0;
    for (number, entry) in entries.iter().enumerate() {
        let most = if number + 1 == entries.len() { u64::MAX } else { entry.key.rows };
        let pieces = ScheduleParts::of(&entry.schedule)?;
        for (rows, directives) in pieces.directives.clone().iter() {
            let rows = rows.map_or(u64::MAX, u64::from);
            if rows <= smaller {
                continue;
            }
            let pieces = ScheduleParts { directives: Variants::only(directives.clone()), ..pieces.clone() };
            match served.last_mut() {
                Some((bound, before)) if *before == pieces => *bound = rows.min(most),
                _ => served.push((rows.min(most), pieces)),
            }
            if rows >= most {
                break;
            }
        }
        smaller = entry.key.rows;
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
