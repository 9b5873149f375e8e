//! The cost model for GPUs, compared with times of an H100. Tests bound the slowdown of the schedule that the
//! model prefers against the fastest one, and the errors of predicted times. `bench/gpu/sweep.py` took the
//! times, and `bench/gpu/data.py` wrote them. At that time, a second launch folded all slots in the device's
//! memory, slots in shared memory were adjacent, and blocks copied all features of their rows. The tests
//! count the first two as they were. Copies count as they are now, with the tested features alone.
//!
//! The schedules of the entry `examples` are those of `examples/gpu`, and a few with other sizes.
//! `bench/gpu/run.sh` took their times with a compiler that was older by some days. The differences above
//! apply to it as well.

use sched_cost::{GpuMachine, cost_on};
use sched_lang::{CheckPurpose, check};
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

/// The properties of a model, with its leaves divided equally among its trees.
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
        bins_per_row: number(model, "bins"),
        has_leaf_vectors: model["leaf_vectors"] == true,
        search_steps: model["search_steps"].as_u64().map_or(0, |steps| steps as u32),
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
    let options = sched_lang::CheckOptions {
        model: Some(Arc::clone(info)),
        target: "gpu(sm_90)".parse().ok(),
        purpose: CheckPurpose::Compile,
        ..sched_lang::CheckOptions::default()
    };
    check(schedule, &options).nests.expect(schedule).into_for_rows(1)
}

/// A call of a model under a schedule.
struct Call {
    rows: u64,
    is_exact: bool,
    us: f64,
    predicted: f64,
}

/// All timed calls of a model.
fn calls(model: &Value, times: &[Timed]) -> Vec<Call> {
    let mut gpu = GpuMachine::named("sm_90").expect("it is known");
    gpu.folds_in_second_launch = true;
    gpu.packs_slots = true;
    let info = Arc::new(info(model));
    let mut calls = Vec::new();
    for one in times {
        let nest = nest(&info, one.schedule);
        calls.extend(one.us.iter().map(|(rows, us)| {
            let predicted = cost_on(&gpu, &info, &nest, *rows).expect(one.schedule).us;
            Call { rows: *rows, is_exact: one.is_exact, us: *us, predicted }
        }));
    }
    calls
}

/// Calls of the same number of rows.
fn by_rows<'a>(calls: impl Iterator<Item = &'a Call>) -> BTreeMap<u64, Vec<&'a Call>> {
    let mut all: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
    calls.for_each(|call| all.entry(call.rows).or_default().push(call));
    all
}

fn fastest(calls: &[&Call]) -> f64 {
    calls.iter().map(|call| call.us).fold(f64::INFINITY, f64::min)
}

/// For one model, by rows of a call: the ratio of the preferred schedule's time to the fastest one's.
fn regrets(calls: &[Call], exact_only: bool) -> Vec<(u64, f64)> {
    let same_rows = by_rows(calls.iter().filter(|call| call.is_exact || !exact_only));
    let regret = |calls: &[&Call]| {
        let preferred = calls.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted));
        preferred.map_or(f64::INFINITY, |call| call.us) / fastest(calls)
    };
    same_rows.into_iter().map(|(rows, calls)| (rows, regret(&calls))).collect()
}

/// Logarithms of predicted over measured times of schedules that take at most twice as long as the fastest
/// one.
fn errors(calls: &[Call]) -> Vec<f64> {
    let near = |calls: Vec<&Call>| {
        let most = 2.0 * fastest(&calls);
        let near = calls.iter().filter(|call| call.us <= most);
        near.map(|call| (call.predicted / call.us).ln()).collect::<Vec<_>>()
    };
    by_rows(calls.iter()).into_values().flat_map(near).collect()
}

/// The median, the 90th percentile and the maximum of some numbers.
fn quantiles(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[all.len() * 9 / 10], all[all.len() - 1]]
}

/// The timed calls of each model, and whether it was held out.
fn all_calls() -> Vec<(String, bool, Vec<Call>)> {
    let data = data();
    let schedules = data["schedules"].as_array().expect("schedules");
    let of_model = |(name, model): (&String, &Value)| {
        let lines = data["times"][name].as_array().expect("times");
        let times: Vec<Timed> =
            lines.iter().map(|line| timed(line.as_str().expect("a line"), schedules)).collect();
        (name.clone(), model["held_out"] == true, calls(model, &times))
    };
    data["models"].as_object().expect("models").iter().map(of_model).collect()
}

#[test]
fn the_preferred_schedule_is_nearly_the_fastest() {
    let models = all_calls();
    for (exact_only, most_worst) in [(false, 1.43), (true, 1.49)] {
        let (mut fitted, mut held_out) = (Vec::new(), Vec::new());
        for (name, is_held_out, calls) in &models {
            let all = regrets(calls, exact_only);
            println!("{name:16} {}", all.iter().map(|(n, r)| format!("{n}: {r:.2}  ")).collect::<String>());
            let group = if *is_held_out { &mut held_out } else { &mut fitted };
            group.extend(all.into_iter().map(|(_, regret)| regret));
        }
        for (what, regrets, most_most) in [("fitted", fitted, 1.14), ("held out", held_out, 1.38)] {
            let [median, most, worst] = quantiles(regrets);
            println!("{what}, exact alone {exact_only}: {median:.3} {most:.2} {worst:.2}");
            let holds = median <= 1.04 && most <= most_most && worst <= most_worst;
            assert!(holds, "{what}, exact alone {exact_only}: {median} {most} {worst}");
        }
    }
}

#[test]
fn predicted_times_of_fast_schedules_are_near_the_measured_ones() {
    let models = all_calls();
    for held_out in [false, true] {
        let errors: Vec<f64> = models
            .iter()
            .filter(|(_, is_held_out, _)| *is_held_out == held_out)
            .flat_map(|(_, _, calls)| errors(calls))
            .collect();
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let deviation = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt();
        let within = errors.iter().filter(|error| error.abs() <= 1.25f64.ln()).count() as f64 / n;
        println!("held out {held_out}: mean {mean:.3}, deviation {deviation:.3}, {within:.2} within 1.25");
        assert!(mean.abs() <= 0.08 && deviation <= 0.21 && within >= 0.8, "{mean} {deviation} {within}");
    }
}

/// A name of an example schedule, and predicted over measured times of its calls.
type ExampleRatios = (String, Vec<f64>);

/// The example schedules of the data, with all models and calls.
fn examples() -> Vec<ExampleRatios> {
    let data = data();
    let of = |key: &str| data["examples"][key].as_array().expect("a list");
    let (schedules, names) = (of("schedules"), of("names"));
    let mut examples: Vec<ExampleRatios> =
        names.iter().map(|name| (name.as_str().expect("a name").to_owned(), Vec::new())).collect();
    for (model, lines) in data["examples"]["times"].as_object().expect("times") {
        for line in lines.as_array().expect("lines") {
            let timed = timed(line.as_str().expect("a line"), schedules);
            let number = schedules.iter().position(|text| text.as_str() == Some(timed.schedule));
            let calls = calls(&data["models"][model], &[timed]);
            let ratios = calls.iter().map(|call| call.predicted / call.us);
            examples[number.expect("it is listed")].1.extend(ratios);
        }
    }
    examples
}

/// Bounds the factor between predicted and measured times of schedules that people write, fast or slow. They
/// have loops over trees in orders that the other schedules lack. No figure of the model was fitted to them.
#[test]
fn predicted_times_of_examples_are_near_the_measured_ones() {
    let factor = |ratio: &f64| ratio.max(ratio.recip());
    let mut all = Vec::new();
    for (name, ratios) in examples() {
        let factors: Vec<f64> = ratios.iter().map(factor).collect();
        let (low, high) = ratios
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
        let [median, most, worst] = quantiles(factors.clone());
        println!("{name:22} {median:.2} {most:.2} {worst:.2}, ratios {low:.2} to {high:.2}");
        if ["rapids", "figure1c", "shared_partial_forest"].iter().any(|start| name.starts_with(start)) {
            assert!(worst <= 2.2, "{name}: {worst}");
        }
        all.extend(factors);
    }
    let n = all.len();
    let [median, most, worst] = quantiles(all);
    println!("{n} calls: {median:.3} {most:.2} {worst:.2}");
    assert!(median <= 1.22 && most <= 1.7 && worst <= 4.9, "{median} {most} {worst}");
}

/// A fold by the last block saves most of a launch in calls that do not fill the device.
#[test]
fn a_fold_by_the_last_block_saves_most_of_a_launch() {
    let data = data();
    let gpu = GpuMachine::named("sm_90").expect("it is known");
    let mut timed = gpu;
    timed.folds_in_second_launch = true;
    let info = Arc::new(info(&data["models"]["abalone"]));
    let saved = |schedule: &str, rows: u64| {
        let nest = nest(&info, schedule);
        let us = |gpu: &GpuMachine| cost_on(gpu, &info, &nest, rows).expect("a mapped nest").us;
        us(&timed) - us(&gpu)
    };
    let few = "tile(batch, b0, b1, 32)\ntile(tree, t0, t1, 125)\nreorder(b0, t0, b1, t1)\n\
               gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n";
    for rows in [1, 64, 1024] {
        let saved = saved(few, rows);
        assert!((0.8..1.78).contains(&saved), "{rows} rows: {saved} us");
    }
    let many = "tile(batch, b0, r, 1024)\ntile(r, b1, b2, 32)\ntile(tree, t0, t1, 125)\n\
                reorder(b0, t0, b1, t1, b2)\ngpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\n\
                gpuDimension(b1, block.x)\n";
    assert_eq!(saved(many, 1024), 0.0, "each thread would fold 32 sums of 8 slots");
}
