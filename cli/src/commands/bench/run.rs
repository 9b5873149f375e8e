//! The results of `schedc bench`, and their JSON. `docs/tools.md` documents the fields; the scripts in
//! `bench/` write the same JSON.

use schedc_driver::{Failure, RowMemory, reason};
use schedc_measure::Quartiles;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the JSON: increased if a field is removed or changes its meaning, unchanged if one is added.
pub const FORMAT_VERSION: u32 = 1;

/// A run: the times of contenders on one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// Always [`FORMAT_VERSION`].
    pub format: u32,
    /// The path or the name of the model.
    pub model: String,
    /// The model's fingerprint, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Number of trees.
    pub trees: usize,
    /// Number of features.
    #[serde(default)]
    pub features: usize,
    /// Largest number of threads of any point; 0 stands for all threads of the machine.
    pub threads: i32,
    /// The memory of the rows. In a GPU's memory, times are those of kernels.
    #[serde(default, skip_serializing_if = "is_host")]
    pub rows_in: RowMemory,
    /// The processor of the run.
    pub cpu: Processor,
    /// The measured times.
    pub points: Vec<BenchPoint>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// LLVM's name for the processor.
    pub name: String,
    /// The instruction sets that the code may use.
    pub features: Vec<String>,
}

/// A measured time: a contender with a number of rows per call and a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchPoint {
    /// The contender's name: a schedule, or a peer.
    pub schedule: String,
    /// Whether the contender is a peer, another program.
    #[serde(default, skip_serializing_if = "is_false")]
    pub peer: bool,
    /// Threads per call.
    pub threads: i32,
    /// Rows per call.
    pub batch: usize,
    /// The median time of a row, in microseconds.
    pub us_per_row: f64,
    /// The median time of a walk, in nanoseconds: a row's time divided by the number of trees.
    pub ns_per_walk: f64,
    /// Rows per second at the median.
    pub rows_per_s: f64,
    /// The lower and the upper quartile of `us_per_row`.
    pub spread: [f64; 2],
    /// The median time of the kernels alone, per row in microseconds, on rows in a GPU's memory, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_us_per_row: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_host(memory: &RowMemory) -> bool {
    *memory == RowMemory::Host
}

impl BenchPoint {
    /// A point from the quartiles of a row's time, in microseconds.
    pub fn of(schedule: &str, batch: usize, threads: i32, trees: usize, time: Quartiles) -> BenchPoint {
        let median = time.median;
        BenchPoint {
            schedule: schedule.to_string(),
            peer: false,
            threads,
            batch,
            us_per_row: median,
            ns_per_walk: median * 1e3 / trees.max(1) as f64,
            rows_per_s: 1e6 / median,
            spread: [time.low, time.high],
            kernel_us_per_row: None,
        }
    }

    /// Whether both have the same contender, batch size and number of threads.
    pub fn is_like(&self, other: &BenchPoint) -> bool {
        self.schedule == other.schedule && self.is_beside(other)
    }

    /// Whether both have the same batch size and number of threads.
    pub fn is_beside(&self, other: &BenchPoint) -> bool {
        self.batch == other.batch && self.threads == other.threads
    }
}

impl BenchRun {
    /// Reads a saved run.
    ///
    /// # Errors
    ///
    /// If the file does not exist, or is not a saved run.
    pub fn read(path: &Path) -> Result<BenchRun, Failure> {
        let place = path.display();
        let help = "name a file that `schedc bench --save` or bench/run.sh has written";
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::unreadable(&place, format!("the run cannot be read: {}", reason(&error)), help)
        })?;
        BenchRun::parse(&text)
            .map_err(|why| Failure::unreadable(&place, format!("this is not a saved run: {why}"), help))
    }

    /// Parses a run from JSON; fails with the reason.
    pub fn parse(text: &str) -> Result<BenchRun, String> {
        let run: BenchRun = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if run.format != FORMAT_VERSION {
            return Err(format!("its format is {}, and this schedc reads {FORMAT_VERSION}", run.format));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let sound = |p: &BenchPoint| {
            let figures = [p.us_per_row, p.ns_per_walk, p.rows_per_s, p.spread[0], p.spread[1]];
            let mut figures = figures.into_iter().chain(p.kernel_us_per_row);
            p.batch > 0 && figures.all(positive) && p.spread[0] <= p.spread[1]
        };
        match run.points.iter().position(|point| !sound(point)) {
            Some(at) => Err(format!("point {} has impossible figures", at + 1)),
            None => Ok(run),
        }
    }

    /// The run as JSON.
    pub fn to_json(&self) -> String {
        // Serialization fails only for maps whose keys are no strings; a run has none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Adds the points of another run.
    ///
    /// # Errors
    ///
    /// If it has another model, or a contender of the same name.
    pub fn add(&mut self, other: BenchRun, path: &Path) -> Result<(), Failure> {
        self.expect_same_model(&other, path)?;
        if let Some(twice) = other.points.iter().find(|point| self.points.iter().any(|p| p.is_like(point))) {
            return Err(Failure::usage(
                format!("{} is in both runs; the second run is {}", twice.schedule, path.display()),
                "use --compare to see two runs of the same schedule",
            ));
        }
        self.threads = self.threads.max(other.threads);
        self.points.extend(other.points);
        Ok(())
    }

    /// Fails if another run has another model. Compares fingerprints if both are known, otherwise numbers of
    /// trees.
    pub fn expect_same_model(&self, other: &BenchRun, path: &Path) -> Result<(), Failure> {
        let differ = match (&self.fingerprint, &other.fingerprint) {
            (Some(one), Some(two)) => one != two,
            _ => self.trees != other.trees,
        };
        if differ {
            return Err(Failure::usage(
                format!(
                    "{} is a run of another model ({}, {} trees)",
                    path.display(),
                    other.model,
                    other.trees
                ),
                "compare runs of the same model",
            ));
        }
        if self.rows_in != other.rows_in {
            let name = |memory| match memory {
                RowMemory::Host => "whole calls",
                RowMemory::Device => "kernels",
            };
            return Err(Failure::usage(
                format!(
                    "{} has times of {}, and this run of {}",
                    path.display(),
                    name(other.rows_in),
                    name(self.rows_in)
                ),
                format!("time the schedules again with --rows-in {}", other.rows_in),
            ));
        }
        Ok(())
    }

    /// The contenders, in the order in which they appear.
    pub fn contenders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in &self.points {
            if !names.contains(&point.schedule.as_str()) {
                names.push(&point.schedule);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BenchRun {
        let time = Quartiles { low: 2.0, median: 3.0, high: 4.0 };
        BenchRun {
            format: FORMAT_VERSION,
            model: "model.json".to_string(),
            fingerprint: Some("sha256:12".to_string()),
            trees: 100,
            features: 8,
            threads: 1,
            rows_in: RowMemory::Host,
            cpu: Processor { name: "some".to_string(), features: vec!["avx2".to_string()] },
            points: vec![BenchPoint::of("a.sched", 64, 1, 100, time)],
        }
    }

    #[test]
    fn a_point_is_the_median_between_quartiles() {
        let point = &example().points[0];
        assert_eq!((point.us_per_row, point.spread), (3.0, [2.0, 4.0]));
        assert!((point.ns_per_walk - 30.0).abs() < 1e-9);
        assert!((point.rows_per_s - 1e6 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn json_comes_back_as_it_was() {
        let run = example();
        assert_eq!(BenchRun::parse(&run.to_json()), Ok(run));
    }

    #[test]
    fn json_has_the_documented_fields() {
        let mut run = example();
        run.points[0].kernel_us_per_row = Some(2.0);
        run.rows_in = RowMemory::Device;
        let value: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap_or_default();
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
        };
        let mut top = keys(&value);
        top.sort();
        let expected = ["cpu", "features", "fingerprint", "format", "model", "points"];
        assert_eq!(top[..6], expected);
        assert_eq!(top[6..], ["rows_in", "threads", "trees"]);
        let mut point = keys(&value["points"][0]);
        point.sort();
        let expected = ["batch", "kernel_us_per_row", "ns_per_walk", "rows_per_s", "schedule", "spread"];
        assert_eq!(point[..6], expected);
        assert_eq!(point[6..], ["threads", "us_per_row"]);
        let usual = example().to_json();
        assert!(!usual.contains("kernel") && !usual.contains("rows_in"), "what was not measured is absent");
        let document = include_str!("../../../../docs/tools.md");
        for field in top.iter().chain(&point) {
            assert!(document.contains(&format!("`{field}`")), "docs/tools.md does not explain `{field}`");
        }
    }

    #[test]
    fn files_that_are_no_runs_are_refused() {
        let bad = |change: &dyn Fn(&mut BenchRun)| {
            let mut run = example();
            change(&mut run);
            BenchRun::parse(&run.to_json()).err().unwrap_or_default()
        };
        assert!(BenchRun::parse("{}").is_err());
        assert!(bad(&|run| run.format = 2).contains("format is 2"));
        assert!(bad(&|run| run.points[0].us_per_row = 0.0).contains("point 1"));
        assert!(bad(&|run| run.points[0].spread = [2.0, 1.0]).contains("point 1"));
        assert!(bad(&|run| run.points[0].batch = 0).contains("point 1"));
        assert!(bad(&|run| run.points[0].kernel_us_per_row = Some(-1.0)).contains("point 1"));
    }

    #[test]
    fn runs_of_one_model_are_put_together() {
        let mut run = example();
        let mut peers = example();
        assert!(run.add(peers.clone(), Path::new("peers.json")).is_err(), "the same contender twice");
        peers.points[0].schedule = "XGBoost".to_string();
        peers.rows_in = RowMemory::Device;
        assert!(run.add(peers.clone(), Path::new("peers.json")).is_err(), "times of kernels");
        peers.rows_in = RowMemory::Host;
        peers.fingerprint = None;
        assert!(run.add(peers.clone(), Path::new("peers.json")).is_ok());
        assert_eq!(run.contenders(), ["a.sched", "XGBoost"]);
        peers.trees = 99;
        assert!(run.add(peers, Path::new("peers.json")).is_err(), "another model");
    }
}
