//! The result of a search as a schedule that a person would write.

use crate::results::{Best, SearchResult};
use std::fmt::Write as _;

/// The text of the result. The schedule for the largest calls is outside of all blocks, and those for smaller
/// calls are in blocks, each below a comment with its speed. Neighbouring sizes with one schedule share a
/// block. `head` becomes the first comment lines; it names the model.
pub fn text(found: &SearchResult, head: &str, target: Option<&str>) -> String {
    let mut all = head.lines().map(|line| format!("// {line}\n")).collect::<String>();
    if let Some(target) = target {
        let _ = writeln!(all, "target {target}\n");
    }
    let mut parts: Vec<(Option<usize>, Vec<&Best>)> = Vec::new();
    for (number, best) in found.best.iter().enumerate() {
        let bound = found.bounds.get(number).copied();
        match parts.last_mut().filter(|(_, known)| known.iter().any(|one| one.schedule == best.schedule)) {
            Some((known, sizes)) => {
                *known = bound;
                sizes.push(best);
            }
            None => parts.push((bound, vec![best])),
        }
    }
    let Some((_, largest)) = parts.pop() else { return all };
    for line in part(&largest) {
        let _ = writeln!(all, "{line}");
    }
    for (bound, sizes) in parts {
        let _ = writeln!(all, "\nwhen n_rows <= {} {{", bound.unwrap_or(1));
        for line in part(&sizes) {
            let _ = writeln!(all, "    {line}");
        }
        all.push_str("}\n");
    }
    all
}

/// The lines of a schedule, below comments with its speed.
fn part<'b>(sizes: &[&'b Best]) -> impl Iterator<Item = String> + 'b {
    let figures: Vec<String> = sizes.iter().flat_map(|best| speed(best)).collect();
    let schedule = sizes.first().map_or("", |best| best.schedule.as_str());
    figures.into_iter().chain(schedule.lines().map(str::to_string))
}

/// Comment lines with the speed of calls of a size.
fn speed(best: &Best) -> Vec<String> {
    let rows = if best.rows == 1 { "1 row".to_string() } else { format!("{} rows", best.rows) };
    let line = |figure: &crate::Figure| {
        let threads = match figure.threads {
            0 => "all threads".to_string(),
            1 => "1 thread".to_string(),
            several => format!("{several} threads"),
        };
        let (own, chosen) = (figure.us_per_row, figure.chosen_us_per_row);
        format!(
            "// {rows}, {threads}: {} \u{b5}s a row ({} to {}), schedc's own {}",
            shown(own.median),
            shown(own.low),
            shown(own.high),
            shown(chosen.median)
        )
    };
    let predicted = best.predicted.as_ref().map(|predicted| {
        let order = if predicted.exact { "" } else { "; trees are added in another order than the model's" };
        format!(
            "// {rows}: {} \u{b5}s a row predicted from counts, schedc's own {}{order}",
            shown(predicted.us_per_row),
            shown(predicted.chosen_us_per_row)
        )
    });
    best.figures.iter().map(line).chain(predicted).collect()
}

/// A time with three digits.
fn shown(time: f64) -> String {
    let digits = if time > 0.0 { (2.0 - time.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{time:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Figure;
    use schedc_measure::Quartiles;

    fn best(rows: usize, schedule: &str) -> Best {
        let us_per_row = Quartiles { low: 0.0512, median: 0.0541, high: 0.0561 };
        let chosen = Quartiles { median: 12.345, ..us_per_row };
        let figures = vec![Figure { threads: 1, us_per_row, chosen_us_per_row: chosen }];
        Best { rows, schedule: schedule.to_string(), figures, predicted: None, tried: 3 }
    }

    #[test]
    fn sizes_with_one_schedule_share_a_block() {
        let found = SearchResult {
            best: vec![best(1, "a\n"), best(8, "a\n"), best(64, "b\nc\n")],
            bounds: vec![3, 20],
            ended_early: false,
        };
        assert_eq!(
            text(&found, "tuned", None),
            "// tuned\n\
             // 64 rows, 1 thread: 0.0541 \u{b5}s a row (0.0512 to 0.0561), schedc's own 12.3\n\
             b\n\
             c\n\
             \n\
             when n_rows <= 20 {\n    \
             // 1 row, 1 thread: 0.0541 \u{b5}s a row (0.0512 to 0.0561), schedc's own 12.3\n    \
             // 8 rows, 1 thread: 0.0541 \u{b5}s a row (0.0512 to 0.0561), schedc's own 12.3\n    \
             a\n\
             }\n"
        );
    }
}
