//! Comparison of a run with an earlier one.

use super::run::{BenchPoint, BenchRun};
use schedc_driver::Failure;
use serde_json::json;
use std::path::Path;

/// The change of a point between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedVerdict {
    /// Both runs' spreads are apart, and the new one is lower.
    Faster,
    /// Both runs' spreads are apart, and the new one is higher.
    Slower,
    /// The spreads overlap, so the runs show no difference.
    Same,
    /// The earlier run has no such point.
    New,
}

impl SpeedVerdict {
    /// The verdict's word in tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            SpeedVerdict::Faster => "faster",
            SpeedVerdict::Slower => "slower",
            SpeedVerdict::Same => "same",
            SpeedVerdict::New => "new",
        }
    }
}

/// The change of a point since an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct PointChange {
    /// The earlier time of a row in microseconds, if there is one.
    pub before: Option<f64>,
    /// The earlier time over the new one; above 1 if the new one is faster.
    pub ratio: Option<f64>,
    /// The verdict on the change.
    pub verdict: SpeedVerdict,
}

/// A change for each point of a run. Points are matched by contender, batch size and threads. If each run has
/// only one schedule, the two are compared even if their names differ.
///
/// # Errors
///
/// If the runs have different models, or no point in common.
pub fn changes(now: &BenchRun, before: &BenchRun, path: &Path) -> Result<Vec<PointChange>, Failure> {
    now.expect_same_model(before, path)?;
    let alone = only_schedule(now).is_some() && only_schedule(before).is_some();
    let matches = |new: &BenchPoint, old: &BenchPoint| {
        new.is_like(old) || (alone && !new.peer && !old.peer && new.is_beside(old))
    };
    let changes: Vec<PointChange> = now
        .points
        .iter()
        .map(|point| change(point, before.points.iter().find(|old| matches(point, old))))
        .collect();
    if changes.iter().all(|change| change.verdict == SpeedVerdict::New) {
        return Err(Failure::usage(
            format!("{} has no time for the schedules, rows and threads of this run", path.display()),
            "time the same schedules with the same --batch and --threads",
        ));
    }
    Ok(changes)
}

fn only_schedule(run: &BenchRun) -> Option<&str> {
    let mut names = run.points.iter().filter(|point| !point.peer).map(|point| point.schedule.as_str());
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

fn change(new: &BenchPoint, old: Option<&BenchPoint>) -> PointChange {
    let Some(old) = old else { return PointChange { before: None, ratio: None, verdict: SpeedVerdict::New } };
    let verdict = if new.spread[1] < old.spread[0] {
        SpeedVerdict::Faster
    } else if new.spread[0] > old.spread[1] {
        SpeedVerdict::Slower
    } else {
        SpeedVerdict::Same
    };
    PointChange { before: Some(old.us_per_row), ratio: Some(old.us_per_row / new.us_per_row), verdict }
}

/// The run as JSON, in which each point has an object `change`.
pub fn to_json(run: &BenchRun, changes: &[PointChange]) -> String {
    let mut value = serde_json::to_value(run).unwrap_or_default();
    if let Some(points) = value["points"].as_array_mut() {
        for (point, change) in points.iter_mut().zip(changes) {
            point["change"] = json!({
                "before_us_per_row": change.before,
                "ratio": change.ratio,
                "verdict": change.verdict.word(),
            });
        }
    }
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::super::run::{FORMAT_VERSION, Processor};
    use super::*;
    use schedc_driver::RowMemory;
    use schedc_measure::Quartiles;

    fn point(schedule: &str, batch: usize, us: f64, spread: [f64; 2]) -> BenchPoint {
        let [low, high] = spread;
        BenchPoint::of(schedule, batch, 1, 10, Quartiles { low, median: us, high })
    }

    fn run(points: Vec<BenchPoint>) -> BenchRun {
        BenchRun {
            format: FORMAT_VERSION,
            model: "m.json".to_string(),
            fingerprint: None,
            trees: 10,
            features: 3,
            threads: 1,
            rows_in: RowMemory::Host,
            cpu: Processor { name: "some".to_string(), features: Vec::new() },
            points,
        }
    }

    fn verdicts(now: &BenchRun, before: &BenchRun) -> Vec<SpeedVerdict> {
        let changes = changes(now, before, Path::new("before.json")).unwrap_or_default();
        changes.iter().map(|change| change.verdict).collect()
    }

    #[test]
    fn only_points_beyond_both_spreads_have_changed() {
        let before = run(vec![
            point("a", 1, 2.0, [1.9, 2.1]),
            point("a", 64, 2.0, [1.9, 2.1]),
            point("a", 1024, 2.0, [1.9, 2.1]),
        ]);
        let now = run(vec![
            point("a", 1, 1.0, [0.9, 1.1]),
            point("a", 64, 2.2, [2.05, 2.3]),
            point("a", 1024, 3.0, [2.9, 3.1]),
            point("a", 4096, 3.0, [2.9, 3.1]),
        ]);
        let expected = [SpeedVerdict::Faster, SpeedVerdict::Same, SpeedVerdict::Slower, SpeedVerdict::New];
        assert_eq!(verdicts(&now, &before), expected);
        let first = changes(&now, &before, Path::new("before.json")).unwrap_or_default();
        assert_eq!(first.first().and_then(|change| change.ratio), Some(2.0));
    }

    #[test]
    fn single_schedules_are_compared_whatever_their_names() {
        let before = run(vec![point("a", 1, 2.0, [1.9, 2.1])]);
        let renamed = run(vec![point("b", 1, 1.0, [0.9, 1.1])]);
        assert_eq!(verdicts(&renamed, &before), [SpeedVerdict::Faster]);
        let mut several = renamed;
        several.points.push(point("c", 1, 1.0, [0.9, 1.1]));
        assert!(changes(&several, &before, Path::new("before.json")).is_err(), "nothing in common");
    }

    #[test]
    fn json_has_the_change_of_each_point() {
        let before = run(vec![point("a", 1, 2.0, [1.9, 2.1])]);
        let now = run(vec![point("a", 1, 1.0, [0.9, 1.1]), point("a", 2, 1.0, [0.9, 1.1])]);
        let changes = changes(&now, &before, Path::new("before.json")).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&to_json(&now, &changes)).unwrap_or_default();
        let expected = json!({"before_us_per_row": 2.0, "ratio": 2.0, "verdict": "faster"});
        assert_eq!(value["points"][0]["change"], expected);
        assert_eq!(value["points"][1]["change"]["verdict"], "new");
        assert!(value["points"][1]["change"]["ratio"].is_null());
    }
}
