//! The result of a search as a schedule that a person would write.

use crate::results::{BestSchedule, CallSpeed, SearchResult};
use sched_lang::part::MOST_BLOCKS;
use sched_lang::schedule_parts::ScheduleParts;
use sched_nest::Variants;
use schedc_driver::RowMemory;
use std::fmt::Write as _;

/// Calls that one schedule serves, with the timed sizes among them.
struct ServedSizes<'f> {
    /// Largest number of rows of the calls. `None` if the schedule serves all larger ones.
    bound: Option<usize>,
    /// The schedule.
    schedule: &'f str,
    sizes: Vec<&'f BestSchedule>,
}

impl ServedSizes<'_> {
    /// Parts of the schedule, and the directives for the calls. `None` if the text has errors.
    fn parts(&self) -> Option<(ScheduleParts, String)> {
        let parts = ScheduleParts::of(self.schedule)?;
        let rows = self.sizes.last().map_or(1, |best| best.rows);
        let directives = parts.directives.for_rows(rows).clone();
        Some((parts, directives))
    }
}

/// The schedules of a result, by rows in ascending order. A schedule that was found for a size replaces the
/// variant of schedc's own schedule that serves this size. All other variants stay, so that calls of sizes
/// that were not timed are no slower than without a search.
fn served_calls(found: &SearchResult) -> Vec<ServedSizes<'_>> {
    let own: Vec<(Option<usize>, Option<&str>)> = match &found.own {
        Some(own) => {
            own.iter().map(|(most, text)| (most.map(|most| most as usize), Some(text.as_str()))).collect()
        }
        None => vec![(None, None)],
    };
    let mut all: Vec<ServedSizes<'_>> = Vec::new();
    let mut add = |bound, schedule, best: Option<_>| match all.last_mut() {
        Some(last) if last.schedule == schedule => {
            last.bound = bound;
            last.sizes.extend(best);
        }
        _ => all.push(ServedSizes { bound, schedule, sizes: best.into_iter().collect() }),
    };
    let mut rest = found.best.iter().enumerate().peekable();
    for (most, own) in own {
        let mut is_served = false;
        while let Some((number, best)) = rest.next_if(|(_, best)| most.is_none_or(|most| best.rows <= most)) {
            let is_last = rest.peek().is_none_or(|(_, next)| most.is_some_and(|most| next.rows > most));
            let bound = if is_last { most } else { found.bounds.get(number).copied() };
            add(bound, best.schedule.as_str(), Some(best));
            is_served = true;
        }
        if let Some(own) = own.filter(|_| !is_served) {
            add(most, own, None);
        }
    }
    // A schedule has at most `MOST_BLOCKS` blocks. If one is left out, the next schedule serves its calls.
    while all.len() > MOST_BLOCKS + 1 {
        let first = all.iter().position(|served| served.sizes.is_empty()).unwrap_or(0);
        all.remove(first);
    }
    all
}

/// The schedule of one size for all calls: the one that was found, for the calls that it serves, and schedc's
/// own.
pub fn schedule_of_size(found: &SearchResult, best: &BestSchedule) -> String {
    let alone = SearchResult { best: vec![best.clone()], own: found.own.clone(), ..SearchResult::default() };
    joined(&served_calls(&alone), String::new(), false)
}

/// The text of the result. The schedule for the largest calls is outside of all blocks, and those for smaller
/// calls are in blocks, each below a comment with its speed. Neighbouring sizes with one schedule share a
/// block. `head` becomes the first comment lines; it names the model.
pub fn schedule_text(found: &SearchResult, head: &str, target: Option<&str>) -> String {
    let mut all = head.lines().map(|line| format!("// {line}\n")).collect::<String>();
    if let Some(target) = target {
        let _ = writeln!(all, "target {target}\n");
    }
    joined(&served_calls(found), all, true)
}

/// Appends schedules as one text to `all`, with comments on their speed if `has_comments`.
fn joined(served: &[ServedSizes<'_>], mut all: String, has_comments: bool) -> String {
    let sizes = |of: &ServedSizes<'_>| if has_comments { speeds(of) } else { Vec::new() };
    let Some((largest, smaller)) = served.split_last() else { return all };
    if smaller.is_empty() {
        lines(&mut all, "", sizes(largest), largest.schedule);
        return all;
    }
    let outer = largest.parts();
    // The start schedule itself may have blocks.
    match outer.as_ref().filter(|(outer, _)| !outer.directives.bounded().is_empty()) {
        Some((outer, directives)) => {
            let own = outer.declarations.iter().map(|line| format!("{line}\n")).collect::<String>();
            lines(&mut all, "", sizes(largest), &(own + directives));
        }
        None => lines(&mut all, "", sizes(largest), largest.schedule),
    }
    let mut blocks = String::new();
    for part in smaller {
        let bound = part.bound.unwrap_or(1);
        let _ = writeln!(blocks, "\nwhen n_rows <= {bound} {{");
        match (part.parts(), &outer) {
            (Some((inner, directives)), Some((outer, _))) => {
                let inner = ScheduleParts { directives: Variants::only(directives), ..inner };
                let inner = inner.beside(outer, &format!("_{bound}"));
                for (number, line) in inner.declarations.iter().enumerate() {
                    let _ = writeln!(all, "{}{line}", if number == 0 { "\n" } else { "" });
                }
                lines(&mut blocks, "    ", sizes(part), inner.directives.rest());
            }
            _ => lines(&mut blocks, "    ", sizes(part), part.schedule),
        }
        blocks.push_str("}\n");
    }
    all + &blocks
}

/// Comment lines with the speed of each timed size, or on the lack of one.
fn speeds(served: &ServedSizes<'_>) -> Vec<String> {
    if served.sizes.is_empty() {
        return vec!["// not timed: schedc's own schedule".to_string()];
    }
    served.sizes.iter().flat_map(|best| speed_comments(best)).collect()
}

/// Appends a schedule below comments.
fn lines(all: &mut String, indent: &str, comments: Vec<String>, schedule: &str) {
    for line in comments.into_iter().chain(schedule.lines().map(str::to_string)) {
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

/// Describes the rows of timed calls: `64 rows`, and on a GPU the memory that they are in.
pub fn rows_text(rows: usize, rows_in: Option<RowMemory>) -> String {
    let rows = if rows == 1 { "1 row".to_string() } else { format!("{rows} rows") };
    match rows_in {
        None => rows,
        Some(RowMemory::Host) => format!("{rows} in host memory"),
        Some(RowMemory::Device) => format!("{rows} in the GPU's memory"),
    }
}

/// Describes the calls of a result: `64 rows, 1 thread`. Timings have a number of threads (0 for all), except
/// those of kernels. The cost model's predictions have none.
pub fn calls_text(rows: usize, timed: Option<&CallSpeed>) -> String {
    let text = rows_text(rows, timed.and_then(|timed| timed.rows_in));
    match timed.filter(|timed| timed.rows_in != Some(RowMemory::Device)).map(|timed| timed.threads) {
        None => text,
        Some(0) => format!("{text}, all threads"),
        Some(1) => format!("{text}, 1 thread"),
        Some(several) => format!("{text}, {several} threads"),
    }
}

/// Comment lines with the speed of calls of a size.
fn speed_comments(best: &BestSchedule) -> Vec<String> {
    let order = if best.exact { "" } else { "; sums are added in another order than the model's" };
    let line = |figure: &CallSpeed| {
        let calls = calls_text(best.rows, Some(figure));
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
        format!("// {calls}: {} \u{b5}s a row{spread}, {own}{order}", time_text(time.median))
    };
    let predicted = best.predicted.as_ref().map(|predicted| {
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
    use schedc_measure::Quartiles;

    fn best(rows: usize, schedule: &str) -> BestSchedule {
        let us_per_row = Quartiles { low: 0.0512, median: 0.0541, high: 0.0561 };
        let chosen = Quartiles { median: 12.345, ..us_per_row };
        let figures =
            vec![CallSpeed { threads: 1, rows_in: None, us_per_row, samples: 9, chosen_us_per_row: chosen }];
        let schedule = schedule.to_string();
        let (exact, is_own) = (true, false);
        BestSchedule { rows, schedule, figures, exact, predicted: None, tried: 3, is_own, slower: None }
    }

    #[test]
    fn another_order_of_sums_is_noted() {
        let note = "; sums are added in another order than the model's";
        let ends = |best: &BestSchedule| speed_comments(best).iter().all(|line| line.ends_with(note));
        let exact = best(1, "a\n");
        assert!(!ends(&exact) && ends(&BestSchedule { exact: false, ..exact }));
    }

    #[test]
    fn sizes_with_one_schedule_share_a_block() {
        let found = SearchResult {
            best: vec![best(1, "a\n"), best(8, "a\n"), best(64, "b\nc\n")],
            bounds: vec![3, 20],
            ..SearchResult::default()
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
            ..SearchResult::default()
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
            let checked = sched_lang::check(&written, &sched_lang::CheckOptions::default());
            assert!(checked.nests.is_some(), "{written}\n{:?}", checked.diagnostics);
        }
    }

    #[test]
    fn sizes_that_were_not_timed_keep_the_own_schedule() {
        let mut own = Variants::only("rest\n".to_string());
        for (most, text) in [(1, "one\n"), (11, "few\n"), (32, "some\n")] {
            own.insert(most, text.to_string()).expect("a new bound");
        }
        let found = |best: Vec<BestSchedule>| SearchResult {
            bounds: best.windows(2).map(|pair| pair[0].rows + 1).collect(),
            best,
            own: Some(own.clone()),
            ended_early: false,
        };
        let blocks = |text: &str| -> Vec<String> {
            let text = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            text.map(|line| line.trim().to_string()).filter(|line| !line.is_empty() && line != "}").collect()
        };
        let kept = |rows, schedule: &str| BestSchedule { is_own: true, ..best(rows, schedule) };
        let own_blocks = [
            "rest",
            "when n_rows <= 1 {",
            "one",
            "when n_rows <= 11 {",
            "few",
            "when n_rows <= 32 {",
            "some",
        ];
        let none = found(vec![kept(1, "one\n"), kept(64, "rest\n")]);
        assert_eq!(blocks(&schedule_text(&none, "tuned", None)), own_blocks);
        assert_eq!(blocks(&schedule_of_size(&none, &none.best[1])), own_blocks);
        let some = found(vec![kept(1, "one\n"), best(8, "new\n"), best(9, "newer\n"), best(64, "large\n")]);
        let written = schedule_text(&some, "tuned", None);
        assert_eq!(
            blocks(&written),
            [
                "large",
                "when n_rows <= 1 {",
                "one",
                "when n_rows <= 9 {",
                "new",
                "when n_rows <= 11 {",
                "newer",
                "when n_rows <= 32 {",
                "some"
            ]
        );
        assert_eq!(written.matches("not timed").count(), 1, "{written}");
        assert_eq!(
            blocks(&schedule_of_size(&some, &some.best[3])),
            [
                "large",
                "when n_rows <= 1 {",
                "one",
                "when n_rows <= 11 {",
                "few",
                "when n_rows <= 32 {",
                "some"
            ]
        );
    }

    #[test]
    fn timings_on_gpus_name_the_memory_of_rows() {
        let comment = |rows_in| {
            let mut one = best(64, "a\n");
            one.figures[0].rows_in = Some(rows_in);
            speed_comments(&one).concat()
        };
        assert!(comment(RowMemory::Host).starts_with("// 64 rows in host memory, 1 thread: 0.0541"));
        assert!(comment(RowMemory::Device).starts_with("// 64 rows in the GPU's memory: 0.0541"));
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
