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

/// Labels that compare a wave of a margin, or the margin, with 0.
#[test]
fn scores_that_labels_compare_count() {
    let label = |steepness: Option<f64>| {
        let mut columns = Columns::default();
        let sum = sum_of(&mut columns, Float::F64, 2.0);
        let mut behind = Columns::default();
        let margin = behind.input(0, Float::F64);
        let score = match steepness {
            Some(by) => {
                let steep = with(&mut behind, Binary::Multiply, margin, by);
                behind.add(Expr::Unary(Unary::Sin, steep)).unwrap()
            }
            None => margin,
        };
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
    };
    assert_eq!([label(Some(1e17)), label(Some(10.0)), label(None)], [true, false, false]);
}
