//! Compares sums of products with the sums of table entries by which the pass *tables* replaces them.

use crate::draw::{Draw, Random, cases};
use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties, Unary,
};
use sched_forest::{
    CategoryRule, Comparison, Float, Forest, ForestParts, Leaf, LinearLeaf, LinearMissing, NodeRef, Tree,
    TreeTarget, Types, predict,
};
use sched_pipeline::{
    Folding, InputKind, PassFault, Pipeline, PipelineInput, PipelineStage, Tabulation, fold, fold_constants,
    remove_unread_columns, tabulate, with_pass_fault,
};
use std::sync::Arc;

/// The columns of one encoded feature, most of them 0 or 1. Usually one is 1.
fn encoded(draw: &mut Draw, float: Float) -> Vec<ColumnId> {
    let feature = draw.random.below(draw.inputs.len() as u64) as u32;
    let wide = if draw.inputs[feature as usize].kind == InputKind::Float(Float::F32) {
        Float::F32
    } else {
        Float::F64
    };
    let mut x = draw.columns.input(feature, wide);
    let is_number = matches!(draw.inputs[feature as usize].kind, InputKind::Float(_));
    if is_number && draw.random.one_in(3) {
        let filler = draw.value(x, 2.0);
        let condition = draw.add(Expr::Unary(Unary::IsNan, x));
        x = draw.add(Expr::Select { condition, then: filler, otherwise: x });
    }
    let mut columns = match draw.random.below(4) {
        0 => one_hot(draw, x, 0),
        1 => one_hot(draw, x, 20),
        2 => bins(draw, x),
        _ => thresholds(draw, x),
    };
    if draw.random.one_in(4) {
        columns.push(draw.add(Expr::Unary(Unary::IsNan, x)));
    }
    if draw.random.one_in(4) {
        columns.remove(0);
    }
    columns.into_iter().map(|column| draw.cast(column, float.into())).collect()
}

/// Columns that say whether a value is `first`, `first + 1` and so on.
fn one_hot(draw: &mut Draw, x: ColumnId, first: i32) -> Vec<ColumnId> {
    let count = 1 + draw.random.below(14) as i32;
    let is = |draw: &mut Draw, number: i32| {
        let number = draw.value(x, f64::from(number));
        draw.add(Expr::Binary(Binary::Equal, x, number))
    };
    (first..first + count).map(|number| is(draw, number)).collect()
}

/// Columns that say in which of some intervals a value is.
fn bins(draw: &mut Draw, x: ColumnId) -> Vec<ColumnId> {
    let count = 2 + draw.random.below(30);
    let mut at: Vec<f64> = (0..count).map(|_| draw.random.constant()).collect();
    at.sort_by(f64::total_cmp);
    let ties = draw.random.pick(&[Ties::Above, Ties::Below]);
    let rank = draw.add(Expr::Step { of: x, edges: Arc::new(Edges { at, ties }) });
    let is = |draw: &mut Draw, bin: u64| {
        let bin = draw.columns.constant(ColumnValue::I64(bin as i64));
        draw.add(Expr::Binary(Binary::Equal, rank, bin))
    };
    (0..=count).map(|bin| is(draw, bin)).collect()
}

/// Columns of which several may differ from 0: whether a value is above each of some numbers, and an
/// encoder's table.
fn thresholds(draw: &mut Draw, x: ColumnId) -> Vec<ColumnId> {
    let mut columns = Vec::new();
    for _ in 0..1 + draw.random.below(3) {
        let number = draw.random.constant();
        let number = draw.value(x, number);
        let op = draw.random.pick(&[Binary::Less, Binary::LessOrEqual]);
        columns.push(draw.add(Expr::Binary(op, number, x)));
    }
    let mut entry = || ColumnValue::F64(draw.random.below(5) as f64 / 4.0 - 0.5);
    let values = (0..9).map(|_| entry()).collect();
    let (other, missing) = (entry(), entry());
    let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing };
    columns.push(draw.add(Expr::Table { of: x, table: Arc::new(table) }));
    columns
}

/// A weight: usually a number of moderate size, sometimes a special one.
fn weight(random: &mut Random) -> f64 {
    match random.below(16) {
        0 => random.pick(&[0.0, -0.0, 1e-320, -1e300, 1e30]),
        1 if random.one_in(8) => f64::INFINITY,
        _ => random.below(1000) as f64 / 37.0 - 13.0,
    }
}

/// A pipeline with a linear model over encoded features and other columns.
fn linear_model(mut draw: Draw) -> (Pipeline, Draw) {
    let float = draw.random.pick(&[Float::F32, Float::F64]);
    let round = |x: f64| if float == Float::F32 { f64::from(x as f32) } else { x };
    let mut tested = Vec::new();
    for _ in 0..1 + draw.random.below(4) {
        match draw.random.below(3) {
            0 => tested.push(draw.column(float.into())),
            _ => tested.extend(encoded(&mut draw, float)),
        }
    }
    if tested.is_empty() {
        tested.push(draw.column(float.into()));
    }
    let leaf = |values: [f64; 1]| Leaf { source: 0, values: values.into() };
    let (mut trees, mut linear) = (Vec::new(), Vec::new());
    for source in 0..1 + draw.random.below(3) as u32 {
        let terms = (0..tested.len() as u32).map(|feature| (feature, round(weight(&mut draw.random))));
        let terms: Vec<(u32, f64)> = terms.collect();
        let constant = draw.random.pick(&[-0.0, -0.0, 0.0, 0.5]);
        linear.push(vec![LinearLeaf { constant, terms }]);
        let (root, leaves) = (NodeRef::Leaf(0), vec![leaf([0.0])]);
        trees.push(Tree { root, inner: Vec::new(), leaves, target: TreeTarget::One(source), source });
    }
    let parts = ForestParts {
        num_features: tested.len(),
        num_margins: trees.len(),
        base: vec![-0.0; trees.len()],
        iteration_starts: vec![0, trees.len()],
        comparison: Comparison::LessOrEqual,
        types: Types::all(float),
        trees,
        linear,
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let stages = vec![PipelineStage::Forest { name: "sums".into(), forest, tested }];
    let pipeline = Pipeline { inputs: draw.inputs.clone(), columns: draw.columns.clone(), stages };
    (fold_constants(remove_unread_columns(pipeline)).expect("types that fit"), draw)
}

/// Numbers that columns compare a feature with, and their neighbours: at most 150.
fn boundaries(columns: &Columns, input: &PipelineInput) -> Vec<f64> {
    let mut edges = Vec::new();
    for column in columns.all() {
        match columns.expr(column) {
            Expr::Const(value) => edges.push(value.to_f64()),
            Expr::Step { edges: more, .. } => edges.extend(&more.at),
            Expr::Table { table, .. } => edges.extend((0..table.values.len()).map(|at| at as f64)),
            _ => {}
        }
    }
    let near = |value: f64| match input.kind {
        InputKind::Float(Float::F64) => vec![value.next_down(), value, value.next_up()],
        InputKind::Float(Float::F32) => {
            let single = value as f32;
            [single.next_down(), single, single.next_up()].map(f64::from).to_vec()
        }
        InputKind::Integer if value.abs() < 1e15 => vec![value.floor(), value.floor() + 1.0],
        _ => Vec::new(),
    };
    edges.into_iter().flat_map(near).take(150).collect()
}

/// Random rows for a pipeline, and for each value on a boundary a random row with this value.
fn rows(draw: &mut Draw, tabulated: &Pipeline) -> Vec<f64> {
    let mut rows: Vec<f64> = (0..60).flat_map(|_| draw.row()).collect();
    for feature in 0..draw.inputs.len() {
        for value in boundaries(&tabulated.columns, &draw.inputs[feature]) {
            let mut row = draw.row();
            row[feature] = value;
            rows.extend(row);
        }
    }
    rows
}

/// The bits of predictions. All NaN have the same bits.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect()
}

fn sums(pipeline: &Pipeline, rows: &[f64]) -> Vec<u64> {
    let margins = pipeline.stages[0].forest().map_or(0, |forest| forest.num_margins);
    let mut out = vec![0.0; rows.len() / pipeline.inputs.len() * margins];
    pipeline.predict(rows, &mut out).expect("sizes that fit");
    bits(&out)
}

/// Number of terms of all sums.
fn terms(pipeline: &Pipeline) -> usize {
    let forest = pipeline.stages[0].forest();
    forest.into_iter().flat_map(|forest| forest.linear.iter().flatten()).map(|leaf| leaf.terms.len()).sum()
}

#[test]
fn sums_with_tables_have_the_same_bits() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..cases() {
        let (pipeline, mut draw) = linear_model(Draw::new(seed));
        let Tabulation { pipeline: tabulated, .. } = tabulate(pipeline.clone()).expect("a forest");
        let rows = rows(&mut draw, &tabulated);
        let expected = sums(&pipeline, &rows);
        let found = sums(&tabulated, &rows);
        if let Some(place) = (0..expected.len()).find(|place| expected[*place] != found[*place]) {
            let row = place / (expected.len() / (rows.len() / pipeline.inputs.len()));
            let row = &rows[row * pipeline.inputs.len()..][..pipeline.inputs.len()];
            let [expected, found] = [expected[place], found[place]].map(f64::from_bits);
            panic!("seed {seed}: row {row:?} has {expected}, and {found} with tables; {tabulated:?}");
        }
        (before, after) = (before + terms(&pipeline), after + terms(&tabulated));
        let Folding { pipeline: folded, .. } = fold(tabulated).expect("a forest");
        let forest = folded.into_forest().expect("a forest with computed columns");
        let mut of_forest = vec![0.0; expected.len()];
        predict(&forest, &rows, &mut of_forest).expect("whole rows");
        assert_eq!(bits(&of_forest), expected, "seed {seed}");
    }
    assert!(after * 2 < before, "{after} of {before} terms are left");
}

#[test]
fn seeded_faults_of_tables_are_found() {
    let faults = [PassFault::TableEdgeBeside, PassFault::TableEntriesSwapped, PassFault::TableForgetsMissing];
    for fault in faults {
        let (mut wrong, mut found) = (0, 0);
        for seed in 0..cases() / 4 {
            let (pipeline, mut draw) = linear_model(Draw::new(seed));
            let right = tabulate(pipeline.clone()).expect("a forest").pipeline;
            let broken = with_pass_fault(fault, || tabulate(pipeline.clone())).expect("a forest").pipeline;
            if broken == right {
                continue;
            }
            let rows = rows(&mut draw, &right);
            wrong += 1;
            found += usize::from(sums(&pipeline, &rows) != sums(&broken, &rows));
        }
        assert!(wrong >= 20 && found * 10 > wrong * 7, "{fault:?}: {found} of {wrong} faults were found");
    }
}

/// A model with one sum over columns of one feature, with these weights.
fn one_sum(kind: InputKind, columns: Columns, tested: Vec<ColumnId>, weights: &[f64]) -> Pipeline {
    let terms = (0..).zip(weights.iter().copied()).collect();
    let leaves = vec![Leaf { source: 0, values: [0.0].into() }];
    let tree =
        Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves, target: TreeTarget::One(0), source: 0 };
    let parts = ForestParts {
        num_features: tested.len(),
        base: vec![-0.0],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        trees: vec![tree],
        linear: vec![vec![LinearLeaf { constant: -0.0, terms }]],
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let input = PipelineInput { name: String::new(), kind, names: Default::default() };
    Pipeline {
        inputs: vec![input],
        columns,
        stages: vec![PipelineStage::Forest { name: "sum".into(), forest, tested }],
    }
}

/// Columns for the whole numbers below `count`: each is 1 where the feature is its number, else 0.
fn indicators(count: i32) -> (Columns, Vec<ColumnId>) {
    let mut columns = Columns::default();
    let x = columns.input(0, Float::F64);
    let is = |number: i32| {
        let number = columns.constant(ColumnValue::F64(number.into()));
        let is = columns.add(Expr::Binary(Binary::Equal, x, number)).expect("two doubles");
        columns.cast(is, ColumnType::F64).expect("a cast")
    };
    let tested = (0..count).map(is).collect();
    (columns, tested)
}

const DOUBLE: InputKind = InputKind::Float(Float::F64);

#[test]
fn a_one_hot_encoded_feature_is_one_table() {
    let (columns, tested) = indicators(40);
    let weights: Vec<f64> = (0..40).map(|at| f64::from(at) / 7.0 - 3.0).collect();
    let Tabulation { pipeline, replaced } =
        tabulate(one_sum(DOUBLE, columns, tested, &weights)).expect("a forest");
    assert_eq!((replaced[0].len(), terms(&pipeline)), (40, 1));
    let table = *pipeline.stages[0].tested().last().expect("a table");
    let Expr::Table { table, .. } = pipeline.columns.expr(table) else { panic!("{:?}", pipeline.columns) };
    assert_eq!((table.values.len(), table.values[39]), (40, ColumnValue::F64(weights[39])));
    assert_eq!((table.other, table.missing), (ColumnValue::F64(0.0), ColumnValue::F64(0.0)));
}

/// A model in which each margin is a sum over the bins of two features. Margins have different weights.
fn sums_of_bins(draw: &mut Draw, margins: u32) -> Pipeline {
    let mut tested = Vec::new();
    for feature in 0..2 {
        let x = draw.columns.input(feature, Float::F64);
        let at: Vec<f64> = (0..9).map(|edge| f64::from(edge * edge) / 7.0 - 3.0).collect();
        let rank = draw.add(Expr::Step { of: x, edges: Arc::new(Edges { at, ties: Ties::Above }) });
        for bin in 0..10 {
            let bin = draw.columns.constant(ColumnValue::I64(bin));
            let is = draw.add(Expr::Binary(Binary::Equal, rank, bin));
            tested.push(draw.cast(is, ColumnType::F64));
        }
    }
    let weights = |_| (0..20).map(|feature| (feature, weight(&mut draw.random).clamp(-9.0, 9.0))).collect();
    let sums = (0..margins).map(weights).collect();
    several_sums(draw, tested, sums, 0.75)
}

/// A feature as an index. A negative index counts from the end, as in `Gather`.
fn index_from_the_end(draw: &mut Draw, feature: u32, length: i64) -> ColumnId {
    let x = draw.columns.input(feature, Float::F64);
    let index = draw.cast(x, ColumnType::I64);
    let [zero, length] = [0, length].map(|number| draw.columns.constant(ColumnValue::I64(number)));
    let condition = draw.add(Expr::Binary(Binary::Less, index, zero));
    let then = draw.add(Expr::Binary(Binary::Add, index, length));
    let index = draw.add(Expr::Select { condition, then, otherwise: index });
    draw.cast(index, ColumnType::F64)
}

/// A model in which each margin is the sum of a table entry for each of two features and of a constant. Each
/// margin has its own tables. The sums are chains of additions, or terms.
fn sums_of_entries(draw: &mut Draw, margins: u32, is_chain: bool) -> Pipeline {
    let mut tested = Vec::new();
    for _ in 0..margins {
        for feature in 0..2 {
            let of = index_from_the_end(draw, feature, 6);
            let mut entry = || ColumnValue::F64(weight(&mut draw.random).clamp(-9.0, 9.0));
            let values = (0..6).map(|_| entry()).collect();
            let (other, missing) = (entry(), entry());
            let table = CategoryTable { rule: CategoryRule::Truncated, values, other, missing };
            tested.push(draw.add(Expr::Table { of, table: Arc::new(table) }));
        }
        let last = ColumnValue::F64(weight(&mut draw.random).clamp(-9.0, 9.0));
        tested.push(draw.columns.constant(last));
    }
    if is_chain {
        let chain = |numbers: &[ColumnId]| {
            numbers[1..].iter().fold(numbers[0], |sum, next| draw.add(Expr::Binary(Binary::Add, sum, *next)))
        };
        tested = tested.chunks(3).map(chain).collect();
    }
    let terms = tested.len() as u32 / margins;
    let terms = |margin| (terms * margin..terms * (margin + 1)).map(|feature| (feature, 1.0)).collect();
    let sums = (0..margins).map(terms).collect();
    several_sums(draw, tested, sums, if is_chain { -0.0 } else { 0.75 })
}

/// A model with one margin for each of these sums over columns of two features.
fn several_sums(
    draw: &mut Draw,
    tested: Vec<ColumnId>,
    sums: Vec<Vec<(u32, f64)>>,
    constant: f64,
) -> Pipeline {
    let margins = sums.len();
    let sum = |(margin, terms): (u32, Vec<(u32, f64)>)| {
        let linear = vec![LinearLeaf { constant: f64::from(margin) * constant, terms }];
        let leaves = vec![Leaf { source: 0, values: [0.0].into() }];
        let tree = Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves,
            target: TreeTarget::One(margin),
            source: margin,
        };
        (linear, tree)
    };
    let (linear, trees) = (0..).zip(sums).map(sum).unzip();
    let parts = ForestParts {
        num_features: tested.len(),
        num_margins: margins,
        base: vec![-0.0; margins],
        iteration_starts: vec![0, margins],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        trees,
        linear,
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let input = || PipelineInput { name: String::new(), kind: DOUBLE, names: Default::default() };
    let stages = vec![PipelineStage::Forest { name: "sums".into(), forest, tested }];
    Pipeline { inputs: vec![input(), input()], columns: draw.columns.clone(), stages }
}

/// Checks that the sums of a pipeline become this number of trees with leaf vectors, and that their margins
/// have the bits of the sums. Also checks that these rows find seeded faults.
fn check_trees(pipeline: &Pipeline, trees: usize, rows: &[f64]) {
    let expected = sums(pipeline, rows);
    let tabulated = tabulate(pipeline.clone()).expect("a forest").pipeline;
    let forest = tabulated.stages[0].forest().expect("trees");
    assert_eq!((forest.trees.len(), terms(&tabulated)), (trees, 0), "{} margins", forest.num_margins);
    assert!(forest.trees.iter().all(|tree| tree.target == TreeTarget::All));
    assert_eq!(sums(&tabulated, rows), expected, "{} margins", forest.num_margins);
    let folded = fold(tabulated).expect("a forest").pipeline.into_forest().expect("a forest alone");
    let mut of_forest = vec![0.0; expected.len()];
    predict(&folded, rows, &mut of_forest).expect("whole rows");
    assert_eq!(bits(&of_forest), expected, "{} margins", folded.num_margins);
    let faults = [PassFault::TableEdgeBeside, PassFault::TableEntriesSwapped, PassFault::TableForgetsMissing];
    for fault in faults {
        let broken = with_pass_fault(fault, || tabulate(pipeline.clone())).expect("a forest").pipeline;
        let is_found = sums(&broken, rows) != expected;
        assert_eq!(is_found, broken != tabulate(pipeline.clone()).expect("a forest").pipeline, "{fault:?}");
    }
}

/// Rows of two features with all pairs of these numbers, their neighbours and special values.
fn pairs(numbers: &[f64]) -> Vec<f64> {
    let near = numbers.iter().flat_map(|number| [number.next_down(), *number, number.next_up()]);
    let values: Vec<f64> = near.chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]).collect();
    values.iter().flat_map(|x| values.iter().flat_map(|y| [*x, *y])).collect()
}

#[test]
fn several_sums_of_bins_are_trees_with_leaf_vectors() {
    let edges: Vec<f64> = (0..9).map(|edge| f64::from(edge * edge) / 7.0 - 3.0).collect();
    for margins in 2..6 {
        check_trees(&sums_of_bins(&mut Draw::new(margins.into()), margins), 2, &pairs(&edges));
    }
    // Here one product for each feature takes less work than a walk, so the sums remain.
    let mut few = sums_of_bins(&mut Draw::new(7), 3);
    let PipelineStage::Forest { forest, .. } = &mut few.stages[0];
    let mut parts = forest.clone().into_parts();
    for leaf in parts.linear.iter_mut().flatten() {
        leaf.terms.retain(|(feature, _)| feature % 10 == 3);
    }
    **forest = Forest::new(parts).expect("a forest");
    assert_eq!(terms(&tabulate(few).expect("a forest").pipeline), 6);
}

#[test]
fn sums_of_entries_are_trees_and_their_last_numbers_a_leaf() {
    let numbers: Vec<f64> = (-7..8).map(f64::from).collect();
    for margins in 8..11 {
        for is_chain in [false, true] {
            let pipeline = sums_of_entries(&mut Draw::new(margins.into()), margins, is_chain);
            check_trees(&pipeline, 3, &pairs(&numbers));
        }
    }
    // Here table look-ups for two sums take less work than walks.
    let few = tabulate(sums_of_entries(&mut Draw::new(7), 2, true)).expect("a forest").pipeline;
    assert_eq!(terms(&few), 2);
}

#[test]
fn a_sum_of_negative_zeros_stays_negative() {
    // All products of a row without a category are -0 if all weights are negative.
    for (weights, zero) in [([-1.0, -2.0, -3.0], -0.0_f64), ([-1.0, 2.0, -3.0], 0.0)] {
        let (columns, tested) = indicators(3);
        let pipeline = one_sum(DOUBLE, columns, tested, &weights);
        let tabulated = tabulate(pipeline.clone()).expect("a forest").pipeline;
        assert_eq!(terms(&tabulated), 1);
        let rows = [7.0, 1.0, f64::NAN];
        let [zero, second] = [zero, weights[1]].map(f64::to_bits);
        assert_eq!(sums(&tabulated, &rows), [zero, second, zero]);
        assert_eq!(sums(&pipeline, &rows), sums(&tabulated, &rows));
    }
}

#[test]
fn columns_that_overlap_stay_products() {
    let mut columns = Columns::default();
    let x = columns.input(0, Float::F64);
    let above = |number: f64| {
        let number = columns.constant(ColumnValue::F64(number));
        let above = columns.add(Expr::Binary(Binary::LessOrEqual, number, x)).expect("two doubles");
        columns.cast(above, ColumnType::F64).expect("a cast")
    };
    let tested = [1.0, 2.0, 3.0].map(above).to_vec();
    // The sum of 0.1, 0.2 and 0.3 depends on the order of additions, so each column becomes a separate table.
    let pipeline = one_sum(DOUBLE, columns, tested, &[0.1, 0.2, 0.3]);
    let tabulated = tabulate(pipeline.clone()).expect("a forest").pipeline;
    assert_eq!(terms(&tabulated), 3);
    let rows = [0.0, 1.0, 2.0, 3.0, f64::NAN];
    assert_eq!(sums(&pipeline, &rows), sums(&tabulated, &rows));
}

#[test]
fn an_infinite_weight_makes_no_table() {
    // 0 times infinity is NaN, which makes the whole sum NaN.
    let (columns, tested) = indicators(3);
    let pipeline = one_sum(DOUBLE, columns, tested, &[1.0, f64::INFINITY, 2.0]);
    let tabulated = tabulate(pipeline.clone()).expect("a forest").pipeline;
    let rows = [0.0, 1.0, 2.0, 3.0, f64::NAN];
    let expected = sums(&pipeline, &rows);
    assert_eq!(expected[0], u64::MAX);
    assert_eq!(expected, sums(&tabulated, &rows));
}
