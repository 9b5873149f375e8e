//! A run as a table: one line for each point.

use super::compare::PointChange;
use super::run::{BenchPoint, BenchRun};
use schedc_driver::RowMemory;
use std::fmt::Write;

/// The table, with the changes since an earlier run if there is one.
pub fn text(run: &BenchRun, changes: Option<&[PointChange]>) -> String {
    let contenders = run.contenders();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {} trees, {} features", run.model, run.trees, run.features);
    let _ = writeln!(text, "processor: {}; code uses {}", run.cpu.name, run.cpu.features.join(" "));
    if run.rows_in == RowMemory::Device {
        let _ = writeln!(text, "times of kernels, on rows in the GPU's memory");
    }
    for (at, name) in contenders.iter().enumerate() {
        let _ = writeln!(text, "{}: {name}", letter(at));
    }
    let _ = write!(
        text,
        "{:>8} {:>7} {:>3} {:>10} {:>19} {:>8} {:>8} {:>9}",
        "batch", "threads", "", "µs/row", "quartiles", "ns/walk", "rows/s", "times A's"
    );
    let kernels = run.points.iter().any(|point| point.kernel_us_per_row.is_some());
    if kernels {
        let _ = write!(text, " {:>10}", "kernel µs");
    }
    if changes.is_some() {
        let _ = write!(text, " {:>10} {:>10}  change", "before", "before/now");
    }
    text.push('\n');
    for at in order(run) {
        let point = &run.points[at];
        let name = contenders.iter().position(|name| *name == point.schedule).map(letter).unwrap_or_default();
        let first = run
            .points
            .iter()
            .find(|p| Some(&p.schedule.as_str()) == contenders.first() && p.is_beside(point));
        line(&mut text, point, &name, first);
        if kernels {
            let _ = write!(text, " {:>10}", point.kernel_us_per_row.map_or("-".to_string(), micros));
        }
        if let Some(change) = changes.and_then(|changes| changes.get(at)) {
            let _ = write!(text, " {:>10}", change.before.map_or("-".to_string(), micros));
            let ratio = change.ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
            let _ = write!(text, " {ratio:>10}  {}", change.verdict.word());
        }
        text.push('\n');
    }
    text
}

/// Indices of the points, grouped by threads and batch size in order of appearance.
fn order(run: &BenchRun) -> Vec<usize> {
    let mut groups: Vec<(i32, usize)> = Vec::new();
    for point in &run.points {
        let group = (point.threads, point.batch);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let group = |at: &usize| {
        let point = &run.points[*at];
        groups.iter().position(|group| *group == (point.threads, point.batch))
    };
    let mut order: Vec<usize> = (0..run.points.len()).collect();
    order.sort_by_key(group);
    order
}

fn line(text: &mut String, point: &BenchPoint, name: &str, first: Option<&BenchPoint>) {
    let [low, high] = point.spread.map(micros);
    let ratio = first.map_or("-".to_string(), |first| times(point.us_per_row / first.us_per_row));
    let _ = write!(
        text,
        "{:>8} {:>7} {name:>3} {:>10} {:>19} {:>8.2} {:>8} {ratio:>9}",
        point.batch,
        point.threads,
        micros(point.us_per_row),
        format!("{low}..{high}"),
        point.ns_per_walk,
        count(point.rows_per_s),
    );
}

/// Microseconds, to about four digits.
pub fn micros(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.1}"),
        v if v >= 10.0 => format!("{v:.2}"),
        v if v >= 0.1 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// The ratio of two times, to three digits, such as `1.00x`, `385x` or `0.0125x`.
pub fn times(ratio: f64) -> String {
    let digits = match ratio {
        r if r >= 99.95 => 0,
        r if r >= 9.995 => 1,
        r if r >= 0.9995 => 2,
        r if r >= 0.09995 => 3,
        r if r >= 0.009995 => 4,
        _ => 5,
    };
    format!("{ratio:.digits$}x")
}

/// A number to three digits, such as `12.3M`.
fn count(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let digits = if scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{unit}")
}

/// The letter of a contender: `A` to `Z`, then `#27` and so on.
fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("#{}", at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_digits() {
        assert_eq!([0.01234, 0.1234, 12.344, 1234.56].map(micros), ["0.0123", "0.123", "12.34", "1234.6"]);
        let counts = [12.0, 999.0, 1234.0, 45_678.0, 12.3e6, 1.5e9].map(count);
        assert_eq!(counts, ["12.0", "999", "1.23k", "45.7k", "12.3M", "1.50G"]);
        assert_eq!([0, 25, 26].map(letter), ["A", "Z", "#27"]);
        let ratios = [384.5, 99.96, 12.34, 9.996, 1.0, 0.9996, 0.5, 0.0125].map(times);
        assert_eq!(ratios, ["384x", "100x", "12.3x", "10.0x", "1.00x", "1.00x", "0.500x", "0.0125x"]);
    }

    #[test]
    fn kernel_times_have_a_column_if_there_are_some() {
        let json = r#"{"format": 1, "model": "m", "trees": 10, "threads": 1,
            "cpu": {"name": "c", "features": []}, "points": [
            {"schedule": "a", "threads": 1, "batch": 1, "us_per_row": 2,
             "ns_per_walk": 200, "rows_per_s": 5e5, "spread": [1, 3]},
            {"schedule": "b", "threads": 1, "batch": 1, "us_per_row": 2,
             "ns_per_walk": 200, "rows_per_s": 5e5, "spread": [1, 3]}]}"#;
        let mut run = BenchRun::parse(json).unwrap_or_else(|why| unreachable!("{why}"));
        assert!(!text(&run, None).contains("kernel"));
        run.points[1].kernel_us_per_row = Some(0.25);
        let shown = text(&run, None);
        let lines: Vec<&str> = shown.lines().rev().take(3).collect();
        assert!(
            lines[2].ends_with(" kernel µs") && lines[1].ends_with(" -") && lines[0].ends_with(" 0.250"),
            "{shown}"
        );
    }
}
