//! Constructed rows against the walker: each row reaches the nodes and leaves that `Boundary` reports, and no
//! row reaches others.

use crate::common::{files, fixtures};
use sched_columns::{Binary, ColumnType, ColumnValue, Columns, Edges, Expr, Ties};
use sched_forest::{
    Boundary, BoundaryOptions, ComputedColumns, Float, Forest, ForestParts, Inner, Leaf, LinearLeaf, NodeRef,
    Predicate, Tree, TreeTarget, read,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

fn paths() -> Vec<PathBuf> {
    let folders = ["1.7.6", "2.1.4", "3.2.0", "3.4.1", "catboost", "lightgbm", "onnx", "treelite"];
    let files = folders.iter().flat_map(|folder| files(&fixtures(folder)));
    files.filter(|path| !path.to_string_lossy().ends_with(".expected.json")).collect()
}

fn key(float: Float, x: f64) -> i64 {
    match float {
        Float::F32 => {
            let bits = (x as f32).to_bits() as i32;
            i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits).wrapping_sub(1) } else { bits })
        }
        Float::F64 => {
            let bits = x.to_bits() as i64;
            if bits < 0 { i64::MIN.wrapping_sub(bits).wrapping_sub(1) } else { bits }
        }
    }
}

/// The path to each leaf of a tree: its nodes, and whether it goes left at each of them.
fn leaf_paths(tree: &Tree) -> Vec<Vec<(u32, bool)>> {
    let mut leaf_paths = vec![Vec::new(); tree.leaves.len()];
    let mut todo = vec![(tree.root, Vec::new())];
    while let Some((node, path)) = todo.pop() {
        match node {
            NodeRef::Leaf(leaf) => leaf_paths[leaf as usize] = path,
            NodeRef::Inner(index) => {
                let inner = &tree.inner[index as usize];
                for (child, left) in [(inner.left, true), (inner.right, false)] {
                    let mut longer = path.clone();
                    longer.push((index, left));
                    todo.push((child, longer));
                }
            }
        }
    }
    leaf_paths
}

/// Values of the rows that reached a node. Numbers are kept as keys: the largest one that went left, and the
/// smallest one that went right.
#[derive(Default)]
struct Seen {
    last_left: Option<i64>,
    first_right: Option<i64>,
    nan: bool,
    infinite: bool,
    categories: BTreeSet<u32>,
}

fn solve(forest: &Forest, rows: Float, name: &str) -> usize {
    let mut boundary = Boundary::new(forest, BoundaryOptions { rows, finite: false });
    let leaf_paths: Vec<_> = forest.trees.iter().map(leaf_paths).collect();
    let mut seen: BTreeMap<(usize, u32), Seen> = BTreeMap::new();
    let mut reached: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut row = vec![0.0; forest.num_features];
    let mut count = 0;
    while boundary.next_row(&mut row) {
        count += 1;
        if rows == Float::F32 {
            assert!(
                row.iter().all(|x| x.is_nan() || f64::from(*x as f32).to_bits() == x.to_bits()),
                "{name}"
            );
        }
        for (number, tree) in forest.trees.iter().enumerate() {
            let leaf: &Leaf = forest.leaf(tree, &forest.row_values(&row));
            let leaf = tree.leaves.iter().position(|other| std::ptr::eq(other, leaf)).unwrap();
            reached.insert((number, leaf as u32));
            for (node, left) in &leaf_paths[number][leaf] {
                let inner = &tree.inner[*node as usize];
                let x = row[inner.feature as usize];
                let seen = seen.entry((number, *node)).or_default();
                seen.nan |= x.is_nan();
                seen.infinite |= x.is_infinite();
                seen.categories.extend(forest.category_rule.category(x));
                if !x.is_nan() {
                    let key = key(rows, x);
                    match left {
                        true => seen.last_left = seen.last_left.max(Some(key)),
                        false => {
                            seen.first_right = Some(seen.first_right.map_or(key, |first| first.min(key)))
                        }
                    }
                }
            }
        }
    }
    let coverage = boundary.coverage();
    assert_eq!(coverage.met_values, coverage.values, "{name}");
    assert_eq!(coverage.reached_leaves, coverage.reachable_leaves, "{name}");
    assert_eq!(reached.len(), coverage.reached_leaves, "{name}");
    let unreachable: BTreeSet<(usize, u32)> = boundary.unreachable_leaves().collect();
    assert!(reached.is_disjoint(&unreachable), "{name}");
    assert_eq!(reached.len() + unreachable.len(), coverage.leaves, "{name}");
    for (number, tree) in forest.trees.iter().enumerate() {
        for path in &leaf_paths[number] {
            complete(forest, number, tree, path, &seen, (rows, name));
        }
    }
    count
}

/// Checks that rows brought all values of interest to nodes whose feature no ancestor tests: NaN, an
/// infinity, both neighbours of a threshold, each member of a set, and a category outside of it.
fn complete(
    forest: &Forest,
    number: usize,
    tree: &Tree,
    path: &[(u32, bool)],
    seen: &BTreeMap<(usize, u32), Seen>,
    (rows, name): (Float, &str),
) {
    let mut tested = BTreeSet::new();
    for (node, _) in path {
        let Inner { feature, predicate, .. } = &tree.inner[*node as usize];
        let Some(seen) = seen.get(&(number, *node)) else { return };
        if !tested.insert(*feature) {
            continue;
        }
        let what = format!("{name}: tree {number} node {node}");
        assert!(seen.nan && seen.infinite, "{what}");
        match predicate {
            Predicate::Numeric { .. } => {
                // If a threshold is infinite, all numbers may go to one side.
                let left = seen.last_left.unwrap_or(key(rows, f64::NEG_INFINITY) - 1);
                let right = seen.first_right.unwrap_or(key(rows, f64::INFINITY) + 1);
                assert_eq!(left + 1, right, "{what} {rows:?}");
            }
            Predicate::Member { set } => {
                let members = forest.sets[*set as usize].members();
                // Some members are too large for the trainer's rule of categories, or are not exact in the
                // type of the rows.
                let rounded = |x: u32| if rows == Float::F32 { f64::from(x as f32) } else { x.into() };
                let can = |member: &&u32| forest.category_rule.category(rounded(**member)) == Some(**member);
                let mut members_in_reach = members.iter().filter(can);
                assert!(members_in_reach.all(|member| seen.categories.contains(member)), "{what}");
                assert!(seen.categories.iter().any(|category| !members.contains(category)), "{what}");
            }
            Predicate::NumericNotZero { .. } | Predicate::Equal { .. } => {}
        }
    }
}

#[test]
fn every_fixture_is_covered() {
    let (mut models, mut rows) = (0, 0);
    for path in paths() {
        let bytes = std::fs::read(&path).unwrap();
        let forest = read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for float in [Float::F32, Float::F64] {
            rows += solve(&forest, float, &path.display().to_string());
        }
        models += 1;
    }
    assert!(models > 200 && rows > 1000, "{models} models, {rows} rows");
}

/// A forest of one tree, which tests whether feature 1 is below 1 and, if so, whether it is below 2.
fn contradiction(missing_left: bool) -> Forest {
    let model = br#"{"version":[3,2,0],"learner":{
        "learner_model_param":{"base_score":"[5E-1]","num_class":"0","num_feature":"2"},
        "objective":{"name":"reg:squarederror"},
        "gradient_booster":{"name":"gbtree","model":{"tree_info":[0],"trees":[{
        "left_children":[1,3,-1,-1,-1],"right_children":[2,4,-1,-1,-1],"split_indices":[1,1,0,0,0],
        "split_conditions":[1.0,2.0,10,20,30],"default_left":[1,0,0,0,0]}]}}}}"#;
    let mut parts: ForestParts = read(model).unwrap().into_parts();
    for inner in &mut parts.trees[0].inner {
        inner.missing_left |= missing_left;
    }
    Forest::new(parts).unwrap()
}

#[test]
fn leaves_below_contradictions_are_found() {
    // NaN goes left at the root and right at its child. No number reaches that leaf.
    let with_nan = contradiction(false);
    let boundary = Boundary::new(&with_nan, BoundaryOptions { rows: Float::F32, finite: false });
    assert_eq!(boundary.unreachable_leaves().count(), 0);

    let without = contradiction(true);
    let mut boundary = Boundary::new(&without, BoundaryOptions { rows: Float::F32, finite: false });
    let unreachable: Vec<_> = boundary.unreachable_leaves().collect();
    let leaf = &without.trees[0].leaves[unreachable[0].1 as usize];
    assert_eq!((unreachable.len(), leaf.source), (1, 4));
    let mut row = [0.0; 2];
    let mut noise = BTreeSet::new();
    while boundary.next_row(&mut row) {
        noise.insert(row[0].to_bits());
    }
    assert!(noise.len() > 5, "features that no node tests are filled with noise");
}

/// The children of the nodes of a complete tree, in depth-first order.
fn complete_tree(depth: u32, children: &mut Vec<(NodeRef, NodeRef)>, leaves: &mut u32) -> NodeRef {
    if depth == 0 {
        *leaves += 1;
        return NodeRef::Leaf(*leaves - 1);
    }
    let own = children.len();
    children.push((NodeRef::Leaf(0), NodeRef::Leaf(0)));
    let left = complete_tree(depth - 1, children, leaves);
    children[own] = (left, complete_tree(depth - 1, children, leaves));
    NodeRef::Inner(own as u32)
}

/// Rows for a forest with more than `LARGE` values give up on some trees, and later rows meet the values of
/// these.
#[test]
fn large_forests_are_covered_too() {
    let mut parts = contradiction(false).into_parts();
    let leaf = parts.trees[0].leaves[0].clone();
    let mut random = 1u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let mut children = Vec::new();
    complete_tree(8, &mut children, &mut 0);
    let mut tree = |source: u32| Tree {
        root: NodeRef::Inner(0),
        inner: children
            .iter()
            .map(|(left, right)| Inner {
                feature: next(20),
                predicate: Predicate::Numeric { threshold: f64::from(next(1000)) },
                missing_left: next(2) == 0,
                left: *left,
                right: *right,
            })
            .collect(),
        leaves: (0..256).map(|source| Leaf { source, ..leaf.clone() }).collect(),
        source,
        ..parts.trees[0].clone()
    };
    let trees: Vec<Tree> = (0..60).map(&mut tree).collect();
    parts.num_features = 20;
    parts.iteration_starts = (0..=trees.len()).collect();
    parts.trees = trees;
    let forest = Forest::new(parts).unwrap();
    let rows = solve(&forest, Float::F32, "large");
    let coverage = Boundary::new(&forest, BoundaryOptions { rows: Float::F32, finite: false }).coverage();
    assert!(coverage.values > 1 << 17, "{coverage:?}");
    assert!((rows as u64) < coverage.values / 10, "{rows} rows for {coverage:?}");
}

#[test]
fn trainers_that_refuse_infinities_get_none() {
    let forest = contradiction(false);
    let mut boundary = Boundary::new(&forest, BoundaryOptions { rows: Float::F32, finite: true });
    let mut row = [0.0; 2];
    let mut nan = false;
    while boundary.next_row(&mut row) {
        nan |= row[1].is_nan();
        assert!(!row.iter().any(|x| x.is_infinite()));
    }
    assert!(nan && boundary.coverage().met_values == boundary.coverage().values);
}

/// Prints the time and the number of rows for full-size models, if `SCHEDC_MODELS` names a folder of them.
#[test]
fn large_models_are_covered() {
    let Some(folder) = std::env::var_os("SCHEDC_MODELS").map(PathBuf::from) else {
        println!("skipped: SCHEDC_MODELS is not set");
        return;
    };
    for entry in std::fs::read_dir(folder).unwrap() {
        let names = ["model.json", "model.txt", "model.onnx", "model.tl"];
        let path = entry.unwrap().path();
        let Some(path) = names.iter().map(|name| path.join(name)).find(|path| path.exists()) else {
            continue;
        };
        let Ok(forest) = read(&std::fs::read(&path).unwrap()) else { continue };
        let since = Instant::now();
        let options = BoundaryOptions { rows: forest.types.input, finite: false };
        let mut boundary = Boundary::new(&forest, options);
        let built = since.elapsed();
        let mut row = vec![0.0; forest.num_features];
        let mut count = 0;
        while count < 50_000 && boundary.next_row(&mut row) {
            count += 1;
        }
        println!(
            "{}: {built:?}, {count} rows in {:?}, {:?}",
            path.display(),
            since.elapsed(),
            boundary.coverage()
        );
    }
}

#[test]
fn rows_lie_on_edges_of_computed_columns() {
    let mut columns = Columns::default();
    let [x, y, z] = [0, 1, 2].map(|feature| columns.input(feature, Float::F32));
    let edge = columns.constant(ColumnValue::F32(2.5));
    let is_above = columns.add(Expr::Binary(Binary::LessOrEqual, edge, x)).expect("two singles");
    let edges = Arc::new(Edges { at: vec![-1.0, 7.0], ties: Ties::Above });
    let rank = columns.add(Expr::Step { of: y, edges }).expect("a single");
    let read = [is_above, rank].map(|column| columns.cast(column, ColumnType::F32).expect("a cast"));
    let read = [&read[..], &[z]].concat();
    let leaf = Leaf { source: 0, values: [0.0].into() };
    let tree = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![leaf],
        target: TreeTarget::One(0),
        source: 0,
    };
    let terms = vec![(3, 1.0), (4, 1.0), (5, 1.0)];
    let forest = Forest::new(ForestParts {
        trees: vec![tree],
        num_features: 3,
        linear: vec![vec![LinearLeaf { constant: 0.0, terms }]],
        computed: ComputedColumns { columns, read_by_trees: read },
        ..ForestParts::default()
    });
    let forest = forest.expect("a forest");
    let mut boundary = Boundary::new(&forest, BoundaryOptions { rows: Float::F32, finite: false });
    let (mut row, mut rows) = ([0.0; 3], Vec::new());
    while boundary.next_row(&mut row) {
        rows.push(row);
    }
    let has = |feature: usize, value: f32| rows.iter().any(|row| row[feature] == f64::from(value));
    for (feature, edge) in [(0, 2.5), (1, -1.0), (1, 7.0_f32)] {
        assert!([edge.next_down(), edge, edge.next_up()].into_iter().all(|value| has(feature, value)));
    }
    // The first row reaches the leaf. Then come rows on edges, and after them random ones.
    assert!(rows.len() > 500, "{} rows", rows.len());
    assert!(rows[1..7].iter().all(|row| row.iter().all(|value| value.is_finite())));
}

/// A tree that tests a computed column and two features: all its nodes and leaves count as unsolved, and some
/// rows have the thresholds of its features.
#[test]
fn rows_have_the_thresholds_of_trees_that_test_computed_columns() {
    let mut columns = Columns::default();
    let [x, y] = [0, 1].map(|feature| columns.input(feature, Float::F32));
    let sum = columns.add(Expr::Binary(Binary::Add, x, y)).expect("two singles");
    let node = |feature, threshold, left, right| Inner {
        feature,
        predicate: Predicate::Numeric { threshold },
        left,
        right,
        missing_left: false,
    };
    let inner = vec![
        node(2, 0.5, NodeRef::Inner(1), NodeRef::Inner(2)),
        node(0, 1.25, NodeRef::Leaf(0), NodeRef::Leaf(1)),
        node(1, -3.5, NodeRef::Leaf(2), NodeRef::Leaf(3)),
    ];
    let leaf = |source| Leaf { source, values: [0.0].into() };
    let tree = Tree {
        root: NodeRef::Inner(0),
        inner,
        leaves: (0..4).map(leaf).collect(),
        target: TreeTarget::One(0),
        source: 0,
    };
    let forest = Forest::new(ForestParts {
        trees: vec![tree],
        num_features: 2,
        computed: ComputedColumns { columns, read_by_trees: vec![sum] },
        ..ForestParts::default()
    });
    let mut boundary =
        Boundary::new(&forest.expect("a forest"), BoundaryOptions { rows: Float::F32, finite: false });
    let (mut row, mut rows) = ([0.0; 2], Vec::new());
    while boundary.next_row(&mut row) {
        rows.push(row);
    }
    for (feature, threshold) in [(0, 1.25_f32), (1, -3.5)] {
        let has = |value: f32| rows.iter().any(|row| row[feature] == f64::from(value));
        assert!([threshold.next_down(), threshold, threshold.next_up()].into_iter().all(has));
    }
    let coverage = boundary.coverage();
    assert_eq!((coverage.unsolved_nodes, coverage.unsolved_leaves), (3, 4));
    assert_eq!((coverage.nodes, coverage.reachable_leaves, coverage.reached_leaves), (0, 0, 0));
}
