//! Compares the walker with the reference walker: all outputs of random forests, on rows of both types and on
//! columns.

use sched_columns::{ColumnValue, Expr, Term};
use sched_forest::{ClassRule, Float, Forest, LinearLeaf, predict_output};
use sched_llvm::column::{Column, ColumnValues};
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{CompiledCode, PackedResults, PackedRows, PredictOptions};
use sched_testing::{Rng, computed, forests, linear};
use schedc_driver::compile::RowRules;
use schedc_driver::walker::{is_worth_walking, steps_of_a_row};
use schedc_driver::{Model, Walker};
use std::sync::Arc;

/// Random forests. Every kind of test, target, leaf and output occurs often among them.
const FORESTS: u64 = 400;

/// A random forest.
fn forest(seed: u64) -> (Forest, Rng) {
    let mut rng = Rng(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x1405_7b7e_f767_814f);
    let forest = forests::forest(&mut rng);
    let forest = forests::with_other_tests(&mut rng, forest);
    let forest = forests::with_oblivious_trees(&mut Rng(!seed), forest);
    let forest = forests::with_logarithms(&mut Rng(!seed ^ 1), forest);
    let forest = forests::with_linear_leaves(seed, forest);
    let forest = linear::with_linear_models(seed, forest);
    let forest = computed::with_computed_columns(seed, forest);
    let forest = computed::with_output_expressions(seed, forest);
    (forests::with_single_margins(seed, forest), rng)
}

/// The results of the reference walker, in bits. `None` if code lacks the output.
fn expected(forest: &Forest, kind: OutputKind, rows: &[f64]) -> Option<Vec<u64>> {
    let columns = kind.columns(&forest.counts());
    let rule = forest.output.classes.as_ref().map(|classes| &classes.rule);
    let has_targets = matches!(rule, Some(ClassRule::Computed(_)));
    let is_there = columns > 0 && (kind != OutputKind::Class || columns == 1 || has_targets);
    let numbers = is_there.then(|| predict_output(forest, kind, rows).expect("whole rows"))?;
    Some(numbers.into_iter().map(f64::to_bits).collect())
}

/// The results of the walker, in bits.
fn results(
    walker: &Walker,
    kind: OutputKind,
    rows: PackedRows,
    n: usize,
    extras: PredictOptions,
) -> Vec<u64> {
    let size = n * CompiledCode::num_outputs(walker, kind);
    match CompiledCode::output_type(walker, kind) {
        Dtype::F32 => {
            let mut out = vec![0.0_f32; size];
            walker.predict_with(kind, rows, n, PackedResults::F32(&mut out), extras).expect("a call");
            out.into_iter().map(|x| f64::from(x).to_bits()).collect()
        }
        Dtype::F64 => {
            let mut out = vec![0.0_f64; size];
            walker.predict_with(kind, rows, n, PackedResults::F64(&mut out), extras).expect("a call");
            out.into_iter().map(f64::to_bits).collect()
        }
        Dtype::I32 => {
            let mut out = vec![0_i32; size];
            walker.predict_with(kind, rows, n, PackedResults::I32(&mut out), extras).expect("a call");
            out.into_iter().map(|x| f64::from(x).to_bits()).collect()
        }
    }
}

#[test]
fn walks_as_the_reference_does() {
    for seed in 0..FORESTS {
        let (forest, mut rng) = forest(seed);
        let n = [0, 1, 3, 63, 64, 65, 200][rng.below(7)];
        let doubles = forests::rows_of(&mut rng, &forest, n);
        let singles: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
        let rounded: Vec<f64> = singles.iter().map(|x| f64::from(*x)).collect();
        let columns: Vec<Vec<f64>> = (0..forest.num_features)
            .map(|feature| doubles.iter().skip(feature).step_by(forest.num_features).copied().collect())
            .collect();
        let columns: Vec<Column> =
            columns.iter().map(|values| Column::of(ColumnValues::F64(values))).collect();
        let walker = Walker::new(&Model::of_forest(Arc::new(forest.clone())), RowRules::default());
        for kind in OutputKind::ALL {
            let Some(wanted) = expected(&forest, kind, &doubles) else {
                assert_eq!(CompiledCode::num_outputs(&walker, kind), 0, "seed {seed}, {kind:?}");
                continue;
            };
            for threads in [1, 3] {
                let extras = PredictOptions { threads, ..PredictOptions::default() };
                let found = |rows| results(&walker, kind, rows, n, extras);
                assert_eq!(found(PackedRows::F64(&doubles)), wanted, "seed {seed}, {kind:?}");
                assert_eq!(found(PackedRows::Columns(&columns)), wanted, "seed {seed}, {kind:?}, columns");
                let wanted = expected(&forest, kind, &rounded);
                assert_eq!(Some(found(PackedRows::F32(&singles))), wanted, "seed {seed}, {kind:?}, floats");
            }
        }
    }
}

#[test]
fn sums_start_with_a_given_base_margin() {
    let mut checked = 0;
    for seed in 0..FORESTS {
        let (forest, mut rng) = forest(seed);
        // The runtime takes base margins of one type with the results.
        if forest.types.accumulator != forest.types.output {
            continue;
        }
        let rows = forests::rows_of(&mut rng, &forest, 70);
        let base: Vec<f32> = (0..70 * forest.num_margins).map(|at| at as f32 / 4.0).collect();
        let wide: Vec<f64> = base.iter().map(|x| f64::from(*x)).collect();
        let base_margin = match forest.types.accumulator {
            Float::F32 => PackedRows::F32(&base),
            Float::F64 => PackedRows::F64(&wide),
        };
        let rules = RowRules { base_margin: true, ..RowRules::default() };
        let walker = Walker::new(&Model::of_forest(Arc::new(forest.clone())), rules);
        let extras = PredictOptions { base_margin: Some(base_margin), ..PredictOptions::default() };
        let found = results(&walker, OutputKind::Value, PackedRows::F64(&rows), 70, extras);
        let mut wanted = Vec::new();
        for (row, base) in rows.chunks_exact(forest.num_features).zip(wide.chunks_exact(forest.num_margins)) {
            let mut parts = forest.clone().into_parts();
            parts.base = base.to_vec();
            let based = Forest::new(parts).expect("a forest");
            wanted.extend(expected(&based, OutputKind::Value, row).expect("predictions"));
        }
        assert_eq!(found, wanted, "seed {seed}");
        let without =
            results(&walker, OutputKind::Value, PackedRows::F64(&rows), 70, PredictOptions::default());
        assert_eq!(Some(without), expected(&forest, OutputKind::Value, &rows), "seed {seed}");
        checked += 1;
    }
    assert!(checked > 50, "only {checked} forests");
}

#[test]
fn takes_a_number_as_missing() {
    let (forest, mut rng) = forest(7);
    let rows = forests::rows_of(&mut rng, &forest, 50);
    let marked: Vec<f64> = rows.iter().map(|x| if x.is_nan() { -999.0 } else { *x }).collect();
    let rules = RowRules { missing: Some(-999.0), ..RowRules::default() };
    let walker = Walker::new(&Model::of_forest(Arc::new(forest.clone())), rules);
    let found = results(&walker, OutputKind::Raw, PackedRows::F64(&marked), 50, PredictOptions::default());
    assert!(rows.iter().any(|x| x.is_nan()));
    assert_eq!(Some(found), expected(&forest, OutputKind::Raw, &rows));
}

#[test]
fn terms_are_steps() {
    let (forest, _) = forests::complete_with_rows(4, 8, 8);
    let plain = steps_of_a_row(&forest);
    let with_leaves = |terms: usize| {
        let mut parts = forest.clone().into_parts();
        let leaf = LinearLeaf { constant: 0.0, terms: vec![(0, 1.0); terms] };
        parts.linear = parts.trees.iter().map(|tree| vec![leaf.clone(); tree.leaves.len()]).collect();
        steps_of_a_row(&Forest::new(parts).expect("a forest"))
    };
    assert_eq!(with_leaves(20) - plain, 5 * (with_leaves(4) - plain));
    assert!(with_leaves(4) > plain);

    let with_column = |terms: usize, is_sum: bool| {
        let mut parts = forest.clone().into_parts();
        let float = parts.types.input;
        let number = ColumnValue::F64(1.0).cast(float.into());
        let columns = &mut parts.computed.columns;
        let column = columns.input(0, float);
        let expr = match is_sum {
            true => Expr::Dot { start: number, terms: vec![Term { column, weight: number }; terms].into() },
            false => {
                Expr::SquaredDistance { of: vec![column; terms].into(), point: vec![number; terms].into() }
            }
        };
        parts.computed.read_by_trees = vec![columns.add(expr).expect("one type")];
        steps_of_a_row(&Forest::new(parts).expect("a forest"))
    };
    for is_sum in [true, false] {
        let [few, more, most] = [100, 200, 400].map(|terms| with_column(terms, is_sum));
        assert!(more - few > 100 && most - more == 2 * (more - few), "{few}, {more}, {most}");
    }
}

#[test]
fn walking_is_worth_it_for_few_steps() {
    let (forest, _) = forests::complete_with_rows(4, 8, 8);
    assert_eq!(steps_of_a_row(&forest), forest.trees.len() * 9);
    let model = Model::of_forest(Arc::new(forest));
    assert!(is_worth_walking(&model, 1));
    assert!(!is_worth_walking(&model, usize::MAX));
}
