//! Divisors of counts and of steps of loops.

/// The greatest common divisor of two numbers; the other number if one is 0.
pub fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_common_and_the_greatest() {
        for (a, b) in (0..40).flat_map(|a| (0..40).map(move |b| (a, b))).filter(|pair| *pair != (0, 0)) {
            let divides = |n: &u64| a % n == 0 && b % n == 0;
            assert_eq!(Some(greatest_common_divisor(a, b)), (1..40).rev().find(divides));
        }
    }
}
