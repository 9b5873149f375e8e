use super::*;
use sched_forest::{CategoryRule, Comparison, ForestParts, Leaf, NodeRef, Tree, TreeTarget, predict_margins};

/// One stump for each of these tests. Missing values go left at stumps of even numbers. The left leaf of
/// stump `i` adds `2^i`, so that a margin says where the row went left.
fn stumps(tests: Vec<(u32, Predicate)>, sets: Vec<Vec<u32>>, rule: CategoryRule) -> Forest {
    let stump = |(source, (feature, predicate)): (u32, (u32, Predicate))| {
        let leaf = |source, value| Leaf { source, values: [value].into() };
        let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(1));
        let inner = vec![Inner { feature, predicate, missing_left: source % 2 == 0, left, right }];
        let leaves = vec![leaf(1, 2_f64.powi(source as i32)), leaf(2, 0.0)];
        Tree { root: NodeRef::Inner(0), inner, leaves, target: TreeTarget::One(0), source }
    };
    let num_features = tests.iter().map(|(feature, _)| *feature as usize + 1).max().unwrap_or(0);
    let trees = (0..).zip(tests).map(stump).collect();
    let sets = sets.into_iter().map(|set| set.into_iter().collect()).collect();
    let parts = ForestParts {
        trees,
        sets,
        num_features,
        category_rule: rule,
        comparison: Comparison::LessOrEqual,
        ..ForestParts::default()
    };
    Forest::new(parts).expect("a valid forest")
}

/// Compares the margins of a forest with those of its prepared form. Each value is a row, for all features.
fn check(forest: &Forest, values: &[f64]) -> PreparedForest {
    let prepared = PreparedForest::of(forest, SetTests::OfColumns).expect("small tables");
    let prepared = prepared.expect("a test that is not numeric");
    for &value in values {
        let value = f64::from(value as f32);
        let row = vec![value; forest.num_features];
        let (mut walked, mut margin) = ([0.0], [0.0]);
        predict_margins(forest, &row, &mut walked).expect("a row");
        predict_margins(&prepared.forest, &prepared.row(&row), &mut margin).expect("a row of columns");
        assert_eq!(margin, walked, "{value}");
    }
    prepared
}

const ODD: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    2.0,
    2.5,
    7.0,
    31.0,
    40.0,
    -0.5,
    -1.0,
    1e-35,
    -1e-36,
    4_294_967_296.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

#[test]
fn columns_replace_all_tests() {
    let equal = |value| Predicate::Equal { value };
    let tests = vec![
        (1, Predicate::NumericNotZero { threshold: 1.0 }),
        (0, equal(2.5)),
        (1, Predicate::Member { set: 0 }),
        (0, equal(0.125)),
        (0, Predicate::Numeric { threshold: 1.5 }),
        (1, Predicate::Member { set: 1 }),
        (1, equal(-0.0)),
        (1, Predicate::Numeric { threshold: 2.0 }),
    ];
    let sets = vec![vec![0, 2, 7], vec![1, 2, 31]];
    for rule in [CategoryRule::Truncated, CategoryRule::Positive { below: 31.0 }, CategoryRule::Whole] {
        let prepared = check(&stumps(tests.clone(), sets.clone(), rule), &ODD);
        assert_eq!((prepared.tested.len(), prepared.set_columns, prepared.class_features), (8, 2, 0));
        let features: Vec<u32> = prepared.forest.trees.iter().map(|tree| tree.inner[0].feature).collect();
        // The order of columns: values, values whose zeros are missing, equalities, sets.
        assert_eq!(features, [2, 4, 6, 3, 0, 7, 5, 1]);
    }
}

#[test]
fn many_sets_share_words() {
    let count = 70_u32;
    let member = |set| (0, Predicate::Member { set });
    let sets = (0..count).map(|set| vec![set, set + 1, 9]).collect();
    let mut forest = stumps((0..20).map(member).collect(), sets, CategoryRule::Truncated);
    check(&forest, &ODD);
    for (tree, set) in
        forest.trees.iter_mut().zip([0, 69, 31, 32, 33, 63, 64, 1, 2, 3, 65].into_iter().cycle())
    {
        tree.inner[0].predicate = Predicate::Member { set };
    }
    let some = check(&forest, &ODD);
    assert_eq!(some.set_columns, 11);
    let mut all = forest.clone();
    all.trees = (0..4).flat_map(|_| forest.trees.clone()).take(count as usize).collect();
    for (tree, set) in all.trees.iter_mut().zip(0..) {
        tree.inner[0].predicate = Predicate::Member { set };
    }
    assert_eq!(check(&all, &ODD).set_columns, 70);
}

#[test]
fn features_with_many_sets_have_classes() {
    let sets = (0..9).map(|bit| (0..600).filter(|category| category >> bit & 1 == 1).collect()).collect();
    let mut tests: Vec<_> = (0..9).map(|set| (0, Predicate::Member { set })).collect();
    tests.push((1, Predicate::Member { set: 3 }));
    let forest = stumps(tests, sets, CategoryRule::Positive { below: 500.0 });
    let prepared = PreparedForest::of(&forest, SetTests::OfClasses).expect("small tables").expect("sets");
    assert_eq!((prepared.tested.len(), prepared.set_columns, prepared.class_features), (3, 1, 1));
    assert_eq!(check(&forest, &ODD).tested.len(), 10);
    let bit = |byte: f64, bit: f64| 8 * byte as u32 + (bit as u32).trailing_zeros();
    for value in [0.0, 1.0, 7.5, 8.0, 255.0, 499.0, 500.0, 511.0, 600.0, -0.5, -1.0, f64::NAN, f64::INFINITY]
    {
        let row = prepared.row(&[value, value]);
        let class = bit(row[0], row[1]);
        // At most 513 classes: missing values, values in no set, and 511 combinations of sets, some of which
        // no category has.
        assert!(class <= 512, "{value}");
        let sum: u32 = prepared.forest.trees[..9]
            .iter()
            .zip(0..)
            .map(|(tree, set)| {
                let Predicate::Member { set: of_classes } = tree.inner[0].predicate else { return 0 };
                u32::from(prepared.forest.sets[of_classes as usize].contains(class)) << set
            })
            .sum();
        let mut walked = [0.0];
        predict_margins(&forest, &[value, f64::NAN], &mut walked).expect("a row");
        assert_eq!(f64::from(sum), walked[0], "{value}");
    }
}

#[test]
fn numeric_forests_need_no_columns() {
    let forest = stumps(vec![(0, Predicate::Numeric { threshold: 1.0 })], Vec::new(), CategoryRule::Whole);
    assert_eq!(PreparedForest::of(&forest, SetTests::OfColumns), Ok(None));
}

#[test]
fn absurd_categories_are_refused() {
    let forest = stumps(vec![(0, Predicate::Member { set: 0 })], vec![vec![u32::MAX]], CategoryRule::Whole);
    let error = PreparedForest::of(&forest, SetTests::OfColumns).expect_err("too large");
    assert_eq!(error.mebibytes, 256);
}
