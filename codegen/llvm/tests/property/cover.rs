//! Counts of the features that a set of cases covers. The property test fails if a feature is too rare.

use super::case::Case;
use sched_forest::{Float, Types};
use sched_nest::{Axis, Body, Layout, LoopId, Nest};
use std::collections::BTreeMap;

/// Fewest cases for which rare features are checked.
const LEAST_CASES: usize = 1000;

/// Counts by feature.
#[derive(Default)]
pub struct Cover {
    /// Number of cases.
    pub cases: usize,
    /// Number of cases with each feature, by name.
    pub seen: BTreeMap<&'static str, usize>,
}

/// Features that must occur in at least one of twenty cases.
pub fn wanted() -> impl Iterator<Item = &'static str> {
    WANTED.into_iter().chain(Layout::WORDS.iter().copied())
}

/// Features that must occur in at least one of twenty cases, apart from layouts.
const WANTED: [&str; 41] = [
    "tile",
    "split",
    "splitByDepth",
    "reorder",
    "unroll",
    "specialize",
    "sortTrees",
    "parallel",
    "cache",
    "interleave",
    "unrollAndJam",
    "unrollWalk",
    "peelWalk",
    "speculateWalk",
    "atomicReduce",
    "vectorReduce",
    "vectorize",
    "representation",
    "tileTrees",
    "param",
    "const",
    "likely tiles",
    "tiles nested three deep",
    "inner outside outer",
    "size does not divide",
    "fewer rows than a tile",
    "few rows, several trees",
    "rows narrower than thresholds",
    "rows wider than thresholds",
    "rows narrower than sums",
    "rows wider than sums",
    "sets tested by class",
    "code for narrower rows",
    "base margin of rows",
    "linear leaves",
    "expressions behind trees",
    "linear models",
    "arranged stages of columns",
    "units in lanes",
    "terms in lanes",
    "arranged trees of columns",
];

/// Features that need several random choices, or that only few trees allow. They must occur in at least one
/// of fifty cases.
const COMBINED: [&str; 12] = [
    "cached rows with a bank for each lane",
    "cached trees side by side",
    "cached oblivious trees",
    "preorder",
    "hybrid",
    "arranged stages of columns",
    "units in lanes",
    "terms in lanes",
    "units shared by threads",
    "arranged trees of columns",
    "sets tested by class",
    "likely tiles",
];

impl Cover {
    /// Counts a case.
    pub fn add(&mut self, case: &Case) {
        self.cases += 1;
        for name in WANTED.iter().take(21) {
            let call = format!("{name}(");
            let statement = format!("{name} ");
            let used = case.schedule.lines().any(|l| l.starts_with(&call) || l.starts_with(&statement));
            self.count(name, used);
        }
        self.count("likely tiles", case.has_likely_tiles());
        self.count("tiles nested three deep", tile_depth(&case.schedule) >= 3);
        self.count("inner outside outer", inside_out(&case.schedule, case.nests.rest()));
        self.count(
            "size does not divide",
            !case.nests.rest().constraints.is_empty() && case.schedule.contains("tile("),
        );
        let rows = case.rows.len() / case.forest.num_features;
        self.count("fewer rows than a tile", tile_above(&case.schedule, rows));
        for layout in Layout::ALL {
            self.count(layout.word(), case.schedule.contains(&format!("{})", layout.word())));
        }
        self.count("few rows, several trees", case.walks_few_rows());
        let Types { input, threshold, accumulator, .. } = case.forest.types;
        let narrower = |a: Float, b: Float| a.bytes() < b.bytes();
        self.count("rows narrower than thresholds", narrower(input, threshold));
        self.count("rows wider than thresholds", narrower(threshold, input));
        self.count("rows narrower than sums", narrower(input, accumulator));
        self.count("rows wider than sums", narrower(accumulator, input));
        self.count("sets tested by class", case.tests_classes());
        self.count("code for narrower rows", narrower(case.row_type(), input));
        self.count("base margin of rows", case.base_is_given());
        self.count("expressions behind trees", case.forest.output.expressions().next().is_some());
        let has_nodes = case.forest.trees.iter().any(|tree| !tree.inner.is_empty());
        self.count("linear leaves", case.forest.has_linear_leaves() && has_nodes);
        let arranges = case.nests.iter().any(|(_, nest)| !nest.stages.is_empty());
        self.count("arranged stages of columns", arranges);
        let some_stage = |has: fn(&Nest) -> bool| {
            case.nests.iter().flat_map(|(_, nest)| &nest.stages).any(|stage| has(&stage.nest))
        };
        self.count("arranged scores", case.arranges_scores());
        self.count("units in lanes", some_stage(|nest| has_in_lanes(nest, Axis::Unit)));
        self.count("terms in lanes", some_stage(|nest| has_in_lanes(nest, Axis::Feature)));
        self.count("arranged trees of columns", some_stage(has_trees));
        self.count("units shared by threads", some_stage(has_parallel_units));
        self.count("linear models", case.forest.has_linear_leaves() && !has_nodes);
    }

    pub(crate) fn count(&mut self, name: &'static str, used: bool) {
        *self.seen.entry(name).or_default() += usize::from(used);
    }

    /// Prints the counts, and fails if a feature is rare.
    pub fn is_enough(&self, wanted: impl Iterator<Item = &'static str>) {
        println!("{} cases", self.cases);
        for name in wanted {
            let count = self.seen.get(name).copied().unwrap_or(0);
            println!("  {name:<34} {count:>6}  {:>5.1}%", 100.0 * count as f64 / self.cases as f64);
            let one_of = if COMBINED.contains(&name) { 50 } else { 20 };
            let enough = self.cases < LEAST_CASES || count * one_of >= self.cases;
            assert!(enough, "`{name}` occurs in fewer than one of {one_of} cases");
        }
    }

    /// Adds another set's counts.
    pub fn merge(&mut self, other: Cover) {
        self.cases += other.cases;
        for (name, count) in other.seen {
            *self.seen.entry(name).or_default() += count;
        }
    }
}

/// Arguments of each `tile(v, outer, inner, size)`, without `size`.
fn tiles(schedule: &str) -> impl Iterator<Item = [&str; 4]> {
    schedule.lines().filter_map(|line| {
        let args: Vec<&str> = line.strip_prefix("tile(")?.strip_suffix(')')?.split(", ").collect();
        args.try_into().ok()
    })
}

/// Depth of nested tiles.
fn tile_depth(schedule: &str) -> usize {
    let mut depth: BTreeMap<&str, usize> = BTreeMap::new();
    for [v, outer, inner, _] in tiles(schedule) {
        let v = v.rsplit('.').next().unwrap_or(v);
        let made = depth.get(v).copied().unwrap_or(0) + 1;
        depth.insert(outer, made);
        depth.insert(inner, made);
    }
    depth.values().copied().max().unwrap_or(0)
}

/// Whether a row tile is larger than the number of rows.
fn tile_above(schedule: &str, rows: usize) -> bool {
    tiles(schedule).any(|[_, outer, _, size]| {
        outer.starts_with('b') && size.parse::<usize>().is_ok_and(|size| size > rows)
    })
}

/// Whether the inner loop of some tile is outside its outer loop.
fn inside_out(schedule: &str, nest: &Nest) -> bool {
    let pairs: Vec<(&str, &str)> = tiles(schedule).map(|[_, outer, inner, _]| (outer, inner)).collect();
    nest.roots.iter().any(|root| swapped(nest, *root, &mut Vec::new(), &pairs))
}

fn swapped<'n>(nest: &'n Nest, id: LoopId, above: &mut Vec<&'n str>, pairs: &[(&str, &str)]) -> bool {
    let name = nest.get(id).name.rsplit('.').next().unwrap_or_default();
    if pairs.iter().any(|(outer, inner)| *outer == name && above.contains(inner)) {
        return true;
    }
    above.push(name);
    let children: Vec<LoopId> = match &nest.get(id).body {
        Body::Walk => Vec::new(),
        Body::Seq(list) => list.clone(),
        Body::Cases(cases) => cases.concat(),
    };
    let found = children.into_iter().any(|child| swapped(nest, child, above, pairs));
    above.pop();
    found
}

/// Whether a stage has trees.
fn has_trees(nest: &Nest) -> bool {
    nest.loops.iter().any(|this| this.axis == Axis::Tree)
}

/// Whether threads share units of a layer.
fn has_parallel_units(nest: &Nest) -> bool {
    nest.loops.iter().any(|this| this.axis == Axis::Unit && this.annotations.parallel)
}

/// Whether the lanes of vectors are units of a layer, or terms of its sums.
fn has_in_lanes(nest: &Nest, axis: Axis) -> bool {
    let is_vector = |lanes: Option<u32>| lanes.is_some_and(|lanes| lanes > 1);
    nest.loops.iter().any(|this| this.axis == axis && is_vector(this.annotations.vectorize))
}
