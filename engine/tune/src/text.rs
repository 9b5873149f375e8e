//! The result of a search as a schedule that a person would write.

use crate::results::{BestSchedule, SearchResult};
use sched_lang::schedule_parts::ScheduleParts;
use std::fmt::Write as _;

/// The text of the result. The schedule for the largest calls is outside of all blocks, and those for smaller
/// calls are in blocks, each below a comment with its speed. Neighbouring sizes with one schedule share a
/// block. `head` becomes the first comment lines; it names the model.
pub fn schedule_text(found: &SearchResult, head: &str, target: Option<&str>) -> String {
    let mut all = head.lines().map(|line| format!("// {line}\n")).collect::<String>();
    if let Some(target) = target {
        let _ = writeln!(all, "target {target}\n");
    }
    let mut parts: Vec<(Option<usize>, Vec<&BestSchedule>)> = Vec::new();
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
    if parts.is_empty() {
        lines(&mut all, "", &largest, common_schedule(&largest));
        return all;
    }
    let outer = schedule_parts(&largest);
    let apart = outer.as_ref().filter(|outer| !outer.directives.bounded().is_empty());
    match apart {
        // The start schedule itself has blocks.
        Some(outer) => {
            let own = outer.declarations.iter().map(|line| format!("{line}\n")).collect::<String>();
            lines(&mut all, "", &largest, &(own + directives_for(outer, &largest)));
        }
        None => lines(&mut all, "", &largest, common_schedule(&largest)),
    }
    let mut blocks = String::new();
    for (bound, sizes) in parts {
        let bound = bound.unwrap_or(1);
        let _ = writeln!(blocks, "\nwhen n_rows <= {bound} {{");
        match (schedule_parts(&sizes), &outer) {
            (Some(inner), Some(outer)) => {
                let inner = inner.beside(outer, &format!("_{bound}"));
                for (number, line) in inner.declarations.iter().enumerate() {
                    let _ = writeln!(all, "{}{line}", if number == 0 { "\n" } else { "" });
                }
                lines(&mut blocks, "    ", &sizes, directives_for(&inner, &sizes));
            }
            _ => lines(&mut blocks, "    ", &sizes, common_schedule(&sizes)),
        }
        blocks.push_str("}\n");
    }
    all + &blocks
}

/// Schedule of calls of these sizes.
fn common_schedule<'b>(sizes: &[&'b BestSchedule]) -> &'b str {
    sizes.first().map_or("", |best| best.schedule.as_str())
}

fn schedule_parts(sizes: &[&BestSchedule]) -> Option<ScheduleParts> {
    ScheduleParts::of(common_schedule(sizes))
}

/// The directives for calls of the largest of these sizes.
fn directives_for<'p>(pieces: &'p ScheduleParts, sizes: &[&BestSchedule]) -> &'p str {
    pieces.directives.for_rows(sizes.last().map_or(1, |best| best.rows))
}

/// Appends a schedule, below comments with its speed.
fn lines(all: &mut String, indent: &str, sizes: &[&BestSchedule], schedule: &str) {
    let figures = sizes.iter().flat_map(|best| speed_comments(best));
    for line in figures.chain(schedule.lines().map(str::to_string)) {
        let _ = writeln!(all, "{indent}{line}");
    }
}

/// Words for a ratio of speeds, such as `1.02 times faster than`.
pub fn speed_ratio_text(gain: f64) -> String {
    let times = |gain: f64| if gain < 10.0 { format!("{gain:.2}") } else { format!("{gain:.0}") };
    match gain {
        1.005.. => format!("{} times faster than", times(gain)),
        0.995..1.005 => "as fast as".to_string(),
        _ => format!("{} times slower than", times(1.0 / gain)),
    }
}

/// Describes the calls of a result: `64 rows, 1 thread`. Timings have a number of threads (0 for all); the
/// cost model's predictions have none.
pub fn calls_text(rows: usize, threads: Option<i32>) -> String {
    let rows = if rows == 1 { "1 row".to_string() } else { format!("{rows} rows") };
    match threads {
        None => rows,
        Some(0) => format!("{rows}, all threads"),
        Some(1) => format!("{rows}, 1 thread"),
        Some(several) => format!("{rows}, {several} threads"),
    }
}

/// Comment lines with the speed of calls of a size.
fn speed_comments(best: &BestSchedule) -> Vec<String> {
    let line = |figure: &crate::CallSpeed| {
        let calls = calls_text(best.rows, Some(figure.threads));
        let (time, chosen) = (figure.us_per_row, figure.chosen_us_per_row.median);
        let spread = match figure.samples {
            0..3 => String::new(),
            _ => format!(" ({} to {})", time_text(time.low), time_text(time.high)),
        };
        let own = match best.is_own {
            true => "schedc's own schedule".to_string(),
            false => format!(
                "{} schedc's own schedule ({})",
                speed_ratio_text(chosen / time.median),
                time_text(chosen)
            ),
        };
        format!("// {calls}: {} \u{b5}s a row{spread}, {own}", time_text(time.median))
    };
    let predicted = best.predicted.as_ref().map(|predicted| {
        let order = if predicted.exact { "" } else { "; trees are added in another order than the model's" };
        let (time, chosen) = (predicted.us_per_row, predicted.chosen_us_per_row);
        let own = match best.is_own {
            true => "schedc's own schedule".to_string(),
            false => {
                format!("{} schedc's own schedule ({})", speed_ratio_text(chosen / time), time_text(chosen))
            }
        };
        let calls = calls_text(best.rows, None);
        format!("// {calls}: {} \u{b5}s a row predicted from counts, {own}{order}", time_text(time))
    });
    best.figures.iter().map(line).chain(predicted).collect()
}

/// A time with three digits.
fn time_text(time: f64) -> String {
    let digits = if time > 0.0 { (2.0 - time.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{time:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::CallSpeed;
    use schedc_measure::Quartiles;

    fn best(rows: usize, schedule: &str) -> BestSchedule {
        let us_per_row = Quartiles { low: 0.0512, median: 0.0541, high: 0.0561 };
        let chosen = Quartiles { median: 12.345, ..us_per_row };
        let figures = vec![CallSpeed { threads: 1, us_per_row, samples: 9, chosen_us_per_row: chosen }];
        let schedule = schedule.to_string();
        BestSchedule { rows, schedule, figures, predicted: None, tried: 3, is_own: false, slower: None }
    }

    #[test]
    fn sizes_with_one_schedule_share_a_block() {
        let found = SearchResult {
            best: vec![best(1, "a\n"), best(8, "a\n"), best(64, "b\nc\n")],
            bounds: vec![3, 20],
            ended_early: false,
        };
        let speed = "0.0541 \u{b5}s a row (0.0512 to 0.0561), \
                     228 times faster than schedc's own schedule (12.3)";
        assert_eq!(
            schedule_text(&found, "tuned", None),
            format!(
                "// tuned\n\
                 // 64 rows, 1 thread: {speed}\n\
                 b\n\
                 c\n\
                 \n\
                 when n_rows <= 20 {{\n    \
                 // 1 row, 1 thread: {speed}\n    \
                 // 8 rows, 1 thread: {speed}\n    \
                 a\n\
                 }}\n"
            )
        );
    }

    #[test]
    fn sizes_with_different_values_of_a_param_have_separate_params() {
        let start = |value: i64| {
            format!("model \"m.json\"\nparam R = {value} in {{8, 16}}\ntile(batch, b0, b1, R)\n")
        };
        let found = |first: &str, second: &str| SearchResult {
            best: vec![best(1, first), best(64, second)],
            bounds: vec![20],
            ended_early: false,
        };
        let written = schedule_text(&found(&start(8), &start(16)), "tuned", None);
        let plain: Vec<&str> = written.lines().filter(|line| !line.contains("//")).collect();
        assert_eq!(
            plain.join("\n"),
            "model \"m.json\"\nparam R = 16 in {8, 16}\ntile(batch, b0, b1, R)\n\n\
             param R_20 = 8 in {8, 16}\n\nwhen n_rows <= 20 {\n    tile(batch, b0, b1, R_20)\n}"
        );
        let own = "parallel(batch)\n";
        let inside = start(8) + "when n_rows <= 32 { unrollWalk(tree, R) }\n";
        for (first, second) in [(start(8), start(16)), (own.into(), start(8)), (inside.clone(), own.into())]
            .into_iter()
            .chain([(inside.clone(), inside.replace("= 8", "= 16")), (start(8), inside)])
        {
            let written = schedule_text(&found(&first, &second), "tuned", None);
            let checked = sched_lang::check(&written, &sched_lang::Options::default());
            assert!(checked.nests.is_some(), "{written}\n{:?}", checked.diagnostics);
        }
    }

    #[test]
    fn speeds_are_compared_in_words() {
        let all = [1.018, 85.3, 1.0, 0.9999, 1.0 / 61.2, 0.5].map(speed_ratio_text);
        assert_eq!(
            all,
            [
                "1.02 times faster than",
                "85 times faster than",
                "as fast as",
                "as fast as",
                "61 times slower than",
                "2.00 times slower than"
            ]
        );
    }
}
