//! Compilation refuses layouts and schedules beyond the budget before it builds them, with a code and
//! help.

use crate::cases::nests;
use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget};
use sched_ir::codes;
use sched_ir::lir::OutputKind;
use sched_ir::verify::verify;
use sched_ir::{Budget, CompileError, Compiled, compile};
use sched_lang::ModelInfo;

/// `count` chains of `depth` levels.
fn chains(count: u32, depth: u32) -> Forest {
    let chain = |source| {
        let inner = (0..depth).map(|level| Inner {
            feature: 0,
            predicate: Predicate::Numeric { threshold: f64::from(level) },
            missing_left: false,
            left: NodeRef::Leaf(level),
            right: if level + 1 < depth { NodeRef::Inner(level + 1) } else { NodeRef::Leaf(depth) },
        });
        let leaves = (0..=depth).map(|number| Leaf { source: number, values: [1.0].into() });
        Tree {
            root: NodeRef::Inner(0),
            inner: inner.collect(),
            leaves: leaves.collect(),
            target: TreeTarget::One(0),
            source,
        }
    };
    Forest::new(ForestParts { trees: (0..count).map(chain).collect(), ..ForestParts::default() })
        .expect("a valid forest")
}

fn compiled(forest: Forest, schedule: &str, budget: &Budget) -> Result<Compiled, CompileError> {
    let facts = ModelInfo {
        num_trees: forest.trees.len() as u32,
        num_features: 1,
        num_classes: 1,
        // The checker would refuse deep trees, so its options claim that they are shallow.
        depths: vec![1; forest.trees.len()].into(),
        ..ModelInfo::default()
    };
    compile(forest, None, nests(schedule, facts), &[OutputKind::Raw], budget)
}

#[test]
fn refusals_have_codes_and_help() {
    let small = Budget { tables: 1 << 20, scratch: 1 << 10, ..Budget::default() };
    // Schedule, depth of the trees, code, and a word of the help.
    let cases = [
        ("representation(array)", 17, codes::LAYOUT_BUDGET, "sparse"),
        ("unrollWalk(tree, 15)", 15, codes::PAD_BUDGET, "peelWalk"),
        ("parallel(tree)", 2, codes::PRIVATE_BUDGET, "atomicReduce"),
    ];
    for (schedule, depth, code, word) in cases {
        let count = if code == codes::PRIVATE_BUDGET { 300 } else { 20 };
        let error = compiled(chains(count, depth), schedule, &small).map(drop).expect_err(schedule);
        assert_eq!(error.code, code, "{schedule}: {error}");
        assert!(error.help.as_deref().unwrap().contains(word), "{schedule}: {error}");
    }
}

#[test]
fn trees_deeper_than_any_table_need_no_memory_to_be_refused() {
    let error = compiled(chains(1, 200), "representation(array)", &Budget::default())
        .map(drop)
        .expect_err("too deep");
    assert_eq!(error.code, codes::LAYOUT_BUDGET);
    compiled(chains(1, 200), "representation(sparse)", &Budget::default()).expect("sparse holds any tree");
}

#[test]
fn private_sums_shorten_runs_before_they_are_refused() {
    let budget = Budget { scratch: 1 << 12, ..Budget::default() };
    compiled(chains(8, 2), "reorder(tree, batch)\nparallel(tree)", &budget).expect("128 rows fit");
}

#[test]
fn many_cases_are_nested_no_deeper_than_few() {
    for count in [2, 9, 510, 600] {
        let schedule = format!("tile(batch, b0, b1, {count})\nspecialize(b1)\nunrollWalk(tree, 1)\n");
        let compiled = compiled(chains(2, 1), &schedule, &Budget::default()).expect("a legal schedule");
        for (_, function) in &compiled.lir.kernels {
            assert_eq!(verify(function), Ok(()), "{count} cases");
        }
    }
}
