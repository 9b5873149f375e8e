//! Tests of roundings behind sums, and of the sizes of what is rounded.

use super::tests::{is_compared, is_compared_in, number, sum_of, with};
use super::*;
use sched_columns::{Binary, ColumnType, ColumnValue, Expr, Term, Unary};
use sched_forest::Float;

#[test]
fn numbers_beyond_the_range_of_a_type_count() {
    let through = |float: Float, steps: &[f64]| {
        is_compared_in(float, |columns, sum| {
            steps.iter().fold(sum, |x, step| {
                let factor = match float {
                    Float::F32 => ColumnValue::F32(*step as f32),
                    Float::F64 => ColumnValue::F64(*step),
                };
                let factor = columns.constant(factor);
                columns.add(Expr::Binary(Binary::Multiply, x, factor)).unwrap()
            })
        })
    };
    assert!(through(Float::F64, &[1e308, 1e-308]) && through(Float::F64, &[1e-300, 1e-22, 1e300, 1e22]));
    assert!(!through(Float::F64, &[1e60, 1e-60]) && !through(Float::F64, &[1e-60, 1e60]));
    assert!(through(Float::F32, &[1e30, 1e-30]) && through(Float::F32, &[1e-30, 1e-14, 1e30, 1e14]));
    assert!(!through(Float::F32, &[1e3, 1e-3]));
}

/// Features that a step in single precision rounds to 0 or to infinity.
#[test]
fn ranges_of_singles_are_rounded() {
    let divided = |scale: f32| {
        is_compared(|columns, sum| {
            let feature = columns.input(2, Float::F32);
            let share = columns.add(Expr::Unary(Unary::Logistic, feature)).unwrap();
            let [one, small] = [1.0, scale].map(|x| columns.constant(ColumnValue::F32(x)));
            let more = columns.add(Expr::Binary(Binary::Add, share, one)).unwrap();
            let scaled = columns.add(Expr::Binary(Binary::Multiply, more, small)).unwrap();
            let again = columns.add(Expr::Binary(Binary::Multiply, scaled, small)).unwrap();
            let divisor = columns.cast(again, ColumnType::F64).unwrap();
            columns.add(Expr::Binary(Binary::Divide, sum, divisor)).unwrap()
        })
    };
    assert!(divided(1e-30) && !divided(0.5));
}

#[test]
fn roundings_of_a_function_that_saturates_count() {
    let shifted = |shift: f64| {
        is_compared(|columns, sum| {
            let bent = columns.add(Expr::Unary(Unary::Tanh, sum)).unwrap();
            let up = with(columns, Binary::Add, bent, shift);
            let down = with(columns, Binary::Add, up, -shift);
            columns.add(Expr::Binary(Binary::Multiply, sum, down)).unwrap()
        })
    };
    assert!(shifted(4e15) && !shifted(1.0));
}

/// The sum of many columns that each round the same sum at a large number.
#[test]
fn effects_of_many_steps_add_up() {
    let steps = |count: u32| {
        is_compared(|columns, sum| {
            let each: Vec<ColumnId> = (0..count)
                .map(|step| {
                    let shift = 1e8 + f64::from(step);
                    let up = with(columns, Binary::Add, sum, shift);
                    with(columns, Binary::Subtract, up, shift)
                })
                .collect();
            each.into_iter().reduce(|x, y| columns.add(Expr::Binary(Binary::Add, x, y)).unwrap()).unwrap()
        })
    };
    assert!(steps(40) && !steps(2));
}

/// A function that is not 0 at 0 has a size of its own.
#[test]
fn small_sums_do_not_make_sigmoids_small() {
    let difference = |scale: f64| {
        is_compared(|columns, sum| {
            let small = with(columns, Binary::Multiply, sum, 1e-3);
            let share = columns.add(Expr::Unary(Unary::Logistic, small)).unwrap();
            let distance = with(columns, Binary::Subtract, share, 0.5);
            with(columns, Binary::Multiply, distance, scale)
        })
    };
    assert!(difference(1e10) && !difference(1e3));
}

/// Two layers of ELU, whose exponentials have an effect only below 0.
#[test]
fn sizes_of_exponentials_end_where_they_are_not_chosen() {
    let elu = |columns: &mut Columns, x: ColumnId| {
        let zero = number(columns, 0.0);
        let power = columns.add(Expr::Unary(Unary::ExpMinusOne, x)).unwrap();
        let condition = columns.add(Expr::Binary(Binary::Less, x, zero)).unwrap();
        columns.add(Expr::Select { condition, then: power, otherwise: x }).unwrap()
    };
    assert!(!is_compared(|columns, sum| {
        let first = elu(columns, sum);
        let terms = [Term { column: first, weight: ColumnValue::F64(100.0) }];
        let next = columns.add(Expr::Dot { start: ColumnValue::F64(1.0), terms: terms.into() }).unwrap();
        elu(columns, next)
    }));
}

#[test]
fn factors_of_zero_do_not_hide_quotients() {
    let added = |weight: f64| {
        is_compared(|columns, sum| {
            let one = number(columns, 1.0);
            let quotient = columns.add(Expr::Binary(Binary::Divide, one, sum)).unwrap();
            let terms = [(sum, 1.0), (quotient, weight)]
                .map(|(column, weight)| Term { column, weight: ColumnValue::F64(weight) });
            columns.add(Expr::Dot { start: ColumnValue::F64(0.0), terms: terms.into() }).unwrap()
        })
    };
    assert!(added(0.0) && added(1.0));
    let times = |factors: &[f64]| {
        is_compared(|columns, sum| {
            let one = number(columns, 1.0);
            let quotient = columns.add(Expr::Binary(Binary::Divide, one, sum)).unwrap();
            let scale = |product, factor: &f64| with(columns, Binary::Multiply, product, *factor);
            let product = factors.iter().fold(quotient, scale);
            columns.add(Expr::Binary(Binary::Add, sum, product)).unwrap()
        })
    };
    // Products of small factors are 0 by rounding.
    assert!(times(&[0.0]) && times(&[0.0, 0.0]) && times(&[0.0, 1e-20]));
}

/// The square of the divisor is infinite.
#[test]
fn large_divisors_do_not_hide_jumps() {
    assert!(is_compared(|columns, sum| {
        let rounded = columns.add(Expr::Unary(Unary::Round, sum)).unwrap();
        let size = columns.add(Expr::Unary(Unary::Abs, rounded)).unwrap();
        let product = with(columns, Binary::Multiply, size, 2e154);
        let divisor = with(columns, Binary::Add, product, 2e154);
        let large = number(columns, 2e154);
        columns.add(Expr::Binary(Binary::Divide, large, divisor)).unwrap()
    }));
}

#[test]
fn roots_of_distances_between_sums_have_no_small_slope() {
    let root = |of_sums: bool| {
        let mut columns = Columns::default();
        let sum = sum_of(&mut columns, Float::F64, 2.0);
        let near = with(&mut columns, Binary::Min, sum, 1e-7);
        let near = with(&mut columns, Binary::Max, near, -1e-7);
        let operand = if of_sums { near } else { columns.input(0, Float::F64) };
        let point = [ColumnValue::F64(0.0)];
        let distance = Expr::SquaredDistance { of: [operand].into(), point: point.into() };
        let distance = columns.add(distance).unwrap();
        let root = columns.add(Expr::Unary(Unary::SquareRoot, distance)).unwrap();
        let result = columns.add(Expr::Unary(Unary::Tanh, root)).unwrap();
        compared_by_results(&columns, &[result]).contains(if of_sums { &sum } else { &distance })
    };
    assert!(root(true) && !root(false));
}

/// ELU of numbers far below 0 is near -1.
#[test]
fn exponentials_minus_one_are_not_small() {
    let elu = |most: f64, alpha: f64| {
        is_compared(|columns, sum| {
            let low = with(columns, Binary::Min, sum, most);
            let power = columns.add(Expr::Unary(Unary::ExpMinusOne, low)).unwrap();
            let scaled = with(columns, Binary::Multiply, power, alpha);
            columns.add(Expr::Unary(Unary::Sin, scaled)).unwrap()
        })
    };
    assert!(elu(-40.0, 1e16) && !elu(-40.0, 1.0));
}
