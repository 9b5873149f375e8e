//! Code of columns that share values whose computation takes long: scaled features and their products.

use crate::columns::{FORMS, Form, check, function, of_columns};
use sched_columns::{Binary, ColumnId, ColumnValue, Columns, Expr, Float, Unary};
use sched_ir::columns::runs::ColumnRuns;
use sched_pipeline::PreparedForest;
use sched_testing::Rng;

/// Features of a row.
const FEATURES: u32 = 11;

/// Rows of a call.
const ROWS: usize = 13;

/// Features minus their means, divided by their scales.
fn scaled(columns: &mut Columns, float: Float) -> Vec<ColumnId> {
    let scale = |feature: u32| {
        let x = columns.input(feature, float);
        let [mean, scale] =
            [0.3, 0.7].map(|x| columns.constant(ColumnValue::F64(x + f64::from(feature)).cast(float.into())));
        let centred = columns.add(Expr::Binary(Binary::Subtract, x, mean)).unwrap();
        columns.add(Expr::Binary(Binary::Divide, centred, scale)).unwrap()
    };
    (0..FEATURES).map(scale).collect()
}

/// The products of all pairs of columns.
fn products(columns: &mut Columns, of: &[ColumnId]) -> Vec<ColumnId> {
    let pairs = of.iter().enumerate().flat_map(|(at, x)| of[at..].iter().map(move |y| (*x, *y)));
    pairs.map(|(x, y)| columns.add(Expr::Binary(Binary::Multiply, x, y)).unwrap()).collect()
}

/// The code of a model's columns, in a form.
fn code(prepared: &PreparedForest, form: Form) -> String {
    let runs = ColumnRuns::new(prepared, FEATURES as usize);
    function((&runs, &[]), form, Some(64), &mut Vec::new()).to_string()
}

#[test]
fn products_of_scaled_features_divide_once() {
    let mut columns = Columns::default();
    let scaled = scaled(&mut columns, Float::F64);
    let tested: Vec<ColumnId> = scaled.iter().copied().chain(products(&mut columns, &scaled)).collect();
    let few = of_columns(columns.clone(), scaled, Float::F64);
    let all = of_columns(columns, tested, Float::F64);
    for form in FORMS {
        let [few, all] = [&few, &all].map(|prepared| code(prepared, form).matches(" = div ").count());
        assert!(few == all && few > 0, "{few} divisions without products, {all} with them, in {form:?}");
    }
}

#[test]
fn shared_values_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..60 {
        let mut rng = Rng(seed);
        let float = if rng.one_in(2) { Float::F32 } else { Float::F64 };
        let mut columns = Columns::default();
        let mut values = scaled(&mut columns, float);
        if rng.one_in(2) {
            let exp = |x: &ColumnId| columns.add(Expr::Unary(Unary::Exp, *x)).unwrap();
            let powers: Vec<ColumnId> = values.iter().map(exp).collect();
            values.extend(powers);
        }
        let mut tested: Vec<ColumnId> =
            values.iter().copied().chain(products(&mut columns, &values)).collect();
        tested.retain(|_| !rng.one_in(3));
        if rng.one_in(2) {
            tested.sort_by_cached_key(|_| rng.next_u64());
        }
        let prepared = of_columns(columns, tested, float);
        let number = |rng: &mut Rng| (rng.next_u64() % 64) as f64 / 8.0;
        let rows: Vec<f64> = (0..ROWS * FEATURES as usize).map(|_| number(&mut rng)).collect();
        check(&prepared, &rows, FEATURES as usize, seed);
    }
}
