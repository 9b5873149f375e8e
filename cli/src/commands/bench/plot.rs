//! A run as a picture: microseconds per row over rows per call, on two logarithmic axes. Each contender has
//! one line.
//!
//! The picture is plain SVG whose colours follow the reader's choice of a light or a dark page.

use super::run::{BenchPoint, BenchRun};
use super::table::micros;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// Margins around the axes, in units of the picture; the right one holds the names of the lines.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;
/// Least vertical distance between the names of two lines, in units of the picture.
const NAME_HEIGHT: f64 = 16.0;
/// Longest name in the right margin, in characters.
const NAME_LENGTH: usize = 28;
/// Colours (light page, dark page) that differ visibly on both kinds of pages, also for most people with
/// colour blindness.
const COLOURS: [(&str, &str); 8] = [
    ("#0b62c4", "#63b0ff"),
    ("#c4500b", "#ff9a5c"),
    ("#157a3c", "#5fd38a"),
    ("#8b3fb5", "#d29bf5"),
    ("#b3122d", "#ff8091"),
    ("#0f7f86", "#5fd6dd"),
    ("#7a6a00", "#e0cd4d"),
    ("#5a5f66", "#b5bbc3"),
];

/// A line of the picture: a contender with one number of threads.
struct PlotLine<'a> {
    name: String,
    peer: bool,
    points: Vec<&'a BenchPoint>,
}

/// A logarithmic axis.
struct LogAxis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// An axis that covers all values, between two coordinates of the picture.
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> LogAxis {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        // An axis needs a positive extent, even for a single value or none.
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        let (low, high) = if low == high { (low / 2.0, high * 2.0) } else { (low, high) };
        LogAxis { low, high, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// 1, 2 and 5 times the powers of ten on the axis. A short axis with fewer than two such ticks gets finer
    /// ones.
    fn ticks(&self) -> Vec<f64> {
        let coarse = vec![10, 20, 50];
        let fine = (10..20).step_by(5).chain((20..100).step_by(10)).collect();
        let steps: [Vec<u32>; 3] = [coarse, fine, (10..100).collect()];
        let ticks = steps.map(|steps| self.ticks_at(&steps));
        let enough = ticks.iter().find(|ticks| ticks.len() >= 2);
        enough.or(ticks.last()).cloned().unwrap_or_default()
    }

    /// The ticks on the axis: each power of ten times each of `tenths` tenths.
    fn ticks_at(&self, tenths: &[u32]) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = decades
            .flat_map(|decade| tenths.iter().map(move |step| f64::from(*step) * 10f64.powi(decade - 1)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

/// Draws a run.
pub fn svg(run: &BenchRun) -> String {
    let lines = lines(run);
    let points = || run.points.iter();
    let x = LogAxis::over(points().map(|point| point.batch as f64), LEFT, WIDTH - RIGHT);
    let times = points().flat_map(|point| [point.us_per_row / 1.2, point.us_per_row * 1.2]);
    let y = LogAxis::over(times, HEIGHT - BOTTOM, TOP);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = head(&mut text, run);
    let _ = axes(&mut text, run, &x, &y);
    let _ = curves(&mut text, &lines, &x, &y);
    text + "</svg>\n"
}

fn lines(run: &BenchRun) -> Vec<PlotLine<'_>> {
    let mut keys: Vec<(&str, i32)> = Vec::new();
    for point in &run.points {
        let key = (point.schedule.as_str(), point.threads);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let several = run.points.iter().any(|point| point.threads != run.threads);
    let line = |(schedule, threads): (&str, i32)| {
        let mut points: Vec<&BenchPoint> =
            run.points.iter().filter(|p| p.schedule == schedule && p.threads == threads).collect();
        points.sort_by_key(|point| point.batch);
        let name = if several { format!("{schedule} ×{threads}") } else { schedule.to_string() };
        PlotLine { name, peer: points.iter().any(|point| point.peer), points }
    };
    keys.into_iter().map(line).collect()
}

fn head(out: &mut String, run: &BenchRun) -> std::fmt::Result {
    let title = escape(&format!("{}: {} trees, {} features", run.model, run.trees, run.features));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"title\">"
    )?;
    writeln!(out, "<title id=\"title\">Microseconds per row over rows per call. {title}</title>")?;
    writeln!(out, "<style>")?;
    writeln!(out, "svg {{ font: 12px system-ui, sans-serif; background: #fff; }}")?;
    writeln!(out, "text {{ fill: #24292f; }} .grid {{ stroke: #d8dee4; }}")?;
    writeln!(out, ".line {{ fill: none; stroke-width: 2; }} .peer {{ stroke-dasharray: 5 4; }}")?;
    for (at, (light, _)) in COLOURS.iter().enumerate() {
        writeln!(out, ".c{at} {{ stroke: {light}; }} .d{at} {{ fill: {light}; }}")?;
    }
    writeln!(out, "@media (prefers-color-scheme: dark) {{")?;
    writeln!(out, "svg {{ background: #0d1117; }} text {{ fill: #e6edf3; }} .grid {{ stroke: #30363d; }}")?;
    for (at, (_, dark)) in COLOURS.iter().enumerate() {
        writeln!(out, ".c{at} {{ stroke: {dark}; }} .d{at} {{ fill: {dark}; }}")?;
    }
    writeln!(out, "}}\n</style>")?;
    writeln!(out, "<text x=\"{LEFT}\" y=\"22\" font-weight=\"600\">{title}</text>")
}

fn axes(out: &mut String, run: &BenchRun, x: &LogAxis, y: &LogAxis) -> std::fmt::Result {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in y.ticks() {
        let at = y.place(tick);
        writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>")?;
        let (left, at) = (LEFT - 8.0, at + 4.0);
        writeln!(
            out,
            "<text x=\"{left}\" y=\"{at:.1}\" text-anchor=\"end\">{tick}</text>",
            tick = tick_label(tick)
        )?;
    }
    let mut batches: Vec<usize> = run.points.iter().map(|point| point.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    let mut free = f64::NEG_INFINITY;
    for batch in batches {
        let at = x.place(batch as f64);
        writeln!(out, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/>")?;
        // Labels that would overlap are omitted.
        let half = 4.0 * batch.to_string().len() as f64;
        if at - half > free {
            let below = bottom + 18.0;
            writeln!(out, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{batch}</text>")?;
            free = at + half;
        }
    }
    let (middle, low) = ((LEFT + right) / 2.0, HEIGHT - 12.0);
    writeln!(out, "<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">rows per call</text>")?;
    let middle = (TOP + bottom) / 2.0;
    writeln!(
        out,
        "<text transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">µs per row</text>"
    )
}

fn curves(out: &mut String, lines: &[PlotLine], x: &LogAxis, y: &LogAxis) -> std::fmt::Result {
    let ends: Vec<f64> =
        lines.iter().map(|line| line.points.last().map_or(TOP, |point| y.place(point.us_per_row))).collect();
    let names = apart(&ends);
    for (at, line) in lines.iter().enumerate() {
        let colour = at % COLOURS.len();
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|p| (x.place(p.batch as f64), y.place(p.us_per_row))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let peer = if line.peer { " peer" } else { "" };
        writeln!(out, "<polyline class=\"line c{colour}{peer}\" points=\"{}\"/>", path.join(" "))?;
        for (point, (cx, cy)) in line.points.iter().zip(&places) {
            let about = escape(&format!(
                "{}, {} rows: {} µs per row, {:.2} ns per walk",
                line.name,
                point.batch,
                micros(point.us_per_row),
                point.ns_per_walk
            ));
            writeln!(
                out,
                "<circle class=\"d{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" \
                 r=\"3.5\"><title>{about}</title></circle>"
            )?;
        }
        let Some((end, height)) = places.last().zip(names.get(at)) else { continue };
        let (from, to, text) = (end.0 + 5.0, WIDTH - RIGHT + 18.0, WIDTH - RIGHT + 24.0);
        writeln!(
            out,
            "<path class=\"line c{colour}{peer}\" style=\"stroke-width:1\" d=\"M{from:.1} {:.1}L{to} \
             {height:.1}\"/>",
            end.1
        )?;
        let (name, middle) = (escape(&shortened(&line.name)), height + 4.0);
        writeln!(out, "<text x=\"{text}\" y=\"{middle:.1}\">{name}</text>")?;
    }
    Ok(())
}

/// Heights of the names near the ends of their lines, without overlaps.
fn apart(ends: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut heights = vec![0.0; ends.len()];
    let mut free = f64::NEG_INFINITY;
    for at in &order {
        heights[*at] = ends[*at].max(free);
        free = heights[*at] + NAME_HEIGHT;
    }
    // Names that were pushed below the picture push the others up.
    let mut free = HEIGHT - BOTTOM;
    for at in order.iter().rev() {
        heights[*at] = heights[*at].min(free);
        free = heights[*at] - NAME_HEIGHT;
    }
    heights
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_LENGTH {
        return name.to_string();
    }
    let kept: Vec<char> = name.chars().rev().take(NAME_LENGTH - 1).collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// Formats a tick with two significant digits, so that inexact powers of ten do not show.
fn tick_label(tick: f64) -> String {
    // Two digits are enough for every tick.
    let digits = (1.0 - tick.log10().floor()).max(0.0) as usize;
    let text = format!("{tick:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Text escaped for XML; characters that XML forbids become question marks.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::run::{FORMAT_VERSION, Processor};
    use super::*;
    use schedc_driver::RowMemory;
    use schedc_measure::Quartiles;

    fn run(points: &[(&str, i32, usize, f64)]) -> BenchRun {
        let point = |&(name, threads, batch, us): &(&str, i32, usize, f64)| {
            let time = Quartiles { low: us, median: us, high: us };
            let mut point = BenchPoint::of(name, batch, threads, 100, time);
            point.peer = name == "XGBoost";
            point
        };
        BenchRun {
            format: FORMAT_VERSION,
            model: "m.json".to_string(),
            fingerprint: None,
            trees: 100,
            features: 3,
            threads: points.iter().map(|point| point.1).max().unwrap_or(1),
            rows_in: RowMemory::Host,
            cpu: Processor { name: "some".to_string(), features: Vec::new() },
            points: points.iter().map(point).collect(),
        }
    }

    /// The coordinates of each line.
    fn polylines(svg: &str) -> Vec<Vec<(f64, f64)>> {
        let coordinates = |line: &str| {
            let points = line.split("points=\"").nth(1)?.split('"').next()?;
            let pair = |pair: &str| {
                let (x, y) = pair.split_once(',')?;
                Some((x.parse().ok()?, y.parse().ok()?))
            };
            points.split(' ').map(pair).collect::<Option<Vec<_>>>()
        };
        svg.lines().filter(|line| line.starts_with("<polyline")).filter_map(coordinates).collect()
    }

    #[test]
    fn lines_follow_the_logarithms() {
        let picture =
            svg(&run(&[("a", 1, 1, 8.0), ("a", 1, 16, 4.0), ("a", 1, 256, 1.0), ("XGBoost", 1, 1, 2.0)]));
        let lines = polylines(&picture);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
        let [(x0, y0), (x1, y1), (x2, y2)] = lines[0][..] else { unreachable!("three points") };
        assert!((x1 - x0 - (x2 - x1)).abs() < 0.2, "1, 16 and 256 are equally far apart");
        assert!((2.0 * (y1 - y0) - (y2 - y1)).abs() < 0.3, "4 to 1 is twice as far as 8 to 4");
        assert!(y0 < y2, "more time is higher up");
        assert!(picture.contains("class=\"line c1 peer\""), "peers have dashes");
        assert!(picture.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn short_axes_have_ticks_too() {
        for times in [[2.6, 4.0], [1.1, 1.2], [7.0, 7.0], [0.11, 0.13], [0.001, 1000.0]] {
            let picture = svg(&run(&[("a", 1, 1, times[0]), ("a", 1, 64, times[1])]));
            let ticks: Vec<&str> =
                picture.lines().filter(|line| line.contains("text-anchor=\"end\"")).collect();
            assert!((2..20).contains(&ticks.len()), "{times:?}: {ticks:?}");
            let mut labels = ticks.clone();
            labels.dedup_by_key(|line| line.split('>').nth(1).map(str::to_owned));
            assert_eq!(labels.len(), ticks.len(), "two ticks with one number: {ticks:?}");
        }
    }

    #[test]
    fn everything_lies_inside_the_picture() {
        let names: Vec<String> = (0..20).map(|number| format!("schedule {number}")).collect();
        let points: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 64, 1.0)).collect();
        let picture = svg(&run(&points));
        assert_eq!(polylines(&picture).len(), 20);
        for (x, y) in polylines(&picture).concat() {
            assert!((LEFT..=WIDTH - RIGHT).contains(&x) && (TOP..=HEIGHT - BOTTOM).contains(&y));
        }
        let heights = apart(&[300.0; 20]);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9));
        assert!(heights.iter().all(|height| (0.0..HEIGHT).contains(height)));
    }

    #[test]
    fn names_are_escaped_and_lines_name_their_threads() {
        let picture = svg(&run(&[("<a> & \"b\"", 1, 1, 8.0), ("<a> & \"b\"", 2, 1, 4.0)]));
        assert!(picture.contains("&lt;a&gt; &amp; &quot;b&quot; ×2"));
        assert!(!picture.contains("<a>"));
        assert_eq!(polylines(&picture).len(), 2);
        assert_eq!(shortened(&"x".repeat(40)).chars().count(), NAME_LENGTH);
    }

    #[test]
    fn tags_are_closed() {
        let picture = svg(&run(&[("a", 1, 1, 8.0), ("b", 1, 1, 4.0)]));
        for tag in ["svg", "style", "text", "title", "circle"] {
            let (open, closed) = (format!("<{tag}"), format!("</{tag}>"));
            assert_eq!(picture.matches(&open).count(), picture.matches(&closed).count(), "{tag}");
        }
        assert!(svg(&run(&[])).ends_with("</svg>\n"), "no points, no panic");
        let none = [1e-3, 0.02, 0.5, 1.0, 1.5, 20.0, 150.0].map(tick_label);
        assert_eq!(none, ["0.001", "0.02", "0.5", "1", "1.5", "20", "150"]);
    }
}
