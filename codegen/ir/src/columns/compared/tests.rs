//! Tests of columns whose rounding errors can change results.

use super::*;
use sched_columns::{Binary, ColumnType, ColumnValue, Expr, Term, Unary};
use sched_forest::Float;

/// A sum of two features.
pub(super) fn sum_of(columns: &mut Columns, float: Float, weight: f64) -> ColumnId {
    let value = |x: f64| match float {
        Float::F32 => ColumnValue::F32(x as f32),
        Float::F64 => ColumnValue::F64(x),
    };
    let features = [0, 1].map(|feature| columns.input(feature, float));
    let terms = features.map(|column| Term { column, weight: value(weight) });
    columns.add(Expr::Dot { start: value(weight), terms: terms.into() }).unwrap()
}

/// Whether a sum of two features counts as compared if the result is the hyperbolic tangent, which reads
/// the size, of the column that `read` makes of the sum.
pub(super) fn is_compared_in(float: Float, read: impl FnOnce(&mut Columns, ColumnId) -> ColumnId) -> bool {
    let mut columns = Columns::default();
    let sum = sum_of(&mut columns, float, 2.0);
    let read = read(&mut columns, sum);
    let result = columns.add(Expr::Unary(Unary::Tanh, read)).unwrap();
    compared_by_results(&columns, &[result]).contains(&sum)
}

pub(super) fn is_compared(read: impl FnOnce(&mut Columns, ColumnId) -> ColumnId) -> bool {
    is_compared_in(Float::F64, read)
}

pub(super) fn number(columns: &mut Columns, x: f64) -> ColumnId {
    columns.constant(ColumnValue::F64(x))
}

/// `low` times the sum below the threshold, else the sum.
fn leaky(columns: &mut Columns, sum: ColumnId, (low, threshold): (f64, f64)) -> ColumnId {
    let [low, threshold] = [low, threshold].map(|x| number(columns, x));
    let then = columns.add(Expr::Binary(Binary::Multiply, sum, low)).unwrap();
    let condition = columns.add(Expr::Binary(Binary::Less, sum, threshold)).unwrap();
    columns.add(Expr::Select { condition, then, otherwise: sum }).unwrap()
}

#[test]
fn activations_compare_nothing() {
    assert!(!is_compared(|_, sum| sum));
    assert!(!is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Tanh, sum)).unwrap()));
    assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.0, 0.0))));
    assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.01, 0.0))));
}

#[test]
fn jumps_are_comparisons() {
    assert!(is_compared(|columns, sum| leaky(columns, sum, (0.0, 1.0))));
    assert!(is_compared(|columns, sum| leaky(columns, sum, (1.0 - 1e-15, 1.0))));
    assert!(is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Floor, sum)).unwrap()));
    assert!(is_compared(|columns, sum| {
        let zero = number(columns, 0.0);
        let is_below = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
        columns.cast(is_below, ColumnType::F64).unwrap()
    }));
    assert!(is_compared(|columns, sum| {
        let one = number(columns, 1.0);
        columns.add(Expr::Binary(Binary::Divide, one, sum)).unwrap()
    }));
}

pub(super) fn with(columns: &mut Columns, op: Binary, x: ColumnId, by: f64) -> ColumnId {
    let by = number(columns, by);
    columns.add(Expr::Binary(op, x, by)).unwrap()
}

#[test]
fn large_constants_enlarge_differences() {
    let is_enlarged = |op, by| is_compared(|columns, sum| with(columns, op, sum, by));
    for (op, large, small) in [
        (Binary::Multiply, 1e20, 1e6),
        (Binary::Divide, 1e-20, 1e-6),
        (Binary::Add, 1.5 * 2_f64.powi(52), 1e6),
        (Binary::Subtract, f64::INFINITY, 3.0),
    ] {
        assert!(is_enlarged(op, large) && !is_enlarged(op, small), "{op:?}");
    }
    assert!(is_enlarged(Binary::Divide, 0.0) && is_enlarged(Binary::Multiply, f64::NAN));
    let twice = |first: f64, second: f64| {
        is_compared(|columns, sum| {
            let product = with(columns, Binary::Multiply, sum, first);
            let tanh = columns.add(Expr::Unary(Unary::Tanh, product)).unwrap();
            with(columns, Binary::Multiply, tanh, second)
        })
    };
    assert!(twice(1e6, 1e6) && !twice(1e6, 1e-6));
    let rounded = |scale: f64| {
        is_compared(|columns, sum| {
            let small = with(columns, Binary::Multiply, sum, scale);
            let large = with(columns, Binary::Add, small, 2_f64.powi(28));
            with(columns, Binary::Divide, large, scale)
        })
    };
    assert!(rounded(2_f64.powi(-24)) && !rounded(1.0));
}

#[test]
fn weights_and_operands_enlarge_differences() {
    let weighted = |weight: f64, start: f64| {
        is_compared(|columns, sum| {
            let terms = [Term { column: sum, weight: ColumnValue::F64(weight) }];
            columns.add(Expr::Dot { start: ColumnValue::F64(start), terms: terms.into() }).unwrap()
        })
    };
    assert!(weighted(1e20, 0.0) && weighted(1.0, 1e16) && weighted(f64::INFINITY, 0.0));
    assert!(!weighted(1e3, -1e3));
    let doubled = |times: u32| {
        is_compared(|columns, sum| {
            (0..times).fold(sum, |x, _| columns.add(Expr::Binary(Binary::Add, x, x)).unwrap())
        })
    };
    assert!(doubled(40) && !doubled(4));
    let times_feature = |op: Binary| {
        is_compared(|columns, sum| {
            let other = columns.input(2, Float::F64);
            columns.add(Expr::Binary(op, sum, other)).unwrap()
        })
    };
    assert!([Binary::Multiply, Binary::Add, Binary::Divide].into_iter().all(times_feature));
    let times_condition = |large: f64| {
        is_compared(|columns, sum| {
            let (other, zero) = (columns.input(2, Float::F64), number(columns, 0.0));
            let condition = columns.add(Expr::Binary(Binary::Less, other, zero)).unwrap();
            let (then, otherwise) = (number(columns, large), number(columns, 1.0));
            let factor = columns.add(Expr::Select { condition, then, otherwise }).unwrap();
            columns.add(Expr::Binary(Binary::Multiply, sum, factor)).unwrap()
        })
    };
    assert!(times_condition(1e20) && !times_condition(-3.0));
}

#[test]
fn factors_of_single_precision_count_in_double_precision() {
    let times = |factor: f64| {
        is_compared_in(Float::F32, |columns, sum| {
            let wide = columns.cast(sum, ColumnType::F64).unwrap();
            with(columns, Binary::Multiply, wide, factor)
        })
    };
    assert!(times(100.0) && !times(3.0));
}

#[test]
fn products_of_sums_and_exponentials_enlarge_differences() {
    assert!(is_compared(|columns, sum| columns.add(Expr::Binary(Binary::Multiply, sum, sum)).unwrap()));
    assert!(is_compared(|columns, sum| {
        let other = sum_of(columns, Float::F64, 3.0);
        columns.add(Expr::Binary(Binary::Multiply, sum, other)).unwrap()
    }));
    assert!(!is_compared(|columns, sum| {
        let other = sum_of(columns, Float::F64, 3.0);
        let both = [sum, other].map(|of| columns.add(Expr::Unary(Unary::Tanh, of)).unwrap());
        columns.add(Expr::Binary(Binary::Multiply, both[0], both[1])).unwrap()
    }));
    assert!(is_compared(|columns, sum| {
        let terms = [(sum, ColumnValue::F64(1.0))];
        let (of, point) = terms.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        columns.add(Expr::SquaredDistance { of: of.into(), point: point.into() }).unwrap()
    }));
    let exponential = |of: Unary, cut: bool| {
        is_compared(|columns, sum| {
            let zero = number(columns, 0.0);
            let grown = columns.add(Expr::Unary(of, sum)).unwrap();
            let condition = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
            let elu = Expr::Select { condition, then: grown, otherwise: sum };
            if cut { columns.add(elu).unwrap() } else { grown }
        })
    };
    assert!(exponential(Unary::Exp, false) && exponential(Unary::ExpMinusOne, false));
    assert!(!exponential(Unary::ExpMinusOne, true));
    assert!(!is_compared(|columns, sum| {
        let zero = number(columns, 0.0);
        let otherwise = columns.add(Expr::Unary(Unary::ExpMinusOne, sum)).unwrap();
        let condition = columns.add(Expr::Binary(Binary::Less, zero, sum)).unwrap();
        columns.add(Expr::Select { condition, then: sum, otherwise }).unwrap()
    }));
    // As the last step, an exponential keeps relative differences.
    let mut columns = Columns::default();
    let sum = sum_of(&mut columns, Float::F64, 2.0);
    let result = columns.add(Expr::Unary(Unary::Exp, sum)).unwrap();
    assert!(!compared_by_results(&columns, &[result]).contains(&sum));
}

/// A number, the product of it with a function that saturates at 1, and more.
#[test]
fn products_with_a_function_that_saturates_are_harmless() {
    let gelu = |of_itself: bool| {
        is_compared(|columns, sum| {
            let other = if of_itself { sum } else { sum_of(columns, Float::F64, 3.0) };
            let scaled = with(columns, Binary::Multiply, sum, 0.7);
            let bent = columns.add(Expr::Unary(Unary::Erf, scaled)).unwrap();
            let moved = with(columns, Binary::Add, bent, 1.0);
            let half = with(columns, Binary::Multiply, other, 0.5);
            columns.add(Expr::Binary(Binary::Multiply, half, moved)).unwrap()
        })
    };
    assert!(!gelu(true) && gelu(false));
}

/// An exponential of `steep` times the sum, times a number, plus a number, and at most 0.
#[test]
fn minima_bound_exponentials_by_what_they_let_through() {
    let cut = |steep: f64, factor: f64, shift: f64| {
        is_compared(|columns, sum| {
            let scaled = with(columns, Binary::Multiply, sum, steep);
            let power = columns.add(Expr::Unary(Unary::Exp, scaled)).unwrap();
            let product = with(columns, Binary::Multiply, power, factor);
            let moved = with(columns, Binary::Add, product, shift);
            with(columns, Binary::Min, moved, 0.0)
        })
    };
    assert!(!cut(1.0, 1.0, -1.0) && !cut(1.0, 3.0, -3.0));
    assert!(cut(690.0, 1e-300, -1.0) && cut(1.0, 1.0, -3.0) && cut(1.0, -1.0, 0.0));
    let chosen = |shift: f64| {
        is_compared(|columns, sum| {
            let (zero, one) = (number(columns, 0.0), number(columns, shift.exp()));
            let moved = with(columns, Binary::Add, sum, shift);
            let power = columns.add(Expr::Unary(Unary::Exp, moved)).unwrap();
            let condition = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
            columns.add(Expr::Select { condition, then: power, otherwise: one }).unwrap()
        })
    };
    assert!(chosen(1.0), "the condition is on another number than the exponential");
}

#[test]
fn exponentials_of_distances_are_harmless() {
    let kernel = |gamma: f64| {
        let mut columns = Columns::default();
        let of = [0, 1].map(|feature| columns.input(feature, Float::F64));
        let point = [1.0, 2.0].map(ColumnValue::F64);
        let distance = Expr::SquaredDistance { of: of.into(), point: point.into() };
        let distance = columns.add(distance).unwrap();
        let scaled = with(&mut columns, Binary::Multiply, distance, -gamma);
        let result = columns.add(Expr::Unary(Unary::Exp, scaled)).unwrap();
        let result = with(&mut columns, Binary::Multiply, result, 3.0);
        compared_by_results(&columns, &[result]).contains(&distance)
    };
    assert!(!kernel(0.5) && kernel(-0.5));
}

/// Each term rounds twice.
#[test]
fn roundings_of_all_terms_count() {
    let sum = |terms: u32| {
        let mut columns = Columns::default();
        let terms: Vec<Term> = (0..terms)
            .map(|feature| Term { column: columns.input(feature, Float::F64), weight: ColumnValue::F64(1.0) })
            .collect();
        let sum = columns.add(Expr::Dot { start: ColumnValue::F64(0.0), terms: terms.into() }).unwrap();
        let large = with(&mut columns, Binary::Multiply, sum, 5e8);
        let result = columns.add(Expr::Unary(Unary::Tanh, large)).unwrap();
        compared_by_results(&columns, &[result]).contains(&sum)
    };
    assert!(sum(16) && !sum(2));
}

/// A large constant of a sum, which a difference of two sums removes.
#[test]
fn starts_of_sums_count() {
    let difference = |start: f64| {
        let mut columns = Columns::default();
        let column = columns.input(0, Float::F64);
        let sums = [1.0, 2.0].map(|weight| {
            let terms = [Term { column, weight: ColumnValue::F64(weight) }];
            columns.add(Expr::Dot { start: ColumnValue::F64(start), terms: terms.into() }).unwrap()
        });
        let result = columns.add(Expr::Binary(Binary::Subtract, sums[0], sums[1])).unwrap();
        compared_by_results(&columns, &[result]).contains(&sums[0])
    };
    assert!(difference(1e13) && !difference(1.0));
}

#[test]
fn bounds_of_results_do_not_hide_factors() {
    let clipped = |factor: f64| {
        is_compared(|columns, sum| {
            let large = with(columns, Binary::Multiply, sum, factor);
            let below = with(columns, Binary::Min, large, 1.0);
            with(columns, Binary::Max, below, 0.0)
        })
    };
    assert!(clipped(1e18) && !clipped(3.0));
    let ratio = |least: f64| {
        is_compared(|columns, sum| {
            let (zero, one) = (number(columns, 0.0), number(columns, 1.0));
            let condition = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
            let relu = columns.add(Expr::Select { condition, then: zero, otherwise: sum }).unwrap();
            let divisor = with(columns, Binary::Add, relu, least);
            columns.add(Expr::Binary(Binary::Divide, one, divisor)).unwrap()
        })
    };
    assert!(!ratio(1.0) && ratio(0.0));
}

#[test]
fn a_softmax_divides_by_at_least_one() {
    let softmax = |is_shifted: bool| {
        let mut columns = Columns::default();
        let scores = [1.0, -2.0, 3.0].map(|weight| sum_of(&mut columns, Float::F64, weight));
        let add = |columns: &mut Columns, op, x, y| columns.add(Expr::Binary(op, x, y)).unwrap();
        let chain = |columns: &mut Columns, op, of: [ColumnId; 3]| {
            let two = add(columns, op, of[0], of[1]);
            add(columns, op, two, of[2])
        };
        let largest = chain(&mut columns, Binary::Max, scores);
        let from = if is_shifted { largest } else { scores[0] };
        let powers = scores.map(|score| {
            let moved = add(&mut columns, Binary::Subtract, score, from);
            columns.add(Expr::Unary(Unary::Exp, moved)).unwrap()
        });
        let sum = chain(&mut columns, Binary::Add, powers);
        let result = add(&mut columns, Binary::Divide, powers[0], sum);
        compared_by_results(&columns, &[result]).contains(&scores[0])
    };
    assert!(!softmax(true) && softmax(false));
}

#[test]
fn casts_round_to_the_size_of_the_number() {
    let cast = |op, by: f64| {
        is_compared(|columns, sum| {
            let large = with(columns, op, sum, by);
            let single = columns.cast(large, ColumnType::F32).unwrap();
            columns.cast(single, ColumnType::F64).unwrap()
        })
    };
    assert!(cast(Binary::Multiply, 1e4) && cast(Binary::Add, 1e6) && !cast(Binary::Multiply, 2.0));
}

#[test]
fn constants_before_a_sum_do_not_matter_to_it() {
    let mut columns = Columns::default();
    let first = sum_of(&mut columns, Float::F64, 1.0);
    let large = with(&mut columns, Binary::Multiply, first, 1e12);
    let bounded = columns.add(Expr::Unary(Unary::Tanh, large)).unwrap();
    let terms = [bounded, first].map(|column| Term { column, weight: ColumnValue::F64(1.0) });
    let second = columns.add(Expr::Dot { start: ColumnValue::F64(0.0), terms: terms.into() }).unwrap();
    let result = columns.add(Expr::Unary(Unary::Tanh, second)).unwrap();
    let compared = compared_by_results(&columns, &[result]);
    assert!(compared.contains(&first) && !compared.contains(&second));
}

/// The logistic function of the first score over the sum of those of both.
pub(super) fn share_of_first(columns: &mut Columns, scores: [ColumnId; 2]) -> ColumnId {
    let both = scores.map(|score| columns.add(Expr::Unary(Unary::Logistic, score)).unwrap());
    let sum = columns.add(Expr::Binary(Binary::Add, both[0], both[1])).unwrap();
    columns.add(Expr::Binary(Binary::Divide, both[0], sum)).unwrap()
}

#[test]
fn logarithms_and_quotients_of_large_operands_are_harmless() {
    let softplus = |columns: &mut Columns, sum| {
        let size = columns.add(Expr::Unary(Unary::Abs, sum)).unwrap();
        let negative = columns.add(Expr::Unary(Unary::Negate, size)).unwrap();
        let power = columns.add(Expr::Unary(Unary::Exp, negative)).unwrap();
        columns.add(Expr::Unary(Unary::LogOnePlus, power)).unwrap()
    };
    assert!(!is_compared(softplus));
    assert!(is_compared(|columns, sum| columns.add(Expr::Unary(Unary::LogOnePlus, sum)).unwrap()));
    let softsign = |from: f64| {
        move |columns: &mut Columns, sum| {
            let size = columns.add(Expr::Unary(Unary::Abs, sum)).unwrap();
            let more = with(columns, Binary::Add, size, from);
            columns.add(Expr::Binary(Binary::Divide, sum, more)).unwrap()
        }
    };
    assert!(!is_compared(softsign(1.0)) && is_compared(softsign(1e-9)));
}

#[test]
fn two_probabilities_may_be_divided_by_their_sum() {
    let normalized = |weight: f64| {
        let mut columns = Columns::default();
        let scores = [1.0, weight].map(|weight| sum_of(&mut columns, Float::F64, weight));
        let result = share_of_first(&mut columns, scores);
        compared_by_results(&columns, &[result]).contains(&scores[0])
    };
    assert!(!normalized(-1.0) && normalized(-2.0));
}

#[test]
fn conditions_on_features_do_not_matter() {
    assert!(!is_compared(|columns, sum| {
        let (zero, other) = (number(columns, 0.0), columns.input(2, Float::F64));
        let condition = columns.add(Expr::Binary(Binary::Less, other, zero)).unwrap();
        columns.add(Expr::Select { condition, then: zero, otherwise: sum }).unwrap()
    }));
}

#[test]
fn sides_that_depend_on_more_than_the_sum_may_jump() {
    assert!(is_compared(|columns, sum| {
        let (zero, other) = (number(columns, 0.0), columns.input(2, Float::F64));
        let condition = columns.add(Expr::Binary(Binary::LessOrEqual, sum, zero)).unwrap();
        columns.add(Expr::Select { condition, then: other, otherwise: sum }).unwrap()
    }));
}
