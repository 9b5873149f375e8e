//! Functions against values that `scripts/functions.py` computes to about 100 bits, and at the ends of their
//! domains.

use super::{log_of_single, power, quotient, reciprocal, unary};
use crate::expr::Unary;
use crate::float::Float;

const VALUES: &str = include_str!("values.txt");

/// The distance of a result from the exact value `nearest + rest`, in units in the last place of `nearest`.
fn distance(result: f64, nearest: f64, rest: f64) -> f64 {
    let size = nearest.abs().max(f64::MIN_POSITIVE);
    let unit = (size.to_bits() & (0x7ff << 52)).max(53 << 52) - (52 << 52);
    ((result - nearest) - rest).abs() / f64::from_bits(unit).max(f64::from_bits(1))
}

fn op(name: &str) -> Option<Unary> {
    Some(match name {
        "exp" => Unary::Exp,
        "expm1" => Unary::ExpMinusOne,
        "log" => Unary::Log,
        "log1p" => Unary::LogOnePlus,
        "tanh" => Unary::Tanh,
        "logistic" => Unary::Logistic,
        "erf" => Unary::Erf,
        "sin" => Unary::Sin,
        "cos" => Unary::Cos,
        _ => return None,
    })
}

fn of(op: Unary, x: f64) -> f64 {
    unary(op, Float::F64, x).expect("a function")
}

fn of_single(op: Unary, x: f32) -> f32 {
    unary(op, Float::F32, f64::from(x)).expect("a function") as f32
}

/// Lines of `values.txt`: the name of a function, its operands, the double nearest to the exact result, and
/// the rest of the exact result.
fn lines() -> impl Iterator<Item = (&'static str, Vec<f64>)> {
    VALUES.lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let number = |word| f64::from_bits(u64::from_str_radix(word, 16).expect("bits of a double"));
        (name, words.map(number).collect())
    })
}

#[test]
fn results_are_near_the_exact_ones() {
    let mut worst: Vec<(&str, f64, f64)> = Vec::new();
    for (name, numbers) in lines() {
        let (result, nearest, rest) = match (op(name), numbers.as_slice()) {
            (Some(op), &[x, nearest, rest]) => (of(op, x), nearest, rest),
            (None, &[x, y, nearest, rest]) => (power(Float::F64, x, y), nearest, rest),
            _ => panic!("{name} has {} numbers", numbers.len()),
        };
        let distance = distance(result, nearest, rest);
        match worst.last_mut() {
            Some(last) if last.0 == name && last.1 >= distance => {}
            Some(last) if last.0 == name => *last = (name, distance, numbers[0]),
            _ => worst.push((name, distance, numbers[0])),
        }
    }
    assert_eq!(worst.len(), 10);
    for (name, distance, x) in worst {
        println!("{name}: {distance:.3} at {x:e}");
        let bound = if ["pow", "erf", "tanh"].contains(&name) { 2.0 } else { 1.0 };
        assert!(distance < bound, "{name} of {x:e} is {distance} units off");
    }
}

/// Compares results for singles with results for doubles, rounded to single precision. These are the nearest
/// singles, except for rare ties.
fn compare_singles(op: Unary, step: usize) {
    let (mut count, mut others) = (0_u64, 0_u64);
    for bits in (0..=u32::MAX).step_by(step) {
        let x = f32::from_bits(bits);
        let (single, double) = (of_single(op, x), of(op, f64::from(x)) as f32);
        if single.is_nan() && double.is_nan() {
            continue;
        }
        count += 1;
        others += u64::from(single.to_bits() != double.to_bits());
        let next = single.to_bits().abs_diff(double.to_bits());
        assert!(next <= 1, "{op:?} of {x:e} is {single:e}, not {double:e}");
    }
    println!("{op:?}: {others} of {count} differ");
    assert!(others * 100 < count, "{op:?}: {others} of {count}");
}

const NAMES: [&str; 9] = ["exp", "expm1", "log", "log1p", "tanh", "logistic", "erf", "sin", "cos"];

#[test]
fn singles_are_the_nearest_ones_but_for_a_few() {
    NAMES.iter().filter_map(|name| op(name)).for_each(|op| compare_singles(op, 65_521));
}

/// `RUSTFLAGS="-C target-cpu=native" cargo test --release -p sched-columns all_singles -- --ignored`
#[test]
#[ignore = "all floats take a quarter of an hour"]
fn all_singles_are_the_nearest_ones_but_for_a_few() {
    NAMES.iter().filter_map(|name| op(name)).for_each(|op| compare_singles(op, 1));
}

#[test]
fn extreme_operands_have_the_values_of_the_standard() {
    let (infinity, least) = (f64::INFINITY, f64::from_bits(1));
    let cases: [(Unary, &[(f64, f64)]); 10] = [
        (
            Unary::Exp,
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (infinity, infinity),
                (-infinity, 0.0),
                (710.0, infinity),
                (-746.0, 0.0),
            ],
        ),
        (
            Unary::ExpMinusOne,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (infinity, infinity),
                (-infinity, -1.0),
                (least, least),
                (-60.0, -1.0),
            ],
        ),
        (
            Unary::Log,
            &[(0.0, -infinity), (-0.0, -infinity), (1.0, 0.0), (infinity, infinity), (-1.0, f64::NAN)],
        ),
        (
            Unary::LogOnePlus,
            &[(-1.0, -infinity), (-0.0, -0.0), (0.0, 0.0), (-1.5, f64::NAN), (infinity, infinity)],
        ),
        (Unary::Tanh, &[(-0.0, -0.0), (0.0, 0.0), (infinity, 1.0), (-infinity, -1.0), (least, least)]),
        (Unary::Logistic, &[(0.0, 0.5), (infinity, 1.0), (-infinity, 0.0), (-800.0, 0.0)]),
        (Unary::Erf, &[(-0.0, -0.0), (0.0, 0.0), (infinity, 1.0), (-infinity, -1.0), (7.0, 1.0)]),
        (
            Unary::Sin,
            &[(0.0, 0.0), (-0.0, -0.0), (infinity, f64::NAN), (-infinity, f64::NAN), (least, least)],
        ),
        (Unary::Cos, &[(0.0, 1.0), (-0.0, 1.0), (infinity, f64::NAN), (-infinity, f64::NAN), (least, 1.0)]),
        (Unary::SquareRoot, &[(-0.0, -0.0), (infinity, infinity), (-1.0, f64::NAN), (4.0, 2.0)]),
    ];
    for (op, cases) in cases {
        for (x, expected) in cases.iter().chain(&[(f64::NAN, f64::NAN)]) {
            for found in [of(op, *x), f64::from(of_single(op, *x as f32))] {
                // The smallest double is not a number of single precision.
                let is_single = f64::from(*x as f32) == *x || x.is_nan();
                let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(is_equal || !is_single, "{op:?} of {x:e} is {found:e}, not {expected:e}");
            }
        }
    }
    assert_eq!(of_single(Unary::Exp, 88.8), f32::INFINITY);
    assert_eq!(of_single(Unary::Exp, -104.0), 0.0);
    assert_eq!(of_single(Unary::Exp, -103.0), f32::from_bits(1));
}

#[test]
fn powers_follow_the_rules_of_the_standard() {
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    let cases = [
        (2.0, 10.0, 1024.0),
        (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0),
        (-8.0, 1.0 / 3.0, nan),
        (4.0, 0.5, 2.0),
        (2.0, -1074.0, f64::from_bits(1)),
        (0.0, 0.0, 1.0),
        (nan, 0.0, 1.0),
        (1.0, nan, 1.0),
        (nan, 1.0, nan),
        (2.0, nan, nan),
        (-1.0, nan, nan),
        (-1.0, infinity, 1.0),
        (-1.0, -infinity, 1.0),
        (-1.0, 1e300, 1.0),
        (-1.0, 3.0, -1.0),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, 0.5, 0.0),
        (0.0, -1.0, infinity),
        (-0.0, -1.0, -infinity),
        (-0.0, -2.0, infinity),
        (0.0, -infinity, infinity),
        (0.5, infinity, 0.0),
        (0.5, -infinity, infinity),
        (2.0, infinity, infinity),
        (2.0, -infinity, 0.0),
        (infinity, 2.0, infinity),
        (infinity, -2.0, 0.0),
        (-infinity, 3.0, -infinity),
        (-infinity, 2.0, infinity),
        (-infinity, 0.5, infinity),
        (-infinity, -3.0, -0.0),
        (10.0, 400.0, infinity),
        (-10.0, 401.0, -infinity),
        (10.0, -400.0, 0.0),
        (1e300, 1e300, infinity),
        (1.0 + f64::EPSILON, 1e300, infinity),
    ];
    for (x, y, expected) in cases {
        let found = power(Float::F64, x, y);
        let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(is_equal, "{x:e} to the power of {y:e} is {found:e}, not {expected:e}");
        let [a, b] = [x as f32, y as f32];
        if (f64::from(a), f64::from(b)) == (x, y) || x.is_nan() || y.is_nan() {
            let found = power(Float::F32, f64::from(a), f64::from(b)) as f32;
            let expected = expected as f32;
            let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(is_equal, "{a:e} to the power of {b:e} is {found:e}, not {expected:e}");
        }
    }
}

/// A generator of 64-bit words.
fn words(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}

/// Compares a quotient without division with the processor's.
fn compare_quotient(x: f64, by: f64) {
    let reciprocal = reciprocal(by).expect("a divisor in range");
    let (result, expected) = (quotient(x, by, reciprocal), x / by);
    assert!(
        result.to_bits() == expected.to_bits() || (result.is_nan() && expected.is_nan()),
        "{x:e} / {by:e} is {expected:e}, not {result:e}"
    );
}

/// Whole numbers whose quotients by a whole number of 53 bits are closest to the midpoint of two doubles. The
/// product of such a midpoint, which has 54 bits, with the divisor differs by 1 from a multiple of `2^54`.
fn hardest_dividends(by: u64) -> Vec<u64> {
    let modulus = 1_u64 << 54;
    // Each step doubles the number of right bits of the inverse.
    let inverse =
        (0..6).fold(1_u64, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(by.wrapping_mul(inverse))));
    let above = inverse % modulus;
    let midpoints = [(above, 1_i128), (modulus - above, -1)].into_iter().filter(|(m, _)| *m > modulus / 2);
    let dividend = |(m, rest): (u64, i128)| ((i128::from(m) * i128::from(by) - rest) >> 54) as u64;
    midpoints.map(dividend).collect()
}

#[test]
fn quotients_equal_divisions() {
    let mut word = words(7);
    let of_exponent = |bits: u64, exponent: u64| f64::from_bits(bits >> 12 | exponent << 52);
    for _ in 0..2_000 {
        let by = of_exponent(word(), 1023 - 400 + word() % 800);
        for _ in 0..500 {
            compare_quotient(f64::from_bits(word()), by);
            compare_quotient(of_exponent(word(), 1023 - 30 + word() % 60), by);
        }
        for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::MAX, 5e-324]
        {
            compare_quotient(x, by);
            compare_quotient(-x, by);
        }
        // Dividends whose quotient is a double or almost the midpoint of two.
        for _ in 0..200 {
            let whole = of_exponent(word(), 1023 + word() % 60);
            let product = whole * by;
            for x in [product, product.next_up(), product.next_down()] {
                compare_quotient(x, by);
            }
            let upper = whole.next_up();
            let midpoint = whole.mul_add(by, (upper - whole) / 2.0 * by);
            for x in [midpoint, midpoint.next_up(), midpoint.next_down()] {
                compare_quotient(x, by);
            }
        }
    }
    for _ in 0..20_000 {
        let by = word() >> 11 | 1 << 52 | 1;
        hardest_dividends(by).into_iter().for_each(|x| compare_quotient(x as f64, by as f64));
    }
    // Few digits, as in scales and values on grids.
    for by in 1..200 {
        for x in -500..500 {
            compare_quotient(f64::from(x), f64::from(by));
            compare_quotient(f64::from(x) / 10.0, f64::from(by) / 100.0);
        }
    }
}

#[test]
fn quotients_take_no_extreme_divisors() {
    for by in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300, 5e-324] {
        assert_eq!(reciprocal(by), None, "{by:e}");
    }
    for by in [1.0, 3.0, 1e-100, 1e100] {
        assert!(reciprocal(by).is_some(), "{by:e}");
    }
}

/// Compares logarithms of singles with those of the C library, which the standard library calls.
fn logarithms_equal_the_librarys(bits: impl Iterator<Item = u32>) {
    // Without fused multiply-add, the library rounds a few results the other way.
    #[cfg(target_arch = "x86_64")]
    if !is_x86_feature_detected!("fma") {
        return;
    }
    for x in bits.map(f32::from_bits) {
        let (found, wanted) = (log_of_single(f64::from(x)) as f32, x.ln());
        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(same, "the logarithm of {x:e} is {wanted:e}, not {found:e}");
    }
}

#[test]
fn logarithms_of_some_singles_equal_the_librarys() {
    logarithms_equal_the_librarys((0..=u32::MAX).step_by(9973));
    let edges = [0, 1, 0x007f_ffff, 0x0080_0000, 0x3f33_0000, 0x3f80_0000, 0x7f80_0000, 0x8000_0000];
    for edge in edges {
        logarithms_equal_the_librarys(u32::saturating_sub(edge, 300)..=edge + 300);
    }
}

/// `RUSTFLAGS="-C target-cpu=native" cargo test --release -p sched-columns all_singles -- --ignored`
#[test]
#[ignore = "all floats take minutes"]
fn logarithms_of_all_singles_equal_the_librarys() {
    logarithms_equal_the_librarys(0..=u32::MAX);
}
