//! Remainders of integers that are known at compile time, such as that of a tree's number in an unrolled loop.

use super::Builder;
use crate::lir::{Bin, Value};

/// The numbers `offset + k * step` for all whole numbers `k`. The step is not negative; it is 0 for one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progression {
    step: i64,
    offset: i64,
}

/// All numbers.
const ANY: Progression = Progression { step: 1, offset: 0 };

impl Progression {
    /// The sums of a number of each.
    fn plus(self, other: Progression) -> Option<Progression> {
        let (step, offset) = (gcd(self.step, other.step), self.offset.checked_add(other.offset)?);
        Some(Progression { step, offset })
    }

    /// The products of a number with each.
    fn times(self, factor: i64) -> Option<Progression> {
        let step = self.step.checked_mul(factor)?.checked_abs()?;
        Some(Progression { step, offset: self.offset.checked_mul(factor)? })
    }
}

impl Builder {
    /// The remainder, at least 0, of the division of an integer by a positive number, if it is known.
    pub fn remainder(&self, value: Value, by: i64) -> Option<i64> {
        let Progression { step, offset } = self.progression(value);
        (step % by == 0).then(|| offset.rem_euclid(by))
    }

    fn progression(&self, value: Value) -> Progression {
        match self.as_int(value) {
            Some(offset) => Progression { step: 0, offset },
            None => self.progressions.get(&value).copied().unwrap_or(ANY),
        }
    }

    /// Records the numbers of a loop's variable. A loop can have a single iteration.
    pub(super) fn record_loop(&mut self, variable: Value, (from, end, step): (Value, Value, i64)) {
        let length = self.as_int(end).zip(self.as_int(from)).and_then(|(end, from)| end.checked_sub(from));
        let is_single = length.is_some_and(|length| length <= step);
        let steps = Progression { step: if is_single { 0 } else { step.saturating_abs() }, offset: 0 };
        self.record(variable, self.progression(from).plus(steps));
    }

    /// Records the numbers that an operation can return.
    pub(super) fn record_result(&mut self, result: Value, op: Bin, a: Value, b: Value) {
        let (of_a, of_b) = (self.progression(a), self.progression(b));
        let numbers = match op {
            Bin::Add => of_a.plus(of_b),
            Bin::Sub => of_b.times(-1).and_then(|negative| of_a.plus(negative)),
            Bin::Mul => match (self.as_int(a), self.as_int(b)) {
                (_, Some(factor)) => of_a.times(factor),
                (Some(factor), _) => of_b.times(factor),
                _ => None,
            },
            _ => None,
        };
        self.record(result, numbers);
    }

    fn record(&mut self, value: Value, numbers: Option<Progression>) {
        if let Some(numbers) = numbers.filter(|numbers| numbers.step != 1) {
            self.progressions.insert(value, numbers);
        }
    }
}

/// The greatest common divisor of two numbers that are not negative; the other number if one is 0.
fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lir::BuildStmts;

    #[test]
    fn remainders_follow_from_loops_and_constants() {
        let mut b = Builder::new("");
        let (zero, rows) = (b.int(0), b.n_rows());
        b.for_loop((zero, rows, 12), &[], |b, outer, _| {
            let from = b.int(2);
            b.for_loop((from, rows, 4), &[], |b, inner, _| {
                let sum = b.add(outer, inner);
                assert_eq!([b.remainder(sum, 4), b.remainder(sum, 2)], [Some(2), Some(0)]);
                assert_eq!(b.remainder(sum, 3), None);
                let next = b.add_int(sum, 3);
                let thrice = b.mul_int(sum, 3);
                assert_eq!([b.remainder(next, 4), b.remainder(thrice, 12)], [Some(1), Some(6)]);
                let difference = b.sub(outer, inner);
                assert_eq!(b.remainder(difference, 4), Some(2));
                let sum = b.add(sum, rows);
                assert_eq!([b.remainder(sum, 1), b.remainder(sum, 4)], [Some(0), None]);
                Vec::new()
            });
            Vec::new()
        });
        let (seven, eight) = (b.int(7), b.int(8));
        assert_eq!(b.remainder(seven, 4), Some(3));
        b.for_loop((seven, eight, 1), &[], |b, only, _| {
            assert_eq!(b.remainder(only, 4), Some(3));
            Vec::new()
        });
    }
}
