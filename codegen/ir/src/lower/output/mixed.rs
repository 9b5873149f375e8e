//! Last output steps, which combine the values of a row.

use super::stage::{OutputStage, RowIndices, is_uniform};
use crate::lir::{Address, Bin, BuildStmts, Cast, Cmp, Math, Scalar, Ty, Value};
use sched_forest::{Softmax, Transform};

/// Values that all exponentials of a row depend on.
#[derive(Clone, Copy)]
struct Exponentials {
    form: Softmax,
    /// Largest value of the row.
    largest: Value,
    /// Factor of values near zero: the exponential of the negated largest value. `None` except for
    /// [`Softmax::ZeroAside`].
    near_zero_factor: Option<Value>,
}

/// The end of an output's steps, which combines the values of a row.
#[derive(Clone, Copy)]
pub(super) enum LastStep {
    /// Each value is a result.
    Values,
    /// Exponentials divided by their sum.
    Softmax(Softmax),
    /// The complement of the single value, and the value.
    Complement,
    /// Running sums of distances.
    Ascending,
    /// The number of the largest value, or of the largest share of a softmax.
    ArgMax(Option<Softmax>),
    /// Whether the single value is larger than its complement.
    LargerHalf,
}

impl LastStep {
    /// Divides steps into those on single values and the last one. `None` if no code computes such steps.
    pub(super) fn of(steps: &[Transform]) -> Option<(&[Transform], LastStep)> {
        let count = steps.iter().take_while(|step| step.is_by_value()).count();
        let (by_value, last) = steps.split_at(count);
        let last = match last {
            [] => LastStep::Values,
            [Transform::Softmax(form)] => LastStep::Softmax(*form),
            [Transform::Complement] => LastStep::Complement,
            [Transform::Ascending] => LastStep::Ascending,
            [Transform::ArgMax] => LastStep::ArgMax(None),
            [Transform::Softmax(form), Transform::ArgMax] => LastStep::ArgMax(Some(*form)),
            [Transform::Complement, Transform::ArgMax] => LastStep::LargerHalf,
            _ => return None,
        };
        Some((by_value, last))
    }
}

impl OutputStage<'_> {
    /// Stores the results: the values of each row after `steps` on single values, combined by the last step.
    pub(super) fn last_step(&mut self, steps: &[Transform], last: LastStep) {
        match last {
            LastStep::Values => self.one_per_margin(steps),
            LastStep::Softmax(form) => self.softmax(steps, form),
            LastStep::Complement => self.complement(steps),
            LastStep::Ascending => self.ascending(steps),
            LastStep::ArgMax(softmax) => self.arg_max(steps, softmax),
            LastStep::LargerHalf => self.larger_half(steps),
        }
    }

    /// Two results for the one margin: its complement and itself.
    fn complement(&mut self, steps: &[Transform]) {
        self.for_all_rows(2, |s, row| {
            let y = s.value(steps, row.from, 0);
            let one = s.float(1.0);
            let rest = s.b.sub(one, y);
            let second = s.b.add_int(row.to, 1);
            s.store(row.to, rest);
            s.store(second, y);
        });
    }

    /// Increasing values: the first margin, then running sums of the distances that the other margins give.
    /// Results may replace the margins in their buffer, since each margin is read before its result is
    /// written.
    fn ascending(&mut self, steps: &[Transform]) {
        self.for_all_rows(self.n_values(), |s, row| {
            let lowest = s.value(steps, row.from, 0);
            s.store(row.to, lowest);
            let (one, end) = (s.b.int(1), s.b.int(s.per_row));
            s.for_loop((one, end, 1), &[lowest], |s, margin, carried| {
                let (from, to) = (s.b.add(row.from, margin), s.b.add(row.to, margin));
                let x = s.value(steps, from, 0);
                let step = s.formula().expectile_distance(x);
                let next = s.b.add(carried[0], step);
                s.store(to, next);
                vec![next]
            });
        });
    }

    /// 1 if the single margin is larger than its complement, 1 minus the margin, else 0.
    fn larger_half(&mut self, steps: &[Transform]) {
        self.for_all_rows(1, |s, row| {
            let y = s.value(steps, row.from, 0);
            let (zero, one) = (s.float(0.0), s.float(1.0));
            let rest = s.b.sub(one, y);
            let larger = s.b.cmp(Cmp::OLt, rest, y);
            let class = s.b.select(larger, one, zero);
            s.store(row.to, class);
        });
    }

    /// Index of the largest value of a row, the first of equal ones, as a float. Values are the margins
    /// after the steps, or their softmax.
    fn arg_max(&mut self, steps: &[Transform], softmax: Option<Softmax>) {
        self.for_all_rows(1, |s, row| {
            let shares = softmax.map(|form| s.exponentials(steps, form, row, false));
            let value = |s: &mut Self, margin, number| {
                let index = s.b.add(row.from, margin);
                let x = s.value(steps, index, number);
                match shares {
                    Some((all, sum)) => {
                        let power = s.exponential(all, x);
                        s.b.bin(Bin::Div, power, sum)
                    }
                    None => x,
                }
            };
            let larger_of = |s: &mut Self, found: &[Value], margin, number| {
                let x = value(s, margin, number);
                let larger = s.b.cmp(Cmp::OLt, found[0], x);
                vec![s.b.select(larger, x, found[0]), s.b.select(larger, margin, found[1])]
            };
            let (zero, one, end) = (s.b.int(0), s.b.int(1), s.b.int(s.per_row));
            let first = vec![value(s, zero, 0), zero];
            let found = if steps.iter().all(is_uniform) {
                s.for_loop((one, end, 1), &first, |s, margin, found| larger_of(s, found, margin, 0))
            } else {
                (1..s.per_row).fold(first, |found, number| {
                    let margin = s.b.int(number);
                    larger_of(s, &found, margin, number as usize)
                })
            };
            let class = s.b.cast(Cast::IntToFloat, found[1], Ty::of(s.result));
            s.store(row.to, class);
        });
    }

    /// Exponentials of the distances to the largest value, divided by their sum.
    ///
    /// If results have the type of margins, the exponentials are first stored in place of the results. With
    /// another type, they are computed twice.
    fn softmax(&mut self, steps: &[Transform], form: Softmax) {
        self.for_all_rows(self.n_values(), |s, row| {
            let in_results = s.element == s.result;
            let (all, sum) = s.exponentials(steps, form, row, in_results);
            let (zero, end) = (s.b.int(0), s.b.int(s.per_row));
            s.for_loop((zero, end, 1), &[], |s, margin, _| {
                let to = s.b.add(row.to, margin);
                let power = if in_results {
                    s.b.load(Ty::of(s.result), Address::element(s.out, to, s.result))
                } else {
                    let from = s.b.add(row.from, margin);
                    let x = s.value(steps, from, 0);
                    s.exponential(all, x)
                };
                let share = s.b.bin(Bin::Div, power, sum);
                s.store(to, share);
                Vec::new()
            });
        });
    }

    /// Common part of a row's exponentials, and their sum in the element type of margins. With
    /// `in_results`, the exponentials are stored in place of the results.
    fn exponentials(
        &mut self,
        steps: &[Transform],
        form: Softmax,
        row: RowIndices,
        in_results: bool,
    ) -> (Exponentials, Value) {
        let (zero, end) = (self.b.int(0), self.b.int(self.per_row));
        let lowest = self.float(f64::NEG_INFINITY);
        let largest = self.for_loop((zero, end, 1), &[lowest], |s, margin, carried| {
            let index = s.b.add(row.from, margin);
            let x = s.value(steps, index, 0);
            vec![s.b.bin(Bin::Max, carried[0], x)]
        });
        let largest = largest[0];
        let near_zero_factor = (form == Softmax::ZeroAside).then(|| {
            let minus = self.float(-0.0);
            let negated = self.b.sub(minus, largest);
            self.b.math(Math::Exp, negated)
        });
        let all = Exponentials { form, largest, near_zero_factor };
        let sums = if form == Softmax::Doubled { Scalar::F64 } else { self.element };
        let nothing = self.b.float(Ty::of(sums), 0.0);
        let sum = self.for_loop((zero, end, 1), &[nothing], |s, margin, carried| {
            let from = s.b.add(row.from, margin);
            let x = s.value(steps, from, 0);
            let power = s.exponential(all, x);
            if in_results {
                let to = s.b.add(row.to, margin);
                s.store(to, power);
            }
            let counted = match all.near_zero_factor {
                Some(_) => {
                    let (near, nothing) = (s.is_near_zero(x), s.float(0.0));
                    s.b.select(near, nothing, power)
                }
                None => power,
            };
            let counted = s.b.cast(Cast::Float, counted, Ty::of(sums));
            vec![s.b.add(carried[0], counted)]
        });
        (all, self.b.cast(Cast::Float, sum[0], Ty::of(self.element)))
    }

    /// Exponential of a value's distance to the largest one, or the product that replaces it near zero.
    fn exponential(&mut self, all: Exponentials, x: Value) -> Value {
        let distance = self.b.sub(x, all.largest);
        let power = self.b.math(Math::Exp, distance);
        match all.near_zero_factor {
            Some(near_zero_factor) if all.form == Softmax::ZeroAside => {
                let (near, product) = (self.is_near_zero(x), self.b.bin(Bin::Mul, x, near_zero_factor));
                self.b.select(near, product, power)
            }
            _ => power,
        }
    }

    fn is_near_zero(&mut self, x: Value) -> Value {
        let size = self.formula().absolute(x);
        let most = self.float(f64::from(1e-7_f32));
        self.b.cmp(Cmp::OLe, size, most)
    }
}
