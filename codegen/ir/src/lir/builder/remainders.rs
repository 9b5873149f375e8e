//! Remainders of integers that are known at compile time, such as that of a tree's number in an unrolled
//! loop.

use crate::lir::divisor::greatest_common_divisor;
use crate::lir::{Bin, Value};
use std::collections::HashMap;

/// The numbers `offset + k * step` for all whole numbers `k`. The step is not negative; it is 0 for one
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progression {
    step: i64,
    offset: i64,
}

/// All numbers.
const ANY: Progression = Progression { step: 1, offset: 0 };

/// The numbers that integers of a function can be. Constants have an entry in `ints`.
#[derive(Clone, Debug, Default)]
pub struct Progressions {
    of: HashMap<Value, Progression>,
}

impl Progression {
    /// The sums of a number of each.
    fn plus(self, other: Progression) -> Option<Progression> {
        let step = greatest_common_divisor(self.step.unsigned_abs(), other.step.unsigned_abs());
        let offset = self.offset.checked_add(other.offset)?;
        Some(Progression { step: i64::try_from(step).ok()?, offset })
    }

    /// The products of a number with each.
    fn times(self, factor: i64) -> Option<Progression> {
        let step = self.step.checked_mul(factor)?.checked_abs()?;
        Some(Progression { step, offset: self.offset.checked_mul(factor)? })
    }
}

impl Progressions {
    /// The remainder, at least 0, of the division of an integer by a positive number, if it is known.
    pub fn remainder(&self, ints: &HashMap<Value, i64>, value: Value, by: i64) -> Option<i64> {
        let Progression { step, offset } = self.of(ints, value);
        (step % by == 0).then(|| offset.rem_euclid(by))
    }

    fn of(&self, ints: &HashMap<Value, i64>, value: Value) -> Progression {
        match ints.get(&value) {
            Some(offset) => Progression { step: 0, offset: *offset },
            None => self.of.get(&value).copied().unwrap_or(ANY),
        }
    }

    /// Records the numbers of a loop's variable. A loop can have a single iteration.
    pub fn record_loop(
        &mut self,
        ints: &HashMap<Value, i64>,
        variable: Value,
        (from, end, step): (Value, Value, i64),
    ) {
        let length = ints.get(&end).zip(ints.get(&from)).and_then(|(end, from)| end.checked_sub(*from));
        let is_single = length.is_some_and(|length| length <= step);
        let steps = Progression { step: if is_single { 0 } else { step.saturating_abs() }, offset: 0 };
        self.record(variable, self.of(ints, from).plus(steps));
    }

    /// Records the numbers that an operation can return.
    pub fn record_result(
        &mut self,
        ints: &HashMap<Value, i64>,
        result: Value,
        (op, a, b): (Bin, Value, Value),
    ) {
        let (of_a, of_b) = (self.of(ints, a), self.of(ints, b));
        let numbers = match op {
            Bin::Add => of_a.plus(of_b),
            Bin::Sub => of_b.times(-1).and_then(|negative| of_a.plus(negative)),
            Bin::Mul => match (ints.get(&a), ints.get(&b)) {
                (_, Some(factor)) => of_a.times(*factor),
                (Some(factor), _) => of_b.times(*factor),
                _ => None,
            },
            _ => None,
        };
        self.record(result, numbers);
    }

    fn record(&mut self, value: Value, numbers: Option<Progression>) {
        if let Some(numbers) = numbers.filter(|numbers| numbers.step != 1) {
            self.of.insert(value, numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_follow_from_loops_and_constants() {
        let [zero, two, three, seven, eight, rows, outer, inner, sum, next, thrice, less, any, only] =
            std::array::from_fn(|number| Value(number as u32));
        let ints = HashMap::from([(zero, 0), (two, 2), (three, 3), (seven, 7), (eight, 8)]);
        let mut known = Progressions::default();
        known.record_loop(&ints, outer, (zero, rows, 12));
        known.record_loop(&ints, inner, (two, rows, 4));
        known.record_loop(&ints, only, (seven, eight, 1));
        for (result, operation) in [
            (sum, (Bin::Add, outer, inner)),
            (next, (Bin::Add, sum, three)),
            (thrice, (Bin::Mul, sum, three)),
            (less, (Bin::Sub, outer, inner)),
            (any, (Bin::Add, sum, rows)),
        ] {
            known.record_result(&ints, result, operation);
        }
        let remainder = |value, by| known.remainder(&ints, value, by);
        assert_eq!([remainder(sum, 4), remainder(sum, 2), remainder(sum, 3)], [Some(2), Some(0), None]);
        assert_eq!([remainder(next, 4), remainder(thrice, 12)], [Some(1), Some(6)]);
        assert_eq!([remainder(less, 4), remainder(any, 4), remainder(any, 1)], [Some(2), None, Some(0)]);
        assert_eq!([remainder(seven, 4), remainder(only, 4)], [Some(3); 2]);
    }
}
