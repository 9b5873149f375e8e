//! The aims for GPUs by the cost model: predicted times of the schedules that schedc chooses for an H100,
//! beside the measured times of other engines. `UPDATE=1` renews the table of `docs/gpu/measuring.md`.

use sched_cost::{GpuMachine, cost_on};
use sched_ir::quantize::QuantizedRows;
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_nest::ModelInfo;
use sched_testing::timed;
use schedc_driver::choice::gpu;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gpu/measuring.md");
const BEGIN: &str = "<!-- gpu predictions -->\n";
const END: &str = "<!-- end of gpu predictions -->\n";

/// Numbers of rows of the calls.
const SIZES: [u32; 5] = [1, 64, 1024, 16_384, 1_000_000];

/// Lines of the results of the sweep.
fn lines(part: &str) -> Vec<Value> {
    let results = include_str!("../../../bench/gpu/results/h100-80gb-hbm3-2026-11-26.json");
    let results: Value = serde_json::from_str(results).expect("the results are JSON");
    let all = results["lines"].as_array().expect("lines").iter();
    all.filter(|line| line["part"] == part).cloned().collect()
}

/// Microseconds that the cost model predicts for the chosen schedule of each size.
fn predicted(info: &ModelInfo) -> Vec<f64> {
    let target: Target = "gpu(sm_90)".parse().expect("a target");
    let machine = GpuMachine::named("sm_90").expect("it is known");
    let bins = QuantizedRows { columns: info.bins_per_row, in_bytes: info.bin_bytes == 1, search_steps: 0 };
    let all = gpu::chosen(info, Some(&bins), &target);
    let us = |rows: u32| {
        let covers = |most: Option<u32>| most.is_none_or(|most| rows <= most);
        let text = all.iter().find(|(most, _)| covers(*most)).map(|(_, text)| text).expect("a schedule");
        let options = CheckOptions {
            model: Some(Arc::new(info.clone())),
            target: Some(target.clone()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let nest = check(text, &options).nests.expect("it is legal").into_for_rows(1);
        cost_on(&machine, info, &nest, rows.into()).expect("a mapped nest").us
    };
    SIZES.map(us).into()
}

/// For each model that other engines were timed with: predicted microseconds, and the factor by which the
/// fastest other engine takes longer. Rows are in the device's memory, and times include a wait.
fn table() -> (String, Vec<f64>) {
    let (models, peers, launch) = (timed::data(), lines("peer"), lines("launch"));
    let of_launch = |key: &str| launch[0][key].as_f64().expect(key);
    let wait = of_launch("us_with_wait") - of_launch("us_back_to_back");
    let fastest = |name: &str, rows: u32| {
        let is = |line: &&Value| line["model"] == name && line["batch"] == rows;
        peers.iter().filter(is).filter_map(|line| line["resident_us"].as_f64()).reduce(f64::min)
    };
    let mut text = "| model | 1 row | 64 rows | 1,024 rows | 16,384 rows | 1,000,000 rows |\n".to_string();
    text.push_str("|---|---|---|---|---|---|\n");
    let mut ratios = Vec::new();
    for (name, model) in models["models"].as_object().expect("models") {
        if fastest(name, 1).is_none() {
            continue;
        }
        let _ = write!(text, "| {name} |");
        for (rows, us) in SIZES.into_iter().zip(predicted(&timed::info(model))) {
            let Some(peer) = fastest(name, rows) else {
                text.push_str(" - |");
                continue;
            };
            let ratio = peer / (us + wait);
            ratios.push(ratio);
            let digits = usize::from(us < 100.0);
            let _ = write!(text, " {us:.digits$}, {ratio:.1} |");
        }
        text.push('\n');
    }
    (text, ratios)
}

#[test]
fn the_page_has_the_predicted_leads() {
    let (table, ratios) = table();
    assert_eq!(ratios.len(), 44, "nine models, one of them without the largest calls");
    assert!(ratios.iter().all(|ratio| *ratio > 0.85), "another engine would be faster:\n{table}");
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let (before, rest) = page.split_once(BEGIN).expect(BEGIN);
    let (_, after) = rest.split_once(END).expect(END);
    let renewed = format!("{before}{BEGIN}\n{table}\n{END}{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &renewed).expect("the page can be written");
    }
    assert!(page == renewed || std::env::var_os("UPDATE").is_some(), "run with UPDATE=1:\n{table}");
}
