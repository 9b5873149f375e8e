//! The printed plan names the traversal, and the leaf loops whose trees do not fit the preferred
//! storage.

use crate::cases::nests;
use sched_forest::{
    Float, Forest, ForestParts, Inner, Leaf, LinearLeaf, NodeRef, Predicate, Tree, TreeTarget, Types,
};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, compile};
use sched_lang::ModelInfo;

/// Trees that are chains to the right, of `levels` levels.
fn chains(levels: u32, float: Float) -> Forest {
    chains_of(levels, Types { input: float, threshold: float, accumulator: float, output: Float::F32 })
}

fn chains_of(levels: u32, types: Types) -> Forest {
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
            target: TreeTarget::One(0),
            source,
        }
    };
    let trees = (0..4).map(tree).collect();
    Forest::new(ForestParts { trees, num_features: 3, base: vec![0.0], types, ..ForestParts::default() })
        .expect("a valid forest")
}

fn plan(forest: &Forest, schedule: &str) -> String {
    let facts = ModelInfo {
        num_trees: 4,
        num_features: 3,
        num_classes: forest.num_margins as u32,
        oblivious: forest.trees.iter().map(Tree::is_oblivious).collect(),
        depths: forest.trees.iter().map(Tree::depth).collect(),
        ..ModelInfo::default()
    };
    let nests = nests(schedule, facts);
    let compiled =
        compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default()).expect("it compiles");
    compiled.variants.rest().plan.to_string()
}

#[test]
fn plans_name_the_columns_of_sets() {
    let mut parts = chains(80, Float::F32).into_parts();
    parts.sets = (0..80).map(|set| [set, set + 1].into_iter().collect()).collect();
    for tree in &mut parts.trees {
        for (inner, set) in tree.inner.iter_mut().zip(0..) {
            (inner.feature, inner.predicate) = (0, Predicate::Member { set });
        }
    }
    let forest = Forest::new(parts).expect("a valid forest");
    let columns = plan(&forest, "representation(sparse)");
    assert!(columns.contains(
        "80 computed columns test whether a category is in a set; representation(preorder) needs none"
    ));
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
        ("representation(hybrid)".to_string(), "pointer chase", "hybrid_tops x"),
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

/// A linear model with one sum for each margin. Margin 1 adds no last term if `differ`.
fn sums(features: u32, margins: u32, differ: bool) -> Forest {
    let leaf = Leaf { source: 0, values: [0.5].into() };
    let tree = |margin| Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![leaf.clone()],
        target: TreeTarget::One(margin),
        source: margin,
    };
    let terms = |margin: u32| {
        let count = features - u32::from(differ && margin == 1);
        (0..count).map(|feature| (feature, f64::from(feature) - 3.0)).collect()
    };
    let linear = |margin| vec![LinearLeaf { constant: 1.5, terms: terms(margin) }];
    Forest::new(ForestParts {
        trees: (0..margins).map(tree).collect(),
        linear: (0..margins).map(linear).collect(),
        num_features: features as usize,
        num_margins: margins as usize,
        base: vec![0.0; margins as usize],
        ..ForestParts::default()
    })
    .expect("a forest")
}

#[test]
fn linear_models_add_terms_of_ranges_of_columns() {
    let blocks = "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\ncache(b0)\nvectorize(b1, 16)";
    let cases = [
        (sums(12, 1, false), blocks, "terms: columns 0 to 11\n"),
        // Copies have pieces of four features, so 11 features make three pieces, and one feature is copied
        // twice.
        (sums(11, 1, false), blocks, "terms: columns 0 to 6, 8 to 11\n"),
        (sums(11, 2, false), "vectorize(tree, 2)", "terms: columns 0 to 10\n"),
        (sums(11, 2, true), blocks, "terms: other columns in each tree\n"),
    ];
    for (forest, schedule, terms) in cases {
        let plan = plan(&forest, schedule);
        assert!(plan.contains(": sums of terms over storage 0"), "{schedule}\n{plan}");
        assert!(plan.contains(terms), "{schedule}\n{plan}");
    }
    let lanes = plan(&sums(11, 2, true), "vectorize(tree, 2)");
    assert!(lanes.contains(": trees in lanes over storage 0"), "{lanes}");
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
    // Leaves of 64 bits have a 32-bit index into a table.
    let sums = Types { accumulator: Float::F64, ..Types::all(Float::F32) };
    let plan_of_sums = plan(&chains_of(4, sums), vectors);
    assert!(plan_of_sums.contains("packed_leaves x 20: f64"), "{plan_of_sums}");
    assert!(!plan_of_sums.contains("instead of"), "{plan_of_sums}");
    // A word has bits for 64 leaves.
    for (levels, fits) in [(63, true), (64, false)] {
        let plan = plan(&chains(levels, Float::F32), "parallel(batch)\nrepresentation(preorder)");
        assert_eq!(plan.contains("test mask"), fits, "{levels}\n{plan}");
        assert_eq!(plan.contains("pointer chase"), !fits, "{levels}\n{plan}");
        assert_eq!(plan.contains("instead of"), !fits, "{levels}\n{plan}");
    }
}

/// A complete subtree from `level` on, with nodes in depth-first order.
fn grow(tree: &mut Tree, (level, levels): (u32, u32), margins: usize) -> NodeRef {
    if level == levels {
        let source = tree.leaves.len() as u32;
        tree.leaves.push(Leaf { source, values: (0..margins).map(|_| f64::from(source)).collect() });
        return NodeRef::Leaf(source);
    }
    let at = tree.inner.len();
    tree.inner.push(Inner {
        feature: level % 3,
        predicate: Predicate::Numeric { threshold: f64::from(level + tree.source) },
        missing_left: false,
        left: NodeRef::Leaf(0),
        right: NodeRef::Leaf(0),
    });
    let left = grow(tree, (level + 1, levels), margins);
    let right = grow(tree, (level + 1, levels), margins);
    (tree.inner[at].left, tree.inner[at].right) = (left, right);
    NodeRef::Inner(at as u32)
}

/// Complete trees of `levels` levels with leaf vectors of `margins` values; all nodes of a level make
/// one test.
fn oblivious(levels: u32, margins: usize) -> Forest {
    let target = if margins > 1 { TreeTarget::All } else { TreeTarget::One(0) };
    let tree = |source: u32| {
        let mut tree = Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves: Vec::new(), target, source };
        tree.root = grow(&mut tree, (0, levels), margins);
        tree
    };
    let parts = ForestParts {
        trees: (0..4).map(tree).collect(),
        num_features: 3,
        num_margins: margins,
        base: vec![0.0; margins],
        ..ForestParts::default()
    };
    Forest::new(parts).expect("a valid forest")
}

#[test]
fn leaf_vectors_are_added_in_vectors() {
    let rows = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nvectorize(b1, 64)\n";
    let quantized = format!("{rows}representation(quantized)");
    let sparse = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nvectorize(b1, 16)\n\
                  representation(sparse)";
    let cases = [
        // A margin's leaves are looked up in registers, or each row's vector is added separately.
        (6, 3, quantized.as_str(), "sums: a vector of rows at a time"),
        (6, 3, sparse, "sums: all margins of a row at a time"),
        (10, 3, quantized.as_str(), "sums: all margins of a row at a time"),
        (6, 3, "representation(array)", "sums: in a register"),
        (6, 40, "representation(array)", "sums: all margins of a row at a time"),
        (6, 3, "parallel(tree)\natomicReduce(tree)\nreorder(tree, batch)", "sums: one by one"),
    ];
    for (levels, margins, schedule, sums) in cases {
        let plan = plan(&oblivious(levels, margins), schedule);
        assert!(plan.contains(sums), "{levels} levels, {margins} margins\n{schedule}\n{plan}");
        let beside = sums.contains("vector of rows");
        assert_eq!(plan.contains("with their sums"), beside, "{schedule}\n{plan}");
        assert_eq!(plan.contains("leaf_columns x"), beside, "{schedule}\n{plan}");
    }
}

/// Checks that sums are not copied if the copy reaches beyond the iteration's rows. A copy for five vectors
/// exceeds a tile of one vector, and concurrent iterations may add to the sums of the further rows.
#[test]
fn sums_of_rows_that_others_walk_are_not_copied() {
    let mut parts = oblivious(3, 1).into_parts();
    (parts.num_margins, parts.base) = (2, vec![0.0; 2]);
    parts.trees.iter_mut().for_each(|tree| tree.target = TreeTarget::One(tree.source % 2));
    let forest = Forest::new(parts).expect("a valid forest");
    let rows = "tile(batch, b0, b1, 8)\nreorder(b0, tree, b1)\nvectorize(b1, 8)\ninterleave(b1, 5)\n";
    for (rest, beside) in
        [("cache(b1)", true), ("cache(b1)\nparallel(b0)", false), ("cache(b0)\nparallel(b0)", true)]
    {
        let plan = plan(&forest, &format!("{rows}{rest}"));
        assert_eq!(plan.contains("with their sums"), beside, "{rest}\n{plan}");
    }
}

#[test]
fn oblivious_trees_have_one_test_per_level() {
    let rows = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nvectorize(b1, 64)\n";
    let forest = oblivious(6, 1);
    let plan_of = |schedule: &str| plan(&forest, schedule);
    let plan = plan_of(&format!("{rows}representation(oblivious)"));
    assert!(plan.contains("a test for each level over storage 0"), "{plan}");
    assert!(plan.contains("oblivious_tests x 24: bin i8 at 0, column i16 at 2 in 4 bytes"), "{plan}");
    assert!(plan.contains("transposed in blocks of 64 rows"), "{plan}");
    let trees = plan_of("vectorize(tree, 4)\nrepresentation(oblivious)");
    assert!(trees.contains("trees in lanes over storage 0"), "{trees}");
}

#[test]
fn each_level_has_the_cheapest_fetch_strategy() {
    let schedule =
        "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(quantized)\nvectorize(b1, 64)";
    let plan = plan(&chains(4, Float::F32), schedule);
    assert!(plan.contains("transposed in blocks of 64 rows"), "{plan}");
    assert!(
        plan.contains("node numbers in bytes; fetch by level: by node, by node, by column, by column"),
        "{plan}"
    );
}
