//! The models whose schedules were timed on an H100.

use sched_nest::{Depths, ModelInfo};
use serde_json::Value;
use std::collections::BTreeMap;

/// The models with their schedules and times.
///
/// # Panics
///
/// If the file is no JSON.
pub fn data() -> Value {
    serde_json::from_str(include_str!("../../cost/tests/h100.json")).expect("the data is JSON")
}

/// The properties of a model, with its leaves divided equally among its trees.
///
/// # Panics
///
/// If a property is missing.
pub fn info(model: &Value) -> ModelInfo {
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
    let (num_classes, has_leaf_vectors) = (number(model, "margins"), model["leaf_vectors"] == true);
    ModelInfo {
        num_trees: trees,
        num_features: number(model, "features"),
        tested_features: number(model, "tested_features"),
        num_classes,
        depths: Depths::from(depths),
        leaves: (0..trees).map(share).collect(),
        value_bytes: number(model, "value_bytes"),
        sum_bytes: number(model, "sum_bytes"),
        bin_bytes: number(model, "bin_bytes"),
        bins_per_row: number(model, "bins"),
        has_leaf_vectors,
        takes_margins_in_turn: num_classes > 1 && !has_leaf_vectors,
        search_steps: model["search_steps"].as_u64().map_or(0, |steps| steps as u32),
        ..ModelInfo::default()
    }
}

fn number(value: &Value, key: &str) -> u32 {
    value[key].as_u64().and_then(|n| n.try_into().ok()).expect(key)
}

fn counts(value: &Value) -> BTreeMap<u32, u32> {
    let entries = value.as_object().expect("counts").iter();
    entries.map(|(at, n)| (at.parse().expect("a depth"), n.as_u64().expect("a count") as u32)).collect()
}
