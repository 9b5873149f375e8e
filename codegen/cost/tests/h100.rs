//! Times of an H100, and the costs that the model predicts for the same calls. `bench/gpu/sweep.py` took the
//! times, and `bench/gpu/data.py` wrote them. At that time, a second launch folded all slots in the device's
//! memory. Slots had the sums of all margins, and those in shared memory were adjacent. Blocks copied all
//! features of their rows. Folds and slots are counted as they were. Copies count as they are now, with the
//! tested features alone.
//!
//! The schedules of the entry `examples` are those of `examples/gpu`, and a few with other sizes.
//! `bench/gpu/run.sh` took their times with a compiler that was older by some days. The differences above
//! apply to it as well.

use sched_cost::{GpuMachine, cost_on};
use sched_lang::{CheckPurpose, check};
use sched_nest::{ModelInfo, Nest};
use sched_testing::timed::{data, info};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The use of a point: a model and a number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The figures of the cost model were fitted to its times.
    Fitted,
    /// Another point of a model with fitted points.
    Other,
    /// The model was held out.
    HeldOut,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 3] = [Part::Fitted, Part::Other, Part::HeldOut];
}

/// A timed schedule of a model: microseconds by rows of a call.
struct TimedSchedule {
    nest: Nest,
    is_exact: bool,
    us: BTreeMap<u64, f64>,
}

/// A call of a model under a schedule.
#[derive(Clone, Copy)]
pub struct Call {
    /// Whether the schedule adds trees in the model's order.
    pub is_exact: bool,
    /// Measured microseconds.
    pub us: f64,
    /// Predicted microseconds.
    pub predicted: f64,
}

/// The calls of a model with the same number of rows, under all schedules.
pub struct Point {
    /// Number of rows.
    pub rows: u64,
    /// The use of the point.
    pub part: Part,
    /// A call for each schedule.
    pub calls: Vec<Call>,
}

/// A model with timed schedules.
pub struct TimedModel {
    /// Name.
    pub name: String,
    /// Position among the models with fitted points; `None` for a model that was held out.
    position: Option<usize>,
    info: ModelInfo,
    schedules: Vec<TimedSchedule>,
}

/// Reads a line of times: number of the schedule, `exact` if it adds trees in the model's order, and
/// microseconds by rows of a call.
fn timed(line: &str, schedules: &[Value], info: &Arc<ModelInfo>) -> (usize, TimedSchedule) {
    let mut words = line.split(' ');
    let number: usize = words.next().and_then(|n| n.parse().ok()).expect("a number");
    let schedule = schedules[number].as_str().expect("a schedule");
    let is_exact = words.next() == Some("exact");
    let time = |word: &str| {
        let (rows, us) = word.split_once(':').expect("rows and time");
        (rows.parse().expect("rows"), us.parse().expect("a time"))
    };
    (number, TimedSchedule { nest: nest(info, schedule), is_exact, us: words.map(time).collect() })
}

/// The nest of a schedule for a model.
pub fn nest(info: &Arc<ModelInfo>, schedule: &str) -> Nest {
    let options = sched_lang::CheckOptions {
        model: Some(Arc::clone(info)),
        target: "gpu(sm_90)".parse().ok(),
        purpose: CheckPurpose::Compile,
        ..sched_lang::CheckOptions::default()
    };
    check(schedule, &options).nests.expect(schedule).into_for_rows(1)
}

/// The GPU as it was when the times were taken.
pub fn gpu() -> GpuMachine {
    let mut gpu = GpuMachine::named("sm_90").expect("it is known");
    gpu.folds_in_second_launch = true;
    gpu.packs_slots = true;
    gpu
}

impl TimedSchedule {
    fn call(&self, gpu: &GpuMachine, info: &ModelInfo, rows: u64) -> Option<Call> {
        let us = *self.us.get(&rows)?;
        let predicted = cost_on(gpu, info, &self.nest, rows).expect("a mapped nest").us;
        Some(Call { is_exact: self.is_exact, us, predicted })
    }
}

impl TimedModel {
    /// All models, in the order of the file.
    pub fn all() -> Vec<TimedModel> {
        let data = data();
        let schedules = data["schedules"].as_array().expect("schedules");
        let mut positions = 0..;
        let of_model = |(name, model): (&String, &Value)| {
            let lines = data["times"][name].as_array().expect("times");
            let of = Arc::new(info(model));
            let timed = |line: &Value| timed(line.as_str().expect("a line"), schedules, &of).1;
            let schedules = lines.iter().map(timed).collect();
            let position = if model["held_out"] == true { None } else { positions.next() };
            TimedModel { name: name.clone(), position, info: with_one_list_of_leaves(&of), schedules }
        };
        data["models"].as_object().expect("models").iter().map(of_model).collect()
    }

    /// The use of a point. Of the points of the models that were not held out, every second one is fitted:
    /// the first, third and fifth size of a model, then the second, fourth and sixth size of the next one.
    /// So both halves have all models and all sizes.
    fn part(&self, size: usize) -> Part {
        match self.position {
            None => Part::HeldOut,
            Some(position) if (position + size).is_multiple_of(2) => Part::Fitted,
            Some(_) => Part::Other,
        }
    }

    /// The points of some parts, as a GPU is predicted to take them.
    pub fn points(&self, gpu: &GpuMachine, parts: &[Part]) -> Vec<Point> {
        let mut sizes: Vec<u64> = self.schedules.iter().flat_map(|one| one.us.keys().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let points = sizes.into_iter().enumerate().map(|(at, rows)| (rows, self.part(at)));
        let point = |(rows, part)| {
            let calls = self.schedules.iter().filter_map(|one| one.call(gpu, &self.info, rows)).collect();
            Point { rows, part, calls }
        };
        points.filter(|(_, part)| parts.contains(part)).map(point).collect()
    }
}

/// The properties of a model with the leaves of all trees in one list, which costs the same.
fn with_one_list_of_leaves(info: &ModelInfo) -> ModelInfo {
    let depths = info.leaves.iter().map(Vec::len).max().unwrap_or(0);
    let at = |depth: usize| info.leaves.iter().filter_map(|tree| tree.get(depth)).sum();
    ModelInfo { leaves: vec![(0..depths).map(at).collect()], ..info.clone() }
}

impl Point {
    /// The calls under schedules that add trees in the model's order, or all calls.
    pub fn calls(&self, exact_only: bool) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.is_exact || !exact_only)
    }

    /// Microseconds of the fastest of these calls.
    pub fn fastest(&self, exact_only: bool) -> f64 {
        self.calls(exact_only).map(|call| call.us).fold(f64::INFINITY, f64::min)
    }

    /// The ratio of the preferred schedule's time to the fastest one's; `None` without schedules.
    pub fn regret(&self, exact_only: bool) -> Option<f64> {
        let preferred = self.calls(exact_only).min_by(|a, b| a.predicted.total_cmp(&b.predicted))?;
        Some(preferred.us / self.fastest(exact_only))
    }
}

/// A name of an example schedule, and predicted over measured times of its calls.
pub type ExampleRatios = (String, Vec<f64>);

/// The example schedules of the data, with all models and calls.
pub fn examples() -> Vec<ExampleRatios> {
    let (data, gpu) = (data(), gpu());
    let of = |key: &str| data["examples"][key].as_array().expect("a list");
    let (schedules, names) = (of("schedules"), of("names"));
    let mut examples: Vec<ExampleRatios> =
        names.iter().map(|name| (name.as_str().expect("a name").to_owned(), Vec::new())).collect();
    for (model, lines) in data["examples"]["times"].as_object().expect("times") {
        let info = Arc::new(info(&data["models"][model]));
        for line in lines.as_array().expect("lines") {
            let (number, timed) = timed(line.as_str().expect("a line"), schedules, &info);
            let calls = timed.us.keys().filter_map(|rows| timed.call(&gpu, &info, *rows));
            examples[number].1.extend(calls.map(|call| call.predicted / call.us));
        }
    }
    examples
}

/// The median, the 90th percentile and the maximum of some numbers.
pub fn quantiles(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[all.len() * 9 / 10], all[all.len() - 1]]
}
