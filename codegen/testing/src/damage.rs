//! Schedules with random mistakes, as they occur while editing.

use crate::Rng;

/// The schedule `text` with one to three random changes: a line removed, repeated or swapped with another,
/// other digits, or `block` for `grid`. The same seed gives the same changes. The result may be legal.
pub fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + rng.below(3) {
        let [at, other] = [rng.below(lines.len()), rng.below(lines.len())];
        if lines.is_empty() {
            continue;
        }
        match rng.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => lines[at] = lines[at].replace("grid", "block"),
            _ => lines[at] = lines[at].replace(|c: char| c.is_ascii_digit(), &rng.below(10).to_string()),
        }
    }
    lines.join("\n")
}
