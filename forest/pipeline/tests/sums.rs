//! Compares chains of additions with the sums by which the pass *sums* replaces them.

use crate::draw::{Draw, cases};
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr};
use sched_forest::{Comparison, Float, Forest, ForestParts, Leaf, NodeRef, Tree, TreeTarget, Types};
use sched_pipeline::{
    InputKind, PassFault, Pipeline, PipelineInput, PipelineStage, sum_chains, with_pass_fault,
};

/// A stage that reads columns of any types.
fn stage(tested: Vec<ColumnId>) -> PipelineStage {
    let leaves = vec![Leaf { source: 0, values: [0.0].into() }];
    let tree =
        Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves, target: TreeTarget::One(0), source: 0 };
    let parts = ForestParts {
        num_features: tested.len(),
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        trees: vec![tree],
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    PipelineStage::Forest { name: "reader".into(), forest, tested }
}

/// A pipeline of columns with chains of additions. The chains add features, constants, other columns and
/// earlier chains.
fn chains(mut draw: Draw) -> (Pipeline, Draw) {
    let mut read = Vec::new();
    for _ in 0..1 + draw.random.below(4) {
        let of = draw.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::F64, ColumnType::I64]);
        let mut sum = number(&mut draw, of, &read);
        for _ in 0..draw.random.below(60) {
            let next = number(&mut draw, of, &read);
            let (x, y) = if draw.random.one_in(4) { (next, sum) } else { (sum, next) };
            sum = draw.add(Expr::Binary(Binary::Add, x, y));
            if draw.random.one_in(40) {
                read.push(sum);
            }
        }
        read.push(sum);
    }
    let stages = vec![stage(twice(read))];
    (Pipeline { inputs: draw.inputs.clone(), columns: draw.columns.clone(), stages }, draw)
}

/// The columns, each read twice.
fn twice(mut read: Vec<ColumnId>) -> Vec<ColumnId> {
    read.extend(read.clone());
    read
}

/// A number that a chain adds, in the type of the chain.
fn number(draw: &mut Draw, of: ColumnType, read: &[ColumnId]) -> ColumnId {
    let feature = draw.random.below(draw.inputs.len() as u64) as u32;
    match draw.random.below(32) {
        0..4 => {
            let value = match draw.random.one_in(128) {
                true => draw.random.pick(&[1e300, f64::INFINITY]),
                false => draw.random.pick(&[-0.0, 0.0, 0.1]),
            };
            draw.columns.constant(ColumnValue::F64(value).cast(of))
        }
        4 if !read.is_empty() => {
            let other = draw.random.pick(read);
            draw.cast(other, of)
        }
        5..8 => {
            let x = draw.columns.input(feature, Float::F64);
            let column = draw.add(Expr::Binary(Binary::Add, x, x));
            draw.cast(column, of)
        }
        8 => draw.column(of),
        _ => {
            let x = draw.columns.input(feature, Float::F64);
            draw.cast(x, of)
        }
    }
}

/// The values of the columns that the stage reads, as types and bits. All NaN have the same bits.
fn values(pipeline: &Pipeline, rows: &[Vec<f64>]) -> Vec<(ColumnType, u64)> {
    let bits = |value: ColumnValue| match value {
        ColumnValue::F32(x) if x.is_nan() => u64::MAX,
        ColumnValue::F64(x) if x.is_nan() => u64::MAX,
        ColumnValue::F32(x) => x.to_bits().into(),
        ColumnValue::F64(x) => x.to_bits(),
        whole => whole.to_i64() as u64,
    };
    let tested = pipeline.stages[0].tested();
    let of_row = |row: &Vec<f64>| pipeline.columns.evaluate(tested, row);
    rows.iter().flat_map(of_row).map(|value| (value.column_type(), bits(value))).collect()
}

fn rows(draw: &mut Draw) -> Vec<Vec<f64>> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 5e-324, 1e308, -1e308];
    let mut rows: Vec<Vec<f64>> = (0..40).map(|_| draw.row()).collect();
    rows.extend((0..60).map(|_| draw.inputs.iter().map(|_| draw.random.pick(&special)).collect()));
    rows.extend(special.iter().map(|value| vec![*value; draw.inputs.len()]));
    rows
}

/// Numbers of additions and of terms of sums that the columns of a stage need.
fn counts(pipeline: &Pipeline) -> (usize, usize) {
    let columns = &pipeline.columns;
    let needed = columns.needed_for(pipeline.stages[0].tested());
    needed.into_iter().fold((0, 0), |(additions, terms), column| match columns.expr(column) {
        Expr::Binary(Binary::Add, ..) => (additions + 1, terms),
        Expr::Dot { terms: more, .. } => (additions, terms + more.len()),
        _ => (additions, terms),
    })
}

#[test]
fn sums_have_the_bits_of_their_chains() {
    let (mut before, mut after, mut terms) = (0, 0, 0);
    for seed in 0..cases() {
        let (pipeline, mut draw) = chains(Draw::new(seed));
        let rows = rows(&mut draw);
        let summed = sum_chains(pipeline.clone()).expect("types that fit");
        let (expected, found) = (values(&pipeline, &rows), values(&summed, &rows));
        if let Some(place) = (0..expected.len()).find(|place| expected[*place] != found[*place]) {
            let row = &rows[place / pipeline.stages[0].tested().len()];
            panic!("seed {seed}: row {row:?} of {:?} and {:?}", pipeline.columns, summed.columns);
        }
        let ((old, _), (new, of_sums)) = (counts(&pipeline), counts(&summed));
        assert!(new <= old && of_sums <= 2 * old, "seed {seed}: {new} of {old} additions, {of_sums} terms");
        (before, after, terms) = (before + old, after + new, terms + of_sums);
    }
    assert!(after * 3 < before * 2 && terms * 3 > before, "{after} of {before} additions, {terms} terms");
}

#[test]
fn seeded_faults_of_sums_are_found() {
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..cases() / 4 {
        let (pipeline, mut draw) = chains(Draw::new(seed));
        let right = sum_chains(pipeline.clone()).expect("types that fit");
        let broken = with_pass_fault(PassFault::SumLosesColumn, || sum_chains(pipeline.clone()));
        let broken = broken.expect("types that fit");
        if broken == right {
            continue;
        }
        let rows = rows(&mut draw);
        wrong += 1;
        found += usize::from(values(&right, &rows) != values(&broken, &rows));
    }
    assert!(wrong >= 20 && found * 10 > wrong * 7, "{found} of {wrong} faults were found");
}

/// Columns of features in double precision.
fn doubles(count: u32) -> (Columns, Vec<ColumnId>) {
    let mut columns = Columns::default();
    let all = (0..count).map(|feature| columns.input(feature, Float::F64)).collect();
    (columns, all)
}

fn pipeline(columns: Columns, count: u32, tested: Vec<ColumnId>) -> Pipeline {
    let kind = InputKind::Float(Float::F64);
    let input = |_| PipelineInput { name: String::new(), kind, names: Default::default() };
    Pipeline { inputs: (0..count).map(input).collect(), columns, stages: vec![stage(tested)] }
}

fn add(columns: &mut Columns, x: ColumnId, y: ColumnId) -> ColumnId {
    columns.add(Expr::Binary(Binary::Add, x, y)).expect("two doubles")
}

#[test]
fn pairs_of_additions_are_not_merged() {
    // In `((a + b) + (c + d)) + ..`, each pair is a separate column.
    let (mut columns, all) = doubles(32);
    let pairs: Vec<ColumnId> = all.chunks(2).map(|pair| add(&mut columns, pair[0], pair[1])).collect();
    let sum = pairs[1..].iter().fold(pairs[0], |sum, pair| add(&mut columns, sum, *pair));
    let summed = sum_chains(pipeline(columns, 32, twice(vec![sum]))).expect("types that fit");
    // The chain begins with the two numbers of the first pair, so there are 17 terms.
    assert_eq!(counts(&summed), (15, 17));
}

#[test]
fn partial_sums_that_are_read_stay() {
    // All partial sums are read, so a separate sum for each would take quadratic work.
    let (mut columns, all) = doubles(40);
    let mut partial = vec![all[0]];
    for next in &all[1..] {
        partial.push(add(&mut columns, partial[partial.len() - 1], *next));
    }
    let counts_of =
        |tested| counts(&sum_chains(pipeline(columns.clone(), 40, tested)).expect("types that fit"));
    assert_eq!(counts_of(twice(partial.clone())), (39, 0));
    assert_eq!(counts_of(twice(vec![partial[19], partial[39]])), (0, 20 + 21));
    // A chain that only one result reads is not replaced, since its code occurs only once.
    assert_eq!(counts_of(vec![partial[39]]), (39, 0));
}
