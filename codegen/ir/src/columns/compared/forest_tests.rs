//! Tests of sums below the margins of forests.

use super::tests::{number, share_of_first, sum_of, with};
use super::*;
use sched_columns::{Binary, ColumnType, Expr, Unary};
use sched_forest::{ClassRule, Classes, Float, Forest, ForestParts, Leaf, LinearLeaf, NodeRef, Output};
use sched_forest::{OutputColumns, Sigmoid, Softmax, Transform, Tree, TreeTarget, Types};
use std::sync::Arc;

/// Whether a sum counts as compared if margins are `weights` times it, and `steps` lead to predictions.
fn is_compared_behind(weights: &[f64], steps: Vec<Transform>) -> bool {
    let mut columns = Columns::default();
    let sum = sum_of(&mut columns, Float::F64, 2.0);
    forest_compares((columns, vec![sum]), (sum, weights), predicting(steps))
}

fn predicting(value: Vec<Transform>) -> Output {
    Output { value, ..Output::default() }
}

/// Whether a sum counts as compared if margins are `weights` times the column of `tested`.
fn forest_compares(
    (columns, tested): (Columns, Vec<ColumnId>),
    (sum, weights): (ColumnId, &[f64]),
    output: Output,
) -> bool {
    let tree = |margin: u32| Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![Leaf { source: 0, values: [0.0].into_iter().collect() }],
        target: TreeTarget::One(margin),
        source: margin,
    };
    let leaf = |weight: &f64| vec![LinearLeaf { constant: *weight, terms: vec![(0, *weight)] }];
    let forest = Forest::new(ForestParts {
        trees: (0..).zip(weights).map(|(margin, _)| tree(margin)).collect(),
        types: Types::all(Float::F64),
        num_margins: weights.len(),
        base: vec![0.0; weights.len()],
        linear: weights.iter().map(leaf).collect(),
        output,
        ..ForestParts::default()
    });
    let forest = Arc::new(forest.unwrap());
    let prepared = PreparedForest { forest, columns, tested, class_features: 0, set_columns: 0 };
    compared_by_forest(&prepared, &prepared.tested).contains(&sum)
}

#[test]
fn steps_behind_margins_enlarge_differences() {
    let sigmoid = |slope: f64| Transform::Sigmoid(Sigmoid::Plain { slope });
    let scaled = |factor: f64| Transform::Scale { factor, bias: vec![0.0] };
    assert!(
        is_compared_behind(&[1e12], vec![sigmoid(1.0)]) && !is_compared_behind(&[1e6], vec![sigmoid(1.0)])
    );
    assert!(is_compared_behind(&[1.0], vec![sigmoid(1e12)]));
    assert!(is_compared_behind(&[1e6], vec![scaled(1e6), sigmoid(1.0)]));
    assert!(!is_compared_behind(&[1e6], vec![scaled(1e-6), sigmoid(1.0)]));
    assert!(is_compared_behind(&[1.0], vec![Transform::Divide { by: 1e-12 }, sigmoid(1.0)]));
    assert!(is_compared_behind(&[1.0], vec![Transform::Probit]));
    assert!(is_compared_behind(&[1.0], vec![Transform::Softmax(Softmax::ZeroAside)]));
    assert!(!is_compared_behind(&[1.0], vec![Transform::Softmax(Softmax::Plain)]));
    assert!(is_compared_behind(&[1.0], vec![Transform::Exp, scaled(1e-6), sigmoid(1.0)]));
    assert!(!is_compared_behind(&[1.0], vec![Transform::Exp]));
    assert!(is_compared_behind(&[1.0], vec![Transform::SignedSquare, scaled(1e9), sigmoid(1.0)]));
    // Only the scale of a regression's results.
    assert!(!is_compared_behind(&[1e12], vec![scaled(1e12)]));
}

#[test]
fn scores_of_two_classes_may_be_opposite() {
    let is_compared_by_ratio = |weights: [f64; 2]| {
        let mut behind = Columns::default();
        let margins = [0, 1].map(|margin| behind.input(margin, Float::F64));
        let results = vec![share_of_first(&mut behind, margins)];
        let step = OutputColumns { columns: Arc::new(behind), results };
        is_compared_behind(&weights, vec![Transform::Columns(Arc::new(step))])
    };
    assert!(!is_compared_by_ratio([3.0, -3.0]) && is_compared_by_ratio([3.0, -2.0]));
}

#[test]
fn scores_count_behind_labels_and_beside_large_terms() {
    let floor = |steps: Vec<Transform>| {
        let mut columns = Columns::default();
        let sum = sum_of(&mut columns, Float::F64, 2.0);
        let read = columns.add(Expr::Unary(Unary::Floor, sum)).unwrap();
        forest_compares((columns, vec![read]), (sum, &[1.0, -1.0]), predicting(steps))
    };
    assert!(floor(vec![Transform::ArgMax]) && floor(vec![Transform::Hinge]) && floor(Vec::new()));
    let beside = |weights: &[f64], steep: f64| {
        let mut columns = Columns::default();
        let sum = sum_of(&mut columns, Float::F64, 2.0);
        let steep = with(&mut columns, Binary::Multiply, sum, steep);
        let wave = columns.add(Expr::Unary(Unary::Sin, steep)).unwrap();
        forest_compares((columns, vec![wave]), (sum, weights), Output::default())
    };
    assert!(beside(&[1.0, 1e12], 1e18) && !beside(&[1.0, 1e12], 10.0));
}

/// Whether the sum counts as compared if the margin is that sum, and a label compares what `score` makes of
/// the margin with 0.
fn is_compared_behind_label(score: impl FnOnce(&mut Columns, ColumnId) -> ColumnId) -> bool {
    let mut columns = Columns::default();
    let sum = sum_of(&mut columns, Float::F64, 2.0);
    let mut behind = Columns::default();
    let margin = behind.input(0, Float::F64);
    let score = score(&mut behind, margin);
    let zero = number(&mut behind, 0.0);
    let is_above = behind.add(Expr::Binary(Binary::Less, zero, score)).unwrap();
    let results = vec![behind.cast(is_above, ColumnType::I64).unwrap()];
    let rule = ClassRule::Computed(Arc::new(OutputColumns { columns: behind.into(), results }));
    let classes = Classes {
        rule,
        labels: Vec::new(),
        targets: Vec::new(),
        are_probabilities: None,
        decision_values: None,
    };
    let output = Output { classes: Some(classes), ..Output::default() };
    forest_compares((columns, vec![sum]), (sum, &[1.0]), output)
}

/// Labels that compare a wave of a margin, or the margin, with 0.
#[test]
fn scores_that_labels_compare_count() {
    let wave = |steepness: f64| {
        is_compared_behind_label(|behind, margin| {
            let steep = with(behind, Binary::Multiply, margin, steepness);
            behind.add(Expr::Unary(Unary::Sin, steep)).unwrap()
        })
    };
    let plain = is_compared_behind_label(|_, margin| margin);
    assert_eq!([wave(1e17), wave(10.0), plain], [true, false, false]);
}

/// Scores that a condition chooses jump, unless it chooses the larger of two scores.
#[test]
fn scores_with_a_jump_count() {
    let chosen = |is_largest: bool| {
        is_compared_behind_label(|behind, margin| {
            let [low, high] = [-5.0, 10.0].map(|x| number(behind, x));
            let condition = behind.add(Expr::Binary(Binary::Less, low, margin)).unwrap();
            let then = if is_largest { margin } else { high };
            behind.add(Expr::Select { condition, then, otherwise: low }).unwrap()
        })
    };
    assert!(chosen(false) && !chosen(true));
}

/// The margins of trees have magnitudes of their own, which rounding counts.
#[test]
fn margins_of_trees_count() {
    let is_compared = |weight: f64, factor: f64| {
        let mut columns = Columns::default();
        let sum = sum_of(&mut columns, Float::F64, 2.0);
        let mut behind = Columns::default();
        let margins = [0, 1, 2].map(|margin| behind.input(margin, Float::F64));
        let first = behind.add(Expr::Binary(Binary::Add, margins[0], margins[1])).unwrap();
        let all = behind.add(Expr::Binary(Binary::Add, first, margins[2])).unwrap();
        let scaled = with(&mut behind, Binary::Multiply, all, factor);
        let results = vec![behind.add(Expr::Unary(Unary::Tanh, scaled)).unwrap()];
        let step = Transform::Columns(Arc::new(OutputColumns { columns: behind.into(), results }));
        let tree = |margin: u32, leaf: f64| Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: vec![Leaf { source: 0, values: [leaf].into_iter().collect() }],
            target: TreeTarget::One(margin),
            source: margin,
        };
        let forest = Forest::new(ForestParts {
            trees: vec![tree(0, 0.0), tree(1, 0.7), tree(2, -0.7)],
            types: Types::all(Float::F64),
            num_margins: 3,
            base: vec![0.0; 3],
            linear: vec![vec![LinearLeaf { constant: 0.0, terms: vec![(0, weight)] }], vec![], vec![]],
            output: predicting(vec![step]),
            ..ForestParts::default()
        });
        let forest = Arc::new(forest.unwrap());
        let prepared =
            PreparedForest { forest, columns, tested: vec![sum], class_features: 0, set_columns: 0 };
        compared_by_forest(&prepared, &prepared.tested).contains(&sum)
    };
    assert!(is_compared(1e-12, 1e12) && !is_compared(1.0, 10.0));
}

#[test]
fn infinite_weights_of_scores_count() {
    assert!(is_compared_behind(&[f64::INFINITY], Vec::new()) && !is_compared_behind(&[1e9], Vec::new()));
}
