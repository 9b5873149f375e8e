//! The plan says which algorithm runs, and where trees do not get what suits their leaf loops.

#![allow(clippy::panic, clippy::expect_used)]

use sched_forest::{Float, Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Target, Tree, Types};
use sched_ir::lir::KernelKind;
use sched_ir::{Budget, compile};
use sched_lang::{ModelInfo, Options, Supported, check};
use sched_nest::Variants;

/// Trees that are chains to the right, of so many levels.
fn chains(levels: u32, float: Float) -> Forest {
    let tree = |source| {
        let inner = (0..levels).map(|level| Inner {
            feature: level % 3,
            predicate: Predicate::Numeric { threshold: f64::from(level) },
            missing_left: false,
            left: NodeRef::Leaf(level),
            right: if level + 1 < levels { NodeRef::Inner(level + 1) } else { NodeRef::Leaf(levels) },
        });
        let leaves = (0..=levels).map(|source| Leaf { source, values: [1.0].into() });
        Tree {
            root: NodeRef::Inner(0),
            inner: inner.collect(),
            leaves: leaves.collect(),
            target: Target::One(0),
            source,
        }
    };
    let types = Types { input: float, threshold: float, accumulator: float, output: Float::F32 };
    let trees = (0..4).map(tree).collect();
    Forest::new(ForestParts { trees, num_features: 3, base: vec![0.0], types, ..ForestParts::default() })
        .expect("a valid forest")
}

fn plan(forest: &Forest, schedule: &str) -> String {
    let facts = ModelInfo {
        num_trees: 4,
        num_features: 3,
        num_classes: 1,
        depths: forest.trees.iter().map(Tree::depth).collect(),
        ..ModelInfo::default()
    };
    let options =
        Options { model: Some(facts.into()), supported: Supported::Compilable, ..Options::default() };
    let checked = check(schedule, &options);
    let nest = checked.nest().cloned().unwrap_or_else(|| panic!("{schedule}: {:?}", checked.diagnostics));
    let compiled =
        compile(forest.clone(), None, Variants::only(nest), &[KernelKind::Raw], &Budget::default())
            .expect("it compiles");
    compiled.variants.rest().plan.to_string()
}

#[test]
fn columns_of_sets_are_said() {
    let mut parts = chains(80, Float::F32).into_parts();
    parts.sets = (0..80).map(|set| [set, set + 1].into_iter().collect()).collect();
    for tree in &mut parts.trees {
        for (inner, set) in tree.inner.iter_mut().zip(0..) {
            (inner.feature, inner.predicate) = (0, Predicate::Member { set });
        }
    }
    let forest = Forest::new(parts).expect("a valid forest");
    let columns = plan(&forest, "representation(sparse)");
    assert!(
        columns.contains("80 columns of a row are sets of categories; representation(preorder) needs none")
    );
    let classes = plan(&forest, "representation(preorder)");
    assert!(classes.contains("preorder_sets") && !classes.contains("columns of a row"), "{classes}");
}

#[test]
fn each_schedule_has_its_traversal() {
    let blocks = "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\n";
    let cases = [
        ("representation(array)".to_string(), "pointer chase", "complete trees in level order, records"),
        ("vectorize(tree, 4)\nrepresentation(sparse)".to_string(), "trees in lanes", "packed into 64 bits"),
        (
            "vectorize(tree, 4)\nrepresentation(levels)".to_string(),
            "trees in lanes",
            "first levels lane by lane",
        ),
        (
            format!("{blocks}representation(levels)\nvectorize(b1, 16)"),
            "level look-up",
            "levels_thresholds x",
        ),
        (
            format!("{blocks}representation(quantized)\nvectorize(b1, 16)"),
            "level look-up",
            "threshold bins and columns in tables",
        ),
        (
            "parallel(batch)\nrepresentation(quantized)".to_string(),
            "test mask",
            "threshold bins and columns in tables",
        ),
        ("parallel(batch)\nrepresentation(preorder)".to_string(), "test mask", "preorder_reaches x"),
        (format!("{blocks}representation(preorder)\nvectorize(b1, 16)"), "node sweep", "leftmost leaf i8"),
        (format!("{blocks}representation(sparse)\ntileTrees(4)"), "node tiles", "tiles of existing nodes"),
    ];
    let forest = chains(4, Float::F32);
    for (schedule, traversal, storage) in cases {
        let plan = plan(&forest, &schedule);
        assert!(plan.contains(&format!(": {traversal} over storage 0")), "{schedule}\n{plan}");
        assert!(plan.contains(storage), "{schedule}\n{plan}");
        assert!(!plan.contains("instead of"), "{schedule}\n{plan}");
    }
}

#[test]
fn a_storage_that_does_not_hold_the_trees_is_named() {
    let vectors = "vectorize(tree, 4)\nrepresentation(sparse)";
    let plan_of_doubles = plan(&chains(4, Float::F64), vectors);
    assert!(plan_of_doubles.contains("child i8 at"), "{plan_of_doubles}");
    assert!(
        plan_of_doubles.contains("instead of: existing nodes breadth first, packed into 64 bits"),
        "{plan_of_doubles}"
    );
    // A word has bits for 64 leaves.
    for (levels, fits) in [(63, true), (64, false)] {
        let plan = plan(&chains(levels, Float::F32), "parallel(batch)\nrepresentation(preorder)");
        assert_eq!(plan.contains("test mask"), fits, "{levels}\n{plan}");
        assert_eq!(plan.contains("pointer chase"), !fits, "{levels}\n{plan}");
        assert_eq!(plan.contains("instead of"), !fits, "{levels}\n{plan}");
    }
}

#[test]
fn bins_are_fetched_level_by_level_as_is_cheapest() {
    let schedule =
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(quantized)\nvectorize(b1, 64)";
    let plan = plan(&chains(4, Float::F32), schedule);
    assert!(plan.contains("transposed in blocks of 64 rows"), "{plan}");
    assert!(
        plan.contains("node numbers in bytes; fetch by level: by node, by node, by column, by column"),
        "{plan}"
    );
}

/// The estimated cycles of the only leaf loop.
fn cycles(forest: &Forest, schedule: &str) -> f64 {
    let plan = plan(forest, schedule);
    let line = plan.lines().find_map(|line| line.trim().strip_prefix("about "));
    let number = line.and_then(|line| line.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no estimate in\n{plan}"))
}

#[test]
fn estimates_order_plans_as_work_does() {
    let rows = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n";
    let (shallow, deep) = (chains(4, Float::F32), chains(12, Float::F32));
    // Deeper trees cost more, walks that wait for nothing less, and wider vectors less for a row.
    let pairs = [
        (cycles(&shallow, "representation(sparse)"), cycles(&deep, "representation(sparse)")),
        (
            cycles(&deep, "reorder(tree, batch)\ninterleave(batch, 4)\nrepresentation(sparse)"),
            cycles(&deep, "reorder(tree, batch)\nrepresentation(sparse)"),
        ),
        (
            cycles(&shallow, &format!("{rows}vectorize(b1, 64)\nrepresentation(quantized)")),
            cycles(&shallow, &format!("{rows}vectorize(b1, 16)\nrepresentation(quantized)")),
        ),
        (
            cycles(&shallow, &format!("{rows}vectorize(b1, 64)\nrepresentation(preorder)")),
            cycles(&deep, &format!("{rows}vectorize(b1, 64)\nrepresentation(preorder)")),
        ),
    ];
    for (at, (less, more)) in pairs.into_iter().enumerate() {
        assert!(0.0 < less && less < more, "pair {at}: {less} and {more}");
    }
}
