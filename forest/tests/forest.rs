//! Forests made by hand: `Forest::new` refuses invalid ones, and the walker handles all that the types can
//! express.
use sched_diagnostics::Code;
use sched_forest::{
    CategoryRule, ClassRule, Comparison, Float, Forest, ForestParts, Inner, Label, Leaf, LinearLeaf,
    MissingDirections, MissingValues, ModelSource, Names, NodeRef, Output, Predicate, Sigmoid, Softmax,
    Transform, Tree, TreeTarget, Types, WalkError, XGBOOST_JSON, codes, predict, predict_classes,
    predict_leaves, predict_margins, summarize,
};

fn leaf(source: u32, values: &[f64]) -> Leaf {
    Leaf { source, values: values.into() }
}

fn test(feature: u32, threshold: f64, left: NodeRef, right: NodeRef) -> Inner {
    Inner { feature, predicate: Predicate::Numeric { threshold }, missing_left: true, left, right }
}

/// `x0 < 1 ? 10 : (x1 < 2 ? 20 : 30)`.
fn tree() -> Tree {
    Tree {
        root: NodeRef::Inner(0),
        inner: vec![
            test(0, 1.0, NodeRef::Leaf(0), NodeRef::Inner(1)),
            test(1, 2.0, NodeRef::Leaf(1), NodeRef::Leaf(2)),
        ],
        leaves: vec![leaf(1, &[10.0]), leaf(3, &[20.0]), leaf(4, &[30.0])],
        target: TreeTarget::One(0),
        source: 0,
    }
}

fn parts(trees: Vec<Tree>) -> ForestParts {
    ForestParts { trees, num_features: 2, ..ForestParts::default() }
}

fn margins(forest: &Forest, rows: &[f32]) -> Vec<f64> {
    let mut out = vec![0.0; rows.len() / forest.num_features * forest.num_margins];
    predict_margins(forest, rows, &mut out).unwrap();
    out
}

#[test]
fn oblivious_trees_are_found_by_their_shape() {
    let inner = |feature, left, right| Inner {
        feature,
        predicate: Predicate::Numeric { threshold: 0.5 },
        missing_left: false,
        left,
        right,
    };
    let leaf = |source| Leaf { source, values: [f64::from(source)].into() };
    let tree = |inner: Vec<Inner>| Tree {
        root: NodeRef::Inner(0),
        inner,
        leaves: (0..4).map(leaf).collect(),
        target: TreeTarget::One(0),
        source: 0,
    };
    let root = inner(0, NodeRef::Inner(1), NodeRef::Inner(2));
    let pair = |feature, first| inner(feature, NodeRef::Leaf(first), NodeRef::Leaf(first + 1));
    let level = tree(vec![root.clone(), pair(1, 0), pair(1, 2)]);
    let tests = level.level_tests().unwrap();
    assert_eq!(tests.iter().map(|test| test.feature).collect::<Vec<_>>(), [0, 1]);
    // Not oblivious: nodes of a level test different features, or differ in the side of missing values, or
    // leaves have different depths.
    assert!(!tree(vec![root.clone(), pair(1, 0), pair(2, 2)]).is_oblivious());
    let other = Inner { missing_left: true, ..pair(1, 2) };
    assert!(!tree(vec![root, pair(1, 0), other]).is_oblivious());
    assert!(!tree(vec![inner(0, NodeRef::Inner(1), NodeRef::Leaf(2)), pair(1, 0)]).is_oblivious());
    assert!(Tree { root: NodeRef::Leaf(0), inner: Vec::new(), ..level }.is_oblivious());
}

#[test]
fn forests_are_taken_apart_and_rebuilt() {
    let forest = Forest::new(parts(vec![tree(), tree()])).unwrap();
    assert_eq!(forest.iteration_starts, [0, 1, 2]);
    assert_eq!(Forest::new(forest.clone().into_parts()).unwrap(), forest);
    assert_eq!(forest.trees[0].depths(), (2, 1));
}

#[test]
fn broken_parts_are_refused() {
    type Break = fn(&mut ForestParts);
    let cases: [(&str, Code, Break); 25] = [
        ("no features", codes::BAD_PARAMETER, |it| it.num_features = 0),
        ("no margins", codes::BAD_PARAMETER, |it| it.num_margins = 0),
        ("absurd features", codes::TOO_LARGE, |it| it.num_features = usize::MAX),
        ("base of another length", codes::LENGTH_MISMATCH, |it| it.base.push(0.0)),
        ("names of another length", codes::LENGTH_MISMATCH, |it| it.feature_names = vec!["a".into()]),
        ("NaN base", codes::BAD_VALUE, |it| it.base[0] = f64::NAN),
        ("base beyond single precision", codes::BAD_VALUE, |it| it.base[0] = 0.1),
        ("iterations", codes::BAD_ITERATIONS, |it| it.iteration_starts = vec![0, 2]),
        ("target", codes::TARGET_OUT_OF_RANGE, |it| it.trees[0].target = TreeTarget::One(1)),
        ("vector", codes::LENGTH_MISMATCH, |it| it.trees[0].leaves[1].values.push(0.0)),
        ("NaN leaf", codes::BAD_VALUE, |it| it.trees[0].leaves[1].values[0] = f64::NAN),
        ("feature", codes::FEATURE_OUT_OF_RANGE, |it| it.trees[0].inner[1].feature = 2),
        ("threshold", codes::BAD_VALUE, |it| {
            it.trees[0].inner[1].predicate = Predicate::Numeric { threshold: 0.1 }
        }),
        ("categories", codes::BAD_VALUE, |it| it.trees[0].inner[1].predicate = Predicate::Member { set: 0 }),
        ("linear", codes::LENGTH_MISMATCH, |it| it.linear = vec![Vec::new(), Vec::new()]),
        ("linear leaves", codes::LENGTH_MISMATCH, |it| it.linear = vec![vec![LinearLeaf::default()]]),
        ("linear feature", codes::FEATURE_OUT_OF_RANGE, |it| {
            let leaf = LinearLeaf { constant: 0.0, terms: vec![(2, 1.0)] };
            it.linear = vec![vec![leaf; 3]];
        }),
        ("output", codes::BAD_PARAMETER, |it| it.output = scaled(vec![1.0, 2.0])),
        ("child", codes::CHILD_OUT_OF_RANGE, |it| it.trees[0].inner[1].left = NodeRef::Leaf(3)),
        ("cycle", codes::NOT_A_TREE, |it| it.trees[0].inner[1].left = NodeRef::Inner(0)),
        ("shared leaf", codes::NOT_A_TREE, |it| it.trees[0].inner[1].right = NodeRef::Leaf(1)),
        ("unreachable leaf", codes::NODE_ORDER, |it| it.trees[0].leaves.push(leaf(9, &[0.0]))),
        ("unreachable node", codes::NODE_ORDER, |it| {
            let node = test(0, 0.0, NodeRef::Leaf(0), NodeRef::Leaf(1));
            it.trees[0].inner.push(node);
        }),
        ("leaves out of order", codes::NODE_ORDER, |it| {
            let node = &mut it.trees[0].inner[1];
            std::mem::swap(&mut node.left, &mut node.right);
        }),
        ("no leaf", codes::CHILD_OUT_OF_RANGE, |it| {
            it.trees[0] = Tree { root: NodeRef::Leaf(0), inner: vec![], leaves: vec![], ..tree() };
        }),
    ];
    for (name, code, change) in cases {
        let mut parts = parts(vec![tree()]);
        change(&mut parts);
        let error = Forest::new(parts).err().unwrap_or_else(|| panic!("{name} was accepted"));
        assert_eq!(error.code, code, "{name}: {error}");
    }
}

#[test]
fn comparisons_differ_at_the_threshold() {
    let rows = [1.0, 0.0, 1.0, 2.0, f32::NAN, f32::NAN, 5.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let mut parts = parts(vec![tree()]);
    let less = Forest::new(parts.clone()).unwrap();
    assert_eq!(margins(&less, &rows), [20.0, 30.0, 10.0, 20.0, 20.0]);
    parts.comparison = Comparison::LessOrEqual;
    let less_or_equal = Forest::new(parts).unwrap();
    assert_eq!(margins(&less_or_equal, &rows), [10.0, 10.0, 10.0, 20.0, 20.0]);
    let mut leaves = [0; 5];
    predict_leaves(&less, &rows, &mut leaves).unwrap();
    assert_eq!(leaves, [3, 4, 1, 3, 3]);
}

#[test]
fn sums_are_in_tree_order_and_in_the_accumulators_type() {
    let stump = |value: f64| Tree {
        root: NodeRef::Leaf(0),
        inner: vec![],
        leaves: vec![leaf(0, &[value])],
        target: TreeTarget::One(0),
        source: 0,
    };
    let values = [16777216.0, 1.0, 1.0, -16777216.0];
    let mut parts = parts(values.map(stump).to_vec());
    let row = [0.0, 0.0];
    assert_eq!(margins(&Forest::new(parts.clone()).unwrap(), &row), [0.0]);
    parts.types.accumulator = Float::F64;
    assert_eq!(margins(&Forest::new(parts.clone()).unwrap(), &row), [2.0]);
    parts.trees.reverse();
    parts.types.accumulator = Float::F32;
    assert_eq!(margins(&Forest::new(parts).unwrap(), &row), [2.0]);
}

#[test]
fn inputs_are_rounded_to_the_input_type() {
    let third = f64::from(1.0f32 / 3.0);
    let mut parts = parts(vec![tree()]);
    parts.trees[0].inner[0].predicate = Predicate::Numeric { threshold: third };
    let below = [third - 1e-12, 0.0];
    let mut out = [0.0f64];
    predict_margins(&Forest::new(parts.clone()).unwrap(), &below, &mut out).unwrap();
    assert_eq!(out, [20.0], "rounded up to the threshold, which is not below itself");
    parts.types = Types::all(Float::F64);
    predict_margins(&Forest::new(parts).unwrap(), &below, &mut out).unwrap();
    assert_eq!(out, [10.0]);
}

fn scaled(bias: Vec<f64>) -> Output {
    Output { raw: vec![Transform::Scale { factor: 2.0, bias }], ..Output::default() }
}

/// A function that says whether a value goes left at a node with this test.
fn tested(predicate: Predicate, missing_left: bool, rule: CategoryRule) -> impl Fn(f32) -> bool {
    let mut parts = parts(vec![tree()]);
    parts.sets = vec![[7].into_iter().collect(), [0, 2, 4_294_967_295].into_iter().collect()];
    parts.category_rule = rule;
    parts.comparison = Comparison::LessOrEqual;
    parts.trees[0].inner[0].predicate = predicate;
    parts.trees[0].inner[0].missing_left = missing_left;
    let forest = Forest::new(parts).unwrap();
    move |value| margins(&forest, &[value, 0.0])[0] == 10.0
}

#[test]
fn categories_are_members_of_sets() {
    let left = tested(Predicate::Member { set: 1 }, false, CategoryRule::Truncated);
    for value in [0.0, -0.5, 2.9, 2.0] {
        assert!(left(value), "{value}");
    }
    for value in [1.0, -1.0, 7.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 4_294_967_296.0] {
        assert!(!left(value), "{value}");
    }
    assert!(tested(Predicate::Member { set: 1 }, true, CategoryRule::Truncated)(f32::NAN));
    let left = tested(Predicate::Member { set: 1 }, false, CategoryRule::Positive { below: 16_777_216.0 });
    assert!(left(2.9) && left(-0.0) && !left(-0.5));
    let left = tested(Predicate::Member { set: 1 }, false, CategoryRule::Whole);
    assert!(left(2.0) && !left(2.5));
}

#[test]
fn zeros_count_as_missing_where_the_node_says_so() {
    let edge = 1e-35f32;
    for missing_left in [true, false] {
        let left = tested(Predicate::NumericNotZero { threshold: 1.0 }, missing_left, CategoryRule::Whole);
        assert!(left(1.0) && left(-1.0) && left(edge.next_up()) && !left(1.5));
        assert!([0.0, -0.0, edge, -edge, f32::NAN].into_iter().all(|zero| left(zero) == missing_left));
        let plain = tested(Predicate::Numeric { threshold: 1.0 }, missing_left, CategoryRule::Whole);
        assert!(plain(0.0) && plain(f32::NAN) == missing_left);
    }
}

#[test]
fn equality_is_exact() {
    let left = tested(Predicate::Equal { value: 2.5 }, false, CategoryRule::Whole);
    assert!(left(2.5) && !left(2.5f32.next_up()) && !left(2.0) && !left(f32::NAN));
    let zero = tested(Predicate::Equal { value: 0.0 }, true, CategoryRule::Whole);
    assert!(zero(-0.0) && zero(f32::NAN) && !zero(1.0));
}

#[test]
fn linear_leaves_add_their_terms_in_order() {
    let mut parts = parts(vec![tree()]);
    let leaf = LinearLeaf { constant: 0.5, terms: vec![(1, 2.0), (0, 0.25)] };
    parts.linear = vec![vec![leaf, LinearLeaf::default(), LinearLeaf::default()]];
    let forest = Forest::new(parts).unwrap();
    let nan = f32::NAN;
    assert_eq!(margins(&forest, &[0.0, 3.0, -4.0, 1.0, 2.0, 0.0]), [6.5, 1.5, 0.0]);
    assert_eq!(margins(&forest, &[0.0, nan, nan, 1.0]), [10.0, 10.0]);
    assert_eq!(margins(&forest, &[0.0, f32::INFINITY]), [f64::INFINITY]);
}

#[test]
fn raw_output_has_its_own_steps() {
    let mut parts = parts(vec![tree()]);
    parts.output = Output { value: vec![Transform::Complement], ..scaled(vec![1.0]) };
    let forest = Forest::new(parts).unwrap();
    assert_eq!(margins(&forest, &[0.0, 0.0]), [21.0]);
    let mut values = [0.0f32; 2];
    predict(&forest, &[0.0f32, 0.0], &mut values).unwrap();
    assert_eq!((values, forest.value_columns()), ([-20.0, 21.0], 2));
}

#[test]
fn vector_leaves_add_to_all_margins() {
    let mut vector = tree();
    vector.target = TreeTarget::All;
    vector.leaves = vec![leaf(1, &[1.0, 2.0]), leaf(3, &[3.0, 4.0]), leaf(4, &[5.0, 6.0])];
    let mut scalar = tree();
    scalar.target = TreeTarget::One(1);
    let mut parts = parts(vec![vector, scalar]);
    parts.num_margins = 2;
    parts.base = vec![0.5, 0.25];
    parts.output = Output::of(Transform::ArgMax);
    let forest = Forest::new(parts).unwrap();
    assert_eq!(margins(&forest, &[0.0, 0.0, 3.0, 3.0]), [1.5, 12.25, 5.5, 36.25]);
    let mut class = [0.0f32; 2];
    predict(&forest, &[0.0f32, 0.0, 3.0, 3.0], &mut class).unwrap();
    assert_eq!(class, [1.0, 1.0]);
}

#[test]
fn classes_follow_their_rule() {
    let classes = |transform: Transform, rule: Option<ClassRule>, base: &[f64]| {
        let output = Output::of(transform);
        let output = rule.map_or(output.clone(), |rule| output.with_classes(rule));
        let parts =
            ForestParts { num_margins: base.len(), base: base.to_vec(), output, ..ForestParts::default() };
        let forest = Forest::new(parts).unwrap();
        let mut out = vec![9; forest.num_class_numbers()];
        predict_classes(&forest, &[0.0f32], &mut out).map(|()| out)
    };
    let sigmoid = || Transform::Sigmoid(Sigmoid::Bounded);
    let softmax = || Transform::Softmax(Softmax::Plain);
    let above_half = Some(ClassRule::ValueAbove(0.5));
    assert_eq!(classes(sigmoid(), above_half, &[0.5, -0.5, 0.0]), Ok(vec![1, 0, 0]));
    assert_eq!(classes(sigmoid(), Some(ClassRule::MarginAbove(0.0)), &[0.25]), Ok(vec![1]));
    assert_eq!(classes(softmax(), Some(ClassRule::LargestMargin), &[1.0, 3.0, 3.0]), Ok(vec![1]));
    assert_eq!(classes(Transform::ArgMax, Some(ClassRule::LargestMargin), &[1.0, 3.0, 4.0]), Ok(vec![2]));
    assert_eq!(classes(Transform::Complement, Some(ClassRule::LargestValue), &[0.25]), Ok(vec![0]));
    let refused = classes(Transform::Exp, None, &[0.0]);
    assert_eq!(refused, Err(WalkError::NotAClassifier { objective: "reg:squarederror".into() }));
}

#[test]
fn sizes_must_fit() {
    let forest = Forest::new(parts(vec![tree()])).unwrap();
    let ragged = predict_margins(&forest, &[0.0f32; 3], &mut [0.0f32; 2]);
    assert_eq!(ragged, Err(WalkError::Ragged { values: 3, features: 2 }));
    let small = predict_margins(&forest, &[0.0f32; 4], &mut [0.0f32; 1]);
    assert_eq!(small, Err(WalkError::OutputSize { given: 1, needed: 2 }));
    assert_eq!(predict_margins::<f32, f32>(&forest, &[], &mut []), Ok(()));
}

#[test]
fn summaries_count() {
    let mut second = tree();
    second.inner[0].missing_left = false;
    second.inner[0].predicate = Predicate::Numeric { threshold: -1.0 };
    let single = Tree { root: NodeRef::Leaf(0), inner: vec![], leaves: vec![leaf(0, &[-6.0])], ..tree() };
    let mut parts = parts(vec![tree(), second, single]);
    parts.feature_names = vec!["a".into(), "b".into()];
    parts.iteration_starts = vec![0, 3];
    let summary = summarize(&Forest::new(parts).unwrap());
    assert_eq!((summary.trees, summary.inner_nodes, summary.leaves, summary.iterations), (3, 4, 7, 1));
    assert_eq!(Vec::from_iter(summary.depths), [(0, 1), (2, 2)]);
    assert_eq!(Vec::from_iter(summary.leaf_depths), [(0, 1), (1, 2), (2, 4)]);
    let uses: Vec<_> =
        summary.features.iter().map(|it| (it.name.as_deref(), it.nodes, it.thresholds)).collect();
    assert_eq!(uses, [(Some("a"), 2, 2), (Some("b"), 2, 1)]);
    assert_eq!(summary.max_thresholds, 2);
    assert_eq!(summary.missing, MissingDirections::Mixed);
    let range = summary.leaf_values.unwrap();
    assert_eq!((range.min, range.max), (-6.0, 30.0));
    assert_eq!((summary.missing_values, summary.sets, summary.vector_trees), (MissingValues::Nan, 0, 0));
    let empty = summarize(&Forest::new(ForestParts::default()).unwrap());
    assert_eq!((empty.leaf_values, empty.missing), (None, MissingDirections::None));
}

#[test]
fn summaries_say_what_values_are() {
    let mut first = tree();
    first.inner[0].predicate = Predicate::Member { set: 1 };
    first.inner[1].predicate = Predicate::NumericNotZero { threshold: 2.0 };
    let mut both = Tree { target: TreeTarget::All, ..tree() };
    both.inner[0].predicate = Predicate::Member { set: 0 };
    both.inner[1].predicate = Predicate::NumericNotZero { threshold: 2.0 };
    both.leaves.iter_mut().for_each(|leaf| leaf.values.push(1.0));
    let formula = LinearLeaf { constant: 1.0, terms: vec![(0, 2.0)] };
    let output = Output {
        raw: vec![Transform::Divide { by: 2.0 }],
        ..Output::of(Transform::Softmax(Softmax::Plain)).with_classes(ClassRule::LargestValue)
    };
    let mut parts = ForestParts {
        num_margins: 2,
        base: vec![0.0; 2],
        sets: vec![[1].into_iter().collect(), [2, 3].into_iter().collect()],
        linear: vec![vec![formula; 3], vec![]],
        categories: vec![
            Names::listed(["x", "y", "z"].map(|name| Label::Text(name.into())).to_vec()),
            Names::default(),
        ],
        output,
        ..parts(vec![first, both])
    };
    let summary = summarize(&Forest::new(parts.clone()).unwrap());
    assert_eq!((summary.sets, summary.linear_leaves, summary.vector_trees), (2, 3, 1));
    assert_eq!((summary.raw_steps, summary.value_steps), (vec!["average"], vec!["softmax"]));
    assert_eq!((summary.labels, summary.missing_values), (Some(vec![]), MissingValues::NanAndZeros));
    let uses: Vec<_> =
        summary.features.iter().map(|it| (it.nodes, it.thresholds, it.sets, it.categories)).collect();
    assert_eq!(uses, [(2, 0, 2, 3), (2, 1, 0, 0)]);

    parts.trees[1].inner[1].predicate = Predicate::Numeric { threshold: 2.0 };
    parts.output.classes.as_mut().unwrap().labels = vec![Label::Integer(-1), Label::Text("b".into())];
    let summary = summarize(&Forest::new(parts).unwrap());
    assert_eq!(summary.missing_values, MissingValues::NanAndSomeZeros);
    assert_eq!(summary.labels.as_deref().unwrap(), ["-1", "b"]);
    assert_eq!((summary.format, summary.trainer, &summary.version), (None, None, &None));
    let types = ["c", "float"].map(String::from).to_vec();
    let source = ModelSource {
        format: Some(&XGBOOST_JSON),
        trainer: "XGBoost",
        feature_types: types,
        ..ModelSource::default()
    };
    let summary = summary.from_file(&source, &[3, 2, 0]);
    assert_eq!((summary.format, summary.trainer), (Some("JSON"), Some("XGBoost")));
    assert_eq!(summary.version.as_deref(), Some("3.2.0"));
    assert_eq!(summary.features[1].trainer_type.as_deref(), Some("float"));
    assert_eq!(summary.from_file(&ModelSource::default(), &[]).version, None);
}
