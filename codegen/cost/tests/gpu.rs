//! The cost model for GPUs beside times of an H100: how much slower the schedule that the model prefers is
//! than the fastest one. `bench/gpu/sweep.py` took the times, and `bench/gpu/data.py` wrote them.

use sched_cost::{GpuMachine, cost_on};
use sched_lang::{Supported, check};
use sched_nest::{Depths, ModelInfo, Nest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The times of schedules: number of the schedule, whether it adds trees in the model's order, and
/// microseconds by rows of a call.
struct Timed<'a> {
    schedule: &'a str,
    is_exact: bool,
    us: BTreeMap<u64, f64>,
}

fn data() -> Value {
    serde_json::from_str(include_str!("h100.json")).expect("the data is JSON")
}

fn number(value: &Value, key: &str) -> u32 {
    value[key].as_u64().and_then(|n| n.try_into().ok()).expect(key)
}

fn counts(value: &Value) -> BTreeMap<u32, u32> {
    let entries = value.as_object().expect("counts").iter();
    entries.map(|(at, n)| (at.parse().expect("a depth"), n.as_u64().expect("a count") as u32)).collect()
}

/// The model's trees, all with the same share of its leaves.
fn info(model: &Value) -> ModelInfo {
    let trees = number(model, "trees");
    let depths: Vec<u32> =
        counts(&model["depths"]).into_iter().flat_map(|(depth, n)| vec![depth; n as usize]).collect();
    let leaves = counts(&model["leaf_depths"]);
    let deepest = leaves.keys().max().copied().unwrap_or(0);
    let share = |tree: u32| -> Vec<u32> {
        let of = |depth: u32| {
            let all = leaves.get(&depth).copied().unwrap_or(0);
            all / trees + u32::from(tree < all % trees)
        };
        (0..=deepest).map(of).collect()
    };
    ModelInfo {
        num_trees: trees,
        num_features: number(model, "features"),
        tested_features: number(model, "tested_features"),
        num_classes: number(model, "margins"),
        depths: Depths::from(depths),
        leaves: (0..trees).map(share).collect(),
        value_bytes: number(model, "value_bytes"),
        sum_bytes: number(model, "sum_bytes"),
        bin_bytes: number(model, "bin_bytes"),
        ..ModelInfo::default()
    }
}

fn timed<'a>(line: &str, schedules: &'a [Value]) -> Timed<'a> {
    let mut words = line.split(' ');
    let schedule = words.next().and_then(|n| schedules[n.parse::<usize>().expect("a number")].as_str());
    let is_exact = words.next() == Some("exact");
    let time = |word: &str| {
        let (rows, us) = word.split_once(':').expect("rows and time");
        (rows.parse().expect("rows"), us.parse().expect("a time"))
    };
    Timed { schedule: schedule.expect("a schedule"), is_exact, us: words.map(time).collect() }
}

fn nest(info: &Arc<ModelInfo>, schedule: &str) -> Nest {
    let options = sched_lang::Options {
        model: Some(Arc::clone(info)),
        target: "gpu(sm_90)".parse().ok(),
        supported: Supported::Compilable,
        ..sched_lang::Options::default()
    };
    check(schedule, &options).nests.expect(schedule).into_for_rows(1)
}

/// Ratios of the preferred schedule's time to the fastest one's, of one model by rows of a call.
fn regrets(model: &Value, times: &[Timed], exact_only: bool) -> Vec<(u64, f64)> {
    let gpu = GpuMachine::named("sm_90").expect("it is known");
    let info = Arc::new(info(model));
    let mut best: BTreeMap<u64, (f64, f64, f64)> = BTreeMap::new();
    for one in times.iter().filter(|one| one.is_exact || !exact_only) {
        let nest = nest(&info, one.schedule);
        for (rows, us) in &one.us {
            let predicted = cost_on(&gpu, &info, &nest, *rows).expect(one.schedule).us;
            let entry = best.entry(*rows).or_insert((f64::INFINITY, 0.0, f64::INFINITY));
            if predicted < entry.0 {
                (entry.0, entry.1) = (predicted, *us);
            }
            entry.2 = entry.2.min(*us);
        }
    }
    best.into_iter().map(|(rows, (_, preferred, fastest))| (rows, preferred / fastest)).collect()
}

/// The median, the ninth tenth and the largest of some numbers.
fn quantiles(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[all.len() * 9 / 10], all[all.len() - 1]]
}

#[test]
fn the_preferred_schedule_is_nearly_the_fastest() {
    let data = data();
    let schedules = data["schedules"].as_array().expect("schedules");
    for exact_only in [false, true] {
        let (mut fitted, mut held_out) = (Vec::new(), Vec::new());
        for (name, model) in data["models"].as_object().expect("models") {
            let lines = data["times"][name].as_array().expect("times");
            let times: Vec<Timed> =
                lines.iter().map(|line| timed(line.as_str().expect("a line"), schedules)).collect();
            let all = regrets(model, &times, exact_only);
            println!("{name:16} {}", all.iter().map(|(n, r)| format!("{n}: {r:.2}  ")).collect::<String>());
            let group = if model["held_out"] == true { &mut held_out } else { &mut fitted };
            group.extend(all.into_iter().map(|(_, regret)| regret));
        }
        for (what, regrets) in [("fitted", fitted), ("held out", held_out)] {
            let [median, most, worst] = quantiles(regrets);
            println!("{what}, exact alone {exact_only}: {median:.3} {most:.2} {worst:.2}");
            assert!(median <= 1.08 && most <= 1.45 && worst <= 2.1, "{what}: {median} {most} {worst}");
        }
    }
}
