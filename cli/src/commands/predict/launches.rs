//! The simulator's report on launches: a table for people, and JSON for programs.

use sched_ir::interp::{AccessCost, LaunchCost};
use schedc_driver::simulator::WARP;
use serde_json::{Value, json};

/// Most statements of a launch that are listed.
const MOST_LISTED: usize = 20;

/// The report for people: launches in the order of their first run, each with its most expensive accesses
/// first.
pub fn lines(launches: &[LaunchCost]) -> Vec<String> {
    if launches.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "no races, and no invalid accesses".to_string(),
        format!("average cost of an access by a warp of {WARP} threads, and the number of accesses"),
    ];
    for launch in launches {
        lines.push(head(launch));
        let mut costs: Vec<&AccessCost> = launch.accesses.iter().collect();
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.transfers));
        for cost in costs.iter().take(MOST_LISTED) {
            let AccessCost { statement, is_shared, warp_executions, .. } = cost;
            let (place, unit) = if *is_shared { ("shared", "wavefronts") } else { ("global", "sectors") };
            lines.push(format!(
                "  {place} {:5.1} {unit:<10} x {warp_executions:>8}  {statement}",
                average(cost)
            ));
        }
        if costs.len() > MOST_LISTED {
            lines.push(format!("  and {} more", costs.len() - MOST_LISTED));
        }
        let [wavefronts, sectors] = [true, false].map(|shared| in_all(launch, shared));
        lines.push(format!("  total: {wavefronts} wavefronts and {sectors} sectors"));
    }
    lines
}

/// The line of a launch.
fn head(launch: &LaunchCost) -> String {
    let LaunchCost { name, runs, grid: [x, y, z], block, shared_bytes, .. } = launch;
    let [threads_x, threads_y, threads_z] = block;
    let mut line = format!(
        "launch {name}: {x} x {y} x {z} blocks of {threads_x} x {threads_y} x {threads_z} threads, \
         {shared_bytes} bytes of \
         shared memory, {} barriers in a block",
        barriers(launch),
    );
    if *runs > 1 {
        line += &format!(", {runs} times");
    }
    line
}

/// Barriers per block.
fn barriers(launch: &LaunchCost) -> u64 {
    launch.barriers / launch.blocks.max(1)
}

fn average(cost: &AccessCost) -> f64 {
    cost.transfers as f64 / cost.warp_executions.max(1) as f64
}

/// The wavefronts (`shared`) or sectors of all accesses of a launch.
fn in_all(launch: &LaunchCost, shared: bool) -> u64 {
    launch.accesses.iter().filter(|cost| cost.is_shared == shared).map(|cost| cost.transfers).sum()
}

/// The report as JSON.
pub fn json(launches: &[LaunchCost]) -> Value {
    let access = |cost: &AccessCost| {
        json!({
            "statement": cost.statement,
            "buffer": cost.buffer,
            "space": if cost.is_shared { "shared" } else { "global" },
            "unit": if cost.is_shared { "wavefronts" } else { "sectors" },
            "pieces": cost.transfers,
            "warps": cost.warp_executions,
            "lanes": cost.active_lanes,
        })
    };
    let launch = |launch: &LaunchCost| {
        json!({
            "name": launch.name,
            "times": launch.runs,
            "grid": launch.grid,
            "block": launch.block,
            "blocks": launch.blocks,
            "shared_bytes": launch.shared_bytes,
            "barriers_per_block": barriers(launch),
            "wavefronts": in_all(launch, true),
            "sectors": in_all(launch, false),
            "accesses": launch.accesses.iter().map(access).collect::<Vec<_>>(),
        })
    };
    json!({ "warp": WARP, "launches": launches.iter().map(launch).collect::<Vec<_>>() })
}
