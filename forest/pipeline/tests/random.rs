//! Random pipelines and rows: folded forests must reach the leaves that the evaluator of columns and the
//! reference walker reach.

use crate::draw::{Draw, Random, cases};
use sched_columns::{ColumnId, ColumnValue, Columns};
use sched_forest::grow::{Slot, TreeBuilder};
use sched_forest::{
    CategoryRule, Comparison, Float, Forest, ForestParts, Leaf, Predicate, TreeTarget, Types, predict_leaves,
};
use sched_pipeline::{
    ColumnFate, Folding, InputKind, PassFault, Pipeline, PipelineInput, PipelineStage, fold, fold_constants,
    remove_unread_columns, with_pass_fault,
};

/// A pipeline with one forest.
fn pipeline(mut draw: Draw) -> (Pipeline, Random) {
    let float = draw.random.pick(&[Float::F32, Float::F64]);
    let tested: Vec<ColumnId> = (0..1 + draw.random.below(6)).map(|_| draw.column(float.into())).collect();
    let rows: Vec<f64> = (0..20).flat_map(|_| draw.row()).collect();
    let Draw { mut random, inputs, columns } = draw;
    let known: Vec<f64> = rows
        .chunks(inputs.len())
        .flat_map(|row| columns.evaluate(&tested, row))
        .map(ColumnValue::to_f64)
        .collect();
    let trees = (0..1 + random.below(3) as u32).map(|source| {
        let mut tree = TreeBuilder::new(TreeTarget::One(0), source);
        let mut todo = vec![(Slot::ROOT, 3)];
        let mut leaves = 0;
        while let Some((slot, depth)) = todo.pop() {
            if depth == 0 || random.one_in(8) {
                leaves += 1;
                tree.leaf(slot, Leaf { source: leaves, values: [f64::from(leaves)].into_iter().collect() });
                continue;
            }
            let feature = random.below(tested.len() as u64) as u32;
            let threshold = threshold(&mut random, float, &known, tested.len(), feature as usize);
            let predicate = match random.below(8) {
                0 => Predicate::Equal { value: threshold },
                1 => Predicate::Member { set: 0 },
                _ => Predicate::Numeric { threshold },
            };
            let (left, right) =
                tree.inner(slot, feature, predicate, random.one_in(2)).expect("a shallow tree");
            todo.extend([(right, depth - 1), (left, depth - 1)]);
        }
        tree.done()
    });
    let trees = trees.collect();
    let parts = ForestParts {
        trees,
        num_features: tested.len(),
        comparison: random.pick(&[Comparison::Less, Comparison::LessOrEqual]),
        types: Types::all(float),
        sets: vec![[0, 2, 3].into_iter().collect()],
        category_rule: CategoryRule::Whole,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let stage = PipelineStage::Forest { name: "trees".into(), forest, tested };
    (Pipeline { inputs, columns, stages: vec![stage] }, random)
}

/// A threshold at a value of the column in some row, or next to it.
fn threshold(random: &mut Random, float: Float, known: &[f64], width: usize, feature: usize) -> f64 {
    let value = known[random.below((known.len() / width) as u64) as usize * width + feature];
    let value = if value.is_nan() { 0.5 } else { value };
    match (float, random.below(3)) {
        (_, 0) => value,
        (Float::F32, 1) => f64::from((value as f32).next_up()),
        (Float::F32, _) => f64::from((value as f32).next_down()),
        (Float::F64, 1) => value.next_up(),
        (Float::F64, _) => value.next_down(),
    }
}

fn leaves(pipeline: &Pipeline, rows: &[f64]) -> Vec<u32> {
    let trees = pipeline.stages[0].forest().map_or(0, |forest| forest.trees.len());
    let mut leaves = vec![0; rows.len() / pipeline.inputs.len() * trees];
    pipeline.predict_leaves(rows, &mut leaves).expect("sizes that fit");
    leaves
}

/// Values on thresholds of a feature of a folded forest, and their neighbours: at most 60.
fn boundaries(forest: &Forest, input: &PipelineInput, feature: u32) -> Vec<f64> {
    let tests = forest.trees.iter().flat_map(|tree| &tree.inner).filter(|inner| inner.feature == feature);
    let value = |predicate: &Predicate| match predicate {
        Predicate::Numeric { threshold } => Some(*threshold),
        Predicate::Equal { value } => Some(*value),
        _ => None,
    };
    let near = |value: f64| match input.kind {
        InputKind::Float(Float::F64) => vec![value.next_down(), value, value.next_up()],
        InputKind::Float(Float::F32) => {
            let single = value as f32;
            [single.next_down(), single, single.next_up()].map(f64::from).to_vec()
        }
        InputKind::Integer if value.abs() < 1e15 => vec![value.floor(), value.floor() + 1.0],
        _ => Vec::new(),
    };
    tests.filter_map(|inner| value(&inner.predicate)).flat_map(near).take(60).collect()
}

/// Random rows for a pipeline, and for each value on a boundary a random row with this value.
fn rows(pipeline: &Pipeline, folded: &Pipeline, random: Random) -> Vec<f64> {
    let mut draw = Draw { random, inputs: pipeline.inputs.clone(), columns: Columns::default() };
    let mut rows: Vec<f64> = (0..60).flat_map(|_| draw.row()).collect();
    let forest = folded.stages[0].forest().expect("a forest");
    for (feature, input) in pipeline.inputs.iter().enumerate() {
        for value in boundaries(forest, input, feature as u32) {
            let mut row = draw.row();
            row[feature] = value;
            rows.extend(row);
        }
    }
    rows
}

#[test]
fn folded_pipelines_reach_the_same_leaves() {
    let (mut folded_columns, mut computed_columns) = (0, 0);
    for seed in 0..cases() {
        let (pipeline, random) = pipeline(Draw::new(seed));
        let live = fold_constants(remove_unread_columns(pipeline.clone())).expect("types that fit");
        let Folding { pipeline: folded, fates } = fold(live).expect("a forest");
        let rows = rows(&pipeline, &folded, random);
        let (expected, found) = (leaves(&pipeline, &rows), leaves(&folded, &rows));
        let forest = folded.clone().into_forest().expect("a forest with computed columns");
        let mut of_forest = vec![0; found.len()];
        predict_leaves(&forest, &rows, &mut of_forest).expect("whole rows");
        assert_eq!(of_forest, found, "seed {seed}");
        if let Some(place) = (0..expected.len()).find(|place| expected[*place] != found[*place]) {
            let row = place / (expected.len() / (rows.len() / pipeline.inputs.len()));
            let row = &rows[row * pipeline.inputs.len()..][..pipeline.inputs.len()];
            let trees = |pipeline: &Pipeline| {
                pipeline.stages[0].forest().map(|forest| format!("{:?}", forest.trees)).unwrap_or_default()
            };
            panic!(
                "seed {seed}: row {row:?} ends at leaf {} of {}, and at {} of {}; {:?}",
                expected[place],
                trees(&pipeline),
                found[place],
                trees(&folded),
                pipeline.columns
            );
        }
        folded_columns += fates[0]
            .iter()
            .filter(|fate| matches!(fate, ColumnFate::Folded | ColumnFate::Categories))
            .count();
        computed_columns += fates[0].iter().filter(|fate| matches!(fate, ColumnFate::Computed(_))).count();
    }
    assert!(folded_columns > 4 * computed_columns, "{folded_columns} folded, {computed_columns} computed");
}

#[test]
fn seeded_faults_of_passes_are_found() {
    let faults = [
        PassFault::LiveDropsColumn,
        PassFault::ConstantsSkipOperation,
        PassFault::EqualColumnsConfused,
        PassFault::FoldThresholdBeside,
        PassFault::FoldForgetsMissing,
        PassFault::FoldLosesMember,
    ];
    for fault in faults {
        let (mut wrong, mut found) = (0, 0);
        for seed in 0..cases() * 4 {
            if wrong == 40 {
                break;
            }
            let (pipeline, random) = pipeline(Draw::new(seed));
            let folded = || {
                let live = fold_constants(remove_unread_columns(pipeline.clone())).expect("types that fit");
                fold(live).expect("a forest").pipeline
            };
            let (right, broken) = (folded(), with_pass_fault(fault, folded));
            if broken == right {
                continue;
            }
            let rows = rows(&pipeline, &right, random);
            wrong += 1;
            found += usize::from(leaves(&pipeline, &rows) != leaves(&broken, &rows));
        }
        assert!(wrong >= 20 && found * 2 > wrong, "{fault:?}: {found} of {wrong} faults were found");
    }
}
