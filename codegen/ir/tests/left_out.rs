//! Code and tables that no call needs are omitted: padding nodes in complete layouts, code for more
//! rows than a run has, lanes without a tree.

use crate::cases::nests;
use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::ModelInfo;
use sched_nest::Variants;

/// Trees of two levels whose left child is a leaf.
fn forest(trees: u32) -> Forest {
    let inner = |threshold, right| Inner {
        feature: 0,
        predicate: Predicate::Numeric { threshold },
        missing_left: false,
        left: NodeRef::Leaf(if threshold > 0.0 { 1 } else { 0 }),
        right,
    };
    let leaves: Vec<Leaf> = (0..3).map(|source| Leaf { source, values: [1.0].into() }).collect();
    let tree = |source| Tree {
        root: NodeRef::Inner(0),
        inner: vec![inner(0.0, NodeRef::Inner(1)), inner(1.0, NodeRef::Leaf(2))],
        leaves: leaves.clone(),
        target: TreeTarget::One(0),
        source,
    };
    let parts =
        ForestParts { trees: (0..trees).map(tree).collect(), base: vec![0.0], ..ForestParts::default() };
    Forest::new(ForestParts { num_features: 1, ..parts }).expect("a valid forest")
}

/// The model compiled under a schedule, for runs of at most `rows` rows, or any number.
fn compiled(trees: u32, schedule: &str, rows: Option<u64>) -> Compiled {
    let forest = forest(trees);
    let facts = ModelInfo {
        num_trees: trees,
        num_features: 1,
        num_classes: 1,
        depths: vec![2; trees as usize].into(),
        ..ModelInfo::default()
    };
    let mut nest = nests(schedule, facts).rest().clone();
    nest.batch_size = rows;
    compile(forest, None, Variants::only(nest), &[OutputKind::Raw], &Budget::default()).expect(schedule)
}

#[test]
fn complete_layouts_need_no_nodes_of_padding() {
    let nodes = |schedule: &str| compiled(1, schedule, None).variants.rest().hir.forest.trees[0].inner.len();
    let blocks = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\nvectorize(b1, 4)\n";
    assert_eq!(nodes(&format!("{blocks}cache(b0)\nrepresentation(quantized)")), 2);
    assert_eq!(nodes(&format!("{blocks}representation(levels)")), 2);
    assert_eq!(nodes("unrollWalk(tree, 2)"), 3);
}

#[test]
fn there_is_no_code_for_more_rows_than_a_run_has() {
    let schedule = "reorder(tree, batch)\nvectorize(batch, 4)\ninterleave(batch, 4)\nrepresentation(levels)";
    let length = |rows| compiled(1, schedule, rows).lir.to_string().lines().count();
    // Four vectors together, then two with a mask, then one.
    assert!(length(Some(15)) < length(Some(16)));
    assert!(length(Some(4)) < length(Some(5)));
    assert_eq!(length(Some(16)), length(Some(1000)));
    assert_eq!(compiled(1, schedule, Some(15)).lir.rows_per_run, Some(15));
}

#[test]
fn the_last_vector_of_trees_is_no_wider_than_it_needs_to_be() {
    let schedule = "vectorize(tree, 8)\nrepresentation(levels)";
    let leaves = |trees, lanes: &str| {
        let lir = compiled(trees, schedule, None).lir.to_string();
        lir.lines().any(|line| line.contains("gather lane_leaves") && line.ends_with(lanes))
    };
    assert!(leaves(10, "<8 x f32>") && leaves(10, "<2 x f32>"));
    assert!(leaves(16, "<8 x f32>") && !leaves(16, "<2 x f32>"));
}

#[test]
fn only_the_first_and_the_last_schedule_have_leaf_indices() {
    let nest = |schedule| compiled(4, schedule, None).variants.rest().hir.nest.clone();
    let few = nest("vectorize(tree, 4)\nrepresentation(levels)");
    let more = nest("reorder(tree, batch)\nvectorize(batch, 4)\nrepresentation(sparse)");
    let main = nest("reorder(tree, batch)\nvectorize(batch, 4)\nrepresentation(quantized)");
    let (kernels, budget) = ([OutputKind::Raw, OutputKind::Leaf], Budget::default());
    let mut nests = Variants::only(main);
    nests.insert(8, few).expect("the bound is free");
    nests.insert(16, more).expect("the bound is free");
    let all = compile(forest(4), None, nests, &kernels, &budget).expect("all");
    let numbered = all.lir.tables.iter().filter(|table| table.name.ends_with("_leaf_indices"));
    let numbered: Vec<_> =
        numbered.filter(|table| !table.bytes.is_empty()).map(|table| &table.name).collect();
    assert_eq!(numbered, ["lane_leaf_indices", "quantized_leaf_indices"]);
}

#[test]
fn unroll_and_jam_needs_its_directive() {
    let plain = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\nvectorize(b1, 4)\ninterleave(b1, 4)\n";
    let of = |schedule: &str| {
        let compiled = compiled(7, schedule, None);
        let plan = compiled.variants.rest().plan.to_string();
        (plan.contains("remainder rows: 4 vectors of several trees, interleaved"), compiled.lir.to_string())
    };
    let (together, without) = of(plain);
    assert!(!together);
    // Copies of rows and prefetches of trees do not prevent unroll-and-jam.
    for also in ["", "cache(b0)\n", "cache(tree)\n", "representation(levels)\n"] {
        let (together, with) = of(&format!("{plain}{also}unrollAndJam(tree)\n"));
        assert!(together, "{also}");
        // Four trees at a time, and two, but for walks that look up nodes.
        let has_pairs = !also.contains("levels");
        assert!(with.contains("in 0..4 step 4"), "{also}{with}");
        assert_eq!(with.contains("in 0..6 step 2"), has_pairs, "{also}{with}");
    }
    assert!(!without.contains("step 2 "), "{without}");
}

#[test]
fn remainder_rows_have_their_own_tree_loops() {
    let schedule = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nvectorize(b1, 4)\ninterleave(b1, \
                    4)\nunrollAndJam(tree)\n";
    let over_trees = |rows| {
        let lir = compiled(8, schedule, rows).lir.to_string();
        let of_line = |line: &str| {
            let (_, end) = line
                .split_once(" in 0..8 step ")
                .or_else(|| line.split_once(" in 0..5 step "))
                .or_else(|| line.split_once(" in 0..7 step "))?;
            end.split_whitespace().next()?.parse::<u32>().ok()
        };
        lir.lines().filter_map(of_line).collect::<Vec<_>>()
    };
    // Groups of four vectors, then two vectors of two trees, then one vector of four.
    assert_eq!(over_trees(None), [1, 2, 4]);
    assert_eq!(over_trees(Some(15)), [2, 4]);
    assert_eq!(over_trees(Some(4)), [4]);
}

#[test]
fn sums_of_remainder_rows_stay_in_registers() {
    let schedule = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nvectorize(b1, 4)\ninterleave(b1, \
                    4)\nunrollAndJam(tree)\n";
    let lir = compiled(8, schedule, None).lir.to_string();
    let masked =
        |access: &str| lir.lines().filter(|line| line.contains(access) && line.contains(" where ")).count();
    // Two vectors, then one: the sums of each are loaded before all trees and stored after them.
    assert_eq!((masked("load result["), masked("store result[")), (3, 3), "{lir}");
}

#[test]
fn sweeps_mask_partial_groups() {
    let schedule = |layout| {
        format!(
            "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation({layout})\n\
             vectorize(b1, 4)\ninterleave(b1, 4)\nunrollAndJam(tree)\n"
        )
    };
    // The loop over single trees is for whole groups; the remainder walks several trees at once.
    let has_groups = |layout, rows| {
        let lir = compiled(8, &schedule(layout), Some(rows)).lir.to_string();
        lir.contains(" in 0..8 step 1")
    };
    // Four vectors run from 13 rows on.
    assert!(has_groups("preorder", 13) && !has_groups("preorder", 12));
    assert!(has_groups("quantized", 16) && !has_groups("quantized", 15));
}
