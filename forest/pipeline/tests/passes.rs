//! Each pass on a small pipeline: one tree with one node over a column.

use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties, Unary,
};
use sched_forest::grow::{Slot, TreeBuilder};
use sched_forest::{
    CategoryRule, Comparison, Float, Forest, ForestParts, Inner, Label, Leaf, LinearLeaf, Names, NodeRef,
    Predicate, Tree, TreeTarget, Types, predict_leaves,
};
use sched_pipeline::{
    ColumnFate, ComputedReason, Folding, InputKind, Pipeline, PipelineInput, PipelineStage, fold,
    fold_constants, leaf_vectors, remove_unread_columns,
};
use std::sync::Arc;

/// A pipeline of one tree with one node, which tests whether a column is at most `threshold`.
fn pipeline(kinds: &[InputKind], columns: Columns, column: ColumnId, threshold: f64) -> Pipeline {
    let inputs = kinds.iter().map(|kind| {
        let labels = ["a", "b", "c"].map(|name| Label::Text(name.into())).to_vec();
        let names = if *kind == InputKind::Text { Names::listed(labels) } else { Names::default() };
        PipelineInput { name: String::new(), kind: *kind, names }
    });
    let mut tree = TreeBuilder::new(TreeTarget::One(0), 0);
    let predicate = Predicate::Numeric { threshold };
    let (left, right) = tree.inner(Slot::ROOT, 0, predicate, false).expect("a node");
    for (slot, source) in [(left, 1), (right, 2)] {
        tree.leaf(slot, Leaf { source, values: [f64::from(source)].into_iter().collect() });
    }
    let parts = ForestParts {
        trees: vec![tree.done()],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let stage = PipelineStage::Forest { name: "trees".into(), forest, tested: vec![column] };
    Pipeline { inputs: inputs.collect(), columns, stages: vec![stage] }
}

const DOUBLE: InputKind = InputKind::Float(Float::F64);

/// The nodes of the folded pipeline, each with the trainer's numbers of its children that are leaves.
fn nodes(pipeline: Pipeline) -> Vec<(Inner, [Option<u32>; 2])> {
    let Folding { pipeline, fates } =
        fold(fold_constants(remove_unread_columns(pipeline)).expect("types")).expect("a forest");
    assert!(!matches!(fates[0][0], ColumnFate::Computed(_)), "{fates:?}");
    let forest = pipeline.into_forest().expect("a forest over inputs");
    let tree = &forest.trees[0];
    let leaf = |node: NodeRef| match node {
        NodeRef::Leaf(leaf) => Some(tree.leaves[leaf as usize].source),
        NodeRef::Inner(_) => None,
    };
    tree.inner.iter().map(|inner| (inner.clone(), [leaf(inner.left), leaf(inner.right)])).collect()
}

/// Columns with one feature, and the column of that feature.
fn feature(float: Float) -> (Columns, ColumnId) {
    let mut columns = Columns::default();
    let x = columns.input(0, float);
    (columns, x)
}

fn number(columns: &mut Columns, value: f64) -> ColumnId {
    columns.constant(ColumnValue::F64(value))
}

fn add(columns: &mut Columns, expr: Expr) -> ColumnId {
    columns.add(expr).expect("types that fit")
}

fn upto(threshold: f64) -> Predicate {
    Predicate::Numeric { threshold }
}

#[test]
fn a_scaler_becomes_a_threshold() {
    let (mut columns, x) = feature(Float::F64);
    let (mean, scale) = (number(&mut columns, 41.3), number(&mut columns, 17.2));
    let moved = add(&mut columns, Expr::Binary(Binary::Subtract, x, mean));
    let scaled = add(&mut columns, Expr::Binary(Binary::Divide, moved, scale));
    let threshold = (38.0 - 41.3) / 17.2;
    let nodes = nodes(pipeline(&[DOUBLE], columns, scaled, threshold));
    let [(inner, leaves)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((*leaves, inner.missing_left), ([Some(1), Some(2)], false));
    let Predicate::Numeric { threshold: found } = inner.predicate else { panic!("{inner:?}") };
    let passes = |x: f64| (x - 41.3) / 17.2 <= threshold;
    assert!(passes(found) && !passes(found.next_up()) && found >= 38.0);
}

#[test]
fn a_falling_column_swaps_the_sides() {
    let (mut columns, x) = feature(Float::F64);
    let negated = add(&mut columns, Expr::Unary(Unary::Negate, x));
    let nodes = nodes(pipeline(&[DOUBLE], columns, negated, -2.0));
    let [(inner, leaves)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((&inner.predicate, *leaves), (&upto(2.0_f64.next_down()), [Some(2), Some(1)]));
    // Missing values went right before, to leaf 2, which is now on the left.
    assert!(inner.missing_left);
}

#[test]
fn an_imputer_becomes_the_side_of_missing_values() {
    let (mut columns, x) = feature(Float::F64);
    let (is_nan, filler) = (add(&mut columns, Expr::Unary(Unary::IsNan, x)), number(&mut columns, 4.0));
    let filled = add(&mut columns, Expr::Select { condition: is_nan, then: filler, otherwise: x });
    for (threshold, missing_left) in [(3.0, false), (4.0, true)] {
        let nodes = nodes(pipeline(&[DOUBLE], columns.clone(), filled, threshold));
        let [(inner, leaves)] = nodes.as_slice() else { panic!("{nodes:?}") };
        assert_eq!((&inner.predicate, inner.missing_left), (&upto(threshold), missing_left));
        assert_eq!(*leaves, [Some(1), Some(2)]);
    }
}

#[test]
fn an_indicator_becomes_a_test_for_missing_values() {
    let (mut columns, x) = feature(Float::F64);
    let is_nan = add(&mut columns, Expr::Unary(Unary::IsNan, x));
    let indicator = columns.cast(is_nan, ColumnType::F64).expect("a cast");
    let nodes = nodes(pipeline(&[DOUBLE], columns, indicator, 0.5));
    let [(inner, leaves)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((&inner.predicate, inner.missing_left), (&upto(f64::INFINITY), false));
    assert_eq!(*leaves, [Some(1), Some(2)]);
}

#[test]
fn tests_with_one_outcome_are_removed() {
    let (mut columns, x) = feature(Float::F64);
    let is_nan = add(&mut columns, Expr::Unary(Unary::IsNan, x));
    let filler = number(&mut columns, 4.0);
    let filled = add(&mut columns, Expr::Select { condition: is_nan, then: filler, otherwise: x });
    let least = number(&mut columns, 3.0);
    let clipped = add(&mut columns, Expr::Binary(Binary::Max, filled, least));
    assert!(nodes(pipeline(&[DOUBLE], columns.clone(), clipped, 2.0)).is_empty());
    assert!(nodes(pipeline(&[DOUBLE], columns, filler, 2.0)).is_empty());
}

#[test]
fn bins_become_intervals() {
    let (mut columns, x) = feature(Float::F64);
    let edges = Arc::new(Edges { at: vec![1.0, 2.0, 3.0], ties: Ties::Above });
    let step = add(&mut columns, Expr::Step { of: x, edges });
    let second = columns.constant(ColumnValue::I64(2));
    let is_second = add(&mut columns, Expr::Binary(Binary::Equal, step, second));
    let one_hot = columns.cast(is_second, ColumnType::F64).expect("a cast");
    let nodes = nodes(pipeline(&[DOUBLE], columns, one_hot, 0.5));
    let [(first, of_first), (second, of_second)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((&first.predicate, *of_first), (&upto(2.0_f64.next_down()), [Some(1), None]));
    assert_eq!((&second.predicate, *of_second), (&upto(3.0_f64.next_down()), [Some(2), Some(1)]));
}

#[test]
fn encoders_become_sets() {
    let (mut columns, x) = feature(Float::F64);
    let values = [0.1, 0.7, 0.2].map(ColumnValue::F64).to_vec();
    let other = ColumnValue::F64(0.5);
    let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing: ColumnValue::F64(0.9) };
    let encoded = add(&mut columns, Expr::Table { of: x, table: Arc::new(table) });
    let text = [InputKind::Text];
    // The entries of b, of unknown names and of missing texts are above the threshold.
    let above = nodes(pipeline(&text, columns.clone(), encoded, 0.3));
    let [(inner, leaves)] = above.as_slice() else { panic!("{above:?}") };
    assert_eq!((&inner.predicate, inner.missing_left), (&Predicate::Member { set: 0 }, false));
    assert_eq!(*leaves, [Some(1), Some(2)]);
    // Only the entries of b and of missing texts are above the threshold.
    let one = nodes(pipeline(&text, columns, encoded, 0.6));
    let [(inner, leaves)] = one.as_slice() else { panic!("{one:?}") };
    assert_eq!((&inner.predicate, inner.missing_left), (&Predicate::Equal { value: 1.0 }, true));
    assert_eq!(*leaves, [Some(2), Some(1)]);
}

#[test]
fn whole_numbers_are_categories() {
    let (mut columns, x) = feature(Float::F64);
    let whole = columns.cast(x, ColumnType::I64).expect("a cast");
    let seven = columns.constant(ColumnValue::I64(7));
    let is_seven = add(&mut columns, Expr::Binary(Binary::Equal, whole, seven));
    let one_hot = columns.cast(is_seven, ColumnType::F64).expect("a cast");
    let nodes = nodes(pipeline(&[InputKind::Integer], columns, one_hot, 0.5));
    let [(inner, leaves)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((&inner.predicate, *leaves), (&Predicate::Equal { value: 7.0 }, [Some(2), Some(1)]));
}

#[test]
fn singles_have_thresholds_in_single_precision() {
    let (mut columns, x) = feature(Float::F32);
    let (three, wide) = (columns.constant(ColumnValue::F32(3.0)), ColumnType::F64);
    let third = add(&mut columns, Expr::Binary(Binary::Divide, x, three));
    let third = columns.cast(third, wide).expect("a cast");
    let single = [InputKind::Float(Float::F32)];
    let nodes = nodes(pipeline(&single, columns, third, f64::from(0.1_f32 / 3.0)));
    let Predicate::Numeric { threshold } = nodes[0].0.predicate else { panic!("{nodes:?}") };
    let found = threshold as f32;
    assert_eq!(f64::from(found), threshold);
    assert!(found / 3.0 <= 0.1_f32 / 3.0 && found.next_up() / 3.0 > 0.1_f32 / 3.0);
}

#[test]
fn columns_of_two_features_remain() {
    let mut columns = Columns::default();
    let [x, y] = [0, 1].map(|feature| columns.input(feature, Float::F64));
    let product = add(&mut columns, Expr::Binary(Binary::Multiply, x, y));
    let Folding { pipeline, fates } =
        fold(pipeline(&[DOUBLE, DOUBLE], columns, product, 0.5)).expect("a forest");
    assert_eq!(fates, [[ColumnFate::Computed(ComputedReason::SeveralFeatures)]]);
    assert_eq!(pipeline.stages[0].tested(), [x, y, product]);
    let forest = pipeline.into_forest().expect("a forest over features and a column");
    assert_eq!((forest.num_features, forest.computed.read_by_trees.len()), (2, 1));
    let mut leaves = [0; 2];
    predict_leaves(&forest, &[0.5, 1.0, 0.5, 1.5], &mut leaves).expect("two rows");
    assert_eq!(leaves, [1, 2]);
}

#[test]
fn functions_have_no_proven_order() {
    let functions = [
        Unary::Exp,
        Unary::Log,
        Unary::LogOnePlus,
        Unary::Tanh,
        Unary::Logistic,
        Unary::Erf,
        Unary::Sin,
        Unary::Cos,
    ];
    for op in functions {
        let (mut columns, x) = feature(Float::F64);
        let function = add(&mut columns, Expr::Unary(op, x));
        let made = pipeline(&[DOUBLE], columns, function, 0.25);
        let Folding { pipeline, fates } = fold(made).expect("a forest");
        assert_eq!(fates, [[ColumnFate::Computed(ComputedReason::NoOrder(function))]], "{op:?}");
        let forest = pipeline.into_forest().expect("a forest over a feature and a column");
        let mut leaves = [0; 2];
        predict_leaves(&forest, &[-2.0, 2.0], &mut leaves).expect("two rows");
        // The logarithms of -2 are NaN, which goes right.
        let first = if matches!(op, Unary::Log | Unary::LogOnePlus) { 2 } else { 1 };
        // The cosines of -2 and 2 are equal.
        let second = if op == Unary::Cos { 1 } else { 2 };
        assert_eq!(leaves, [first, second], "{op:?}");
    }
    let (mut columns, x) = feature(Float::F64);
    let zero = number(&mut columns, 0.0);
    let power = add(&mut columns, Expr::Binary(Binary::Power, x, zero));
    let Folding { fates, .. } = fold(pipeline(&[DOUBLE], columns, power, 0.25)).expect("a forest");
    assert_eq!(fates, [[ColumnFate::Computed(ComputedReason::NoOrder(power))]]);
}

#[test]
fn columns_that_no_node_tests_are_removed() {
    let mut columns = Columns::default();
    let [x, y] = [0, 1].map(|feature| columns.input(feature, Float::F64));
    let half = number(&mut columns, 0.5);
    let scaled = add(&mut columns, Expr::Binary(Binary::Multiply, y, half));
    let mut pipeline = pipeline(&[DOUBLE, DOUBLE], columns, x, 0.5);
    let PipelineStage::Forest { forest, tested, .. } = &mut pipeline.stages[0];
    tested.push(scaled);
    let mut parts = Forest::clone(forest).into_parts();
    parts.num_features = 2;
    **forest = Forest::new(parts).expect("a forest");
    let live = remove_unread_columns(pipeline);
    assert_eq!(live.columns.len(), 2, "{:?}", live.columns);
    let Folding { fates, .. } = fold(live).expect("a forest");
    assert_eq!(fates, [[ColumnFate::Folded, ColumnFate::Unread]]);
}

#[test]
fn trees_of_equal_tests_become_leaf_vectors() {
    let (columns, x) = feature(Float::F64);
    let mut pipeline = pipeline(&[DOUBLE], columns, x, 0.5);
    let PipelineStage::Forest { forest, .. } = &mut pipeline.stages[0];
    let mut parts = Forest::clone(forest).into_parts();
    let tree = parts.trees.remove(0);
    for (margin, factor) in [(0, 1.0), (1, 10.0), (0, 100.0), (1, 1000.0)] {
        let mut tree = tree.clone();
        tree.leaves.iter_mut().for_each(|leaf| leaf.values[0] *= factor);
        (tree.target, tree.source) = (TreeTarget::One(margin), parts.trees.len() as u32);
        parts.trees.push(tree);
    }
    (parts.num_margins, parts.base, parts.iteration_starts) = (2, vec![0.0; 2], vec![0, 4]);
    **forest = Forest::new(parts.clone()).expect("a forest");
    let merged = leaf_vectors(pipeline.clone()).expect("a forest");
    let trees = &merged.stages[0].forest().expect("a forest").trees;
    assert_eq!((trees.len(), trees[1].target), (2, TreeTarget::All));
    assert_eq!(trees[1].leaves[1].values.as_slice(), [200.0, 2000.0]);
    for rows in [[0.0, 1.0], [f64::NAN, 0.5]] {
        let (mut expected, mut found) = ([0.0; 4], [0.0; 4]);
        pipeline.predict(&rows, &mut expected).expect("two rows");
        merged.predict(&rows, &mut found).expect("two rows");
        assert_eq!(expected, found);
    }
    // Trees with different tests are not merged.
    let mut other = parts.clone();
    other.trees[3].inner[0].missing_left = true;
    let PipelineStage::Forest { forest, .. } = &mut pipeline.stages[0];
    **forest = Forest::new(other).expect("a forest");
    assert_eq!(leaf_vectors(pipeline.clone()), Ok(pipeline.clone()));
    // Linear sums are not merged into leaf vectors, and the merged trees add -0 to the margin of the sum.
    let sum = Tree {
        inner: Vec::new(),
        root: NodeRef::Leaf(0),
        target: TreeTarget::One(2),
        ..parts.trees[0].clone()
    };
    parts.trees.push(Tree { leaves: sum.leaves[..1].to_vec(), source: 4, ..sum });
    parts.linear = vec![Vec::new(); 4];
    parts.linear.push(vec![LinearLeaf { constant: 1.0, terms: vec![(0, 2.0)] }]);
    (parts.num_margins, parts.base, parts.iteration_starts) = (3, vec![-0.0; 3], vec![0, 5]);
    let PipelineStage::Forest { forest, .. } = &mut pipeline.stages[0];
    **forest = Forest::new(parts).expect("a forest");
    let merged = leaf_vectors(pipeline.clone()).expect("a forest");
    let forest = merged.stages[0].forest().expect("a forest");
    assert_eq!(
        forest.trees.iter().map(|tree| tree.target).collect::<Vec<_>>(),
        [TreeTarget::All, TreeTarget::All, TreeTarget::One(2)]
    );
    assert_eq!(forest.trees[0].leaves[0].values[2].to_bits(), (-0.0f64).to_bits());
    assert_eq!(forest.linear.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 1]);
    for rows in [[0.0, 1.0], [f64::NAN, 0.5]] {
        let (mut expected, mut found) = ([0.0; 6], [0.0; 6]);
        pipeline.predict(&rows, &mut expected).expect("two rows");
        merged.predict(&rows, &mut found).expect("two rows");
        assert_eq!(expected.map(f64::to_bits), found.map(f64::to_bits));
    }
}
