//! Output stages: kernels from margins to predictions and to class numbers.
//!
//! Formulas, order of operations and types are those of the reference in `sched-forest`, so that
//! results are bit-equal.

mod formula;

use super::elements::launch_over;
use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::columns::code::{ColumnCode, Elements};
use crate::columns::pools::PoolTables;
use crate::columns::runs::ColumnRuns;
use crate::columns::value::Features;
use crate::lir::{
    Address, Bin, BufferId, Build, Builder, Cast, Cmp, Function, Interface, Math, ProcessorKind, Scalar,
    Space, Ty, Value,
};
use sched_forest::{ClassRule, Forest, Softmax, Transform, Types};
use sched_nest::{Bounded, Variants};

pub use formula::Formula;

/// Element types between callers and the kernels of a model with these types.
pub fn interface(types: &Types) -> Interface {
    let Types { input, threshold: _, accumulator, output } = *types;
    Interface { rows: scalar(input), margins: scalar(accumulator), results: scalar(output) }
}

/// Columns of a prediction.
pub fn value_columns(forest: &Forest) -> usize {
    forest.num_outputs()
}

/// Columns of class output: one if the model has classes, else none.
pub fn class_columns(forest: &Forest) -> usize {
    usize::from(forest.is_classifier() && forest.num_classes_out() == 1)
}

/// The kernel from margins to predictions; `None` if predictions are the margins.
pub fn values(lowering: &Lowering, places: &Variants<ProcessorKind>) -> Option<Function> {
    let (forest, index) = (&lowering.hir.forest, lowering.plan.index);
    let stage = Stage::new(forest, ("value", index), scalar(forest.types.output), places);
    let steps = OutputSteps::of(&forest.output.value);
    Some(match steps.last {
        None if steps.by_value.is_empty() && stage.element == stage.result => return None,
        None => stage.each(steps.by_value),
        Some(Transform::Softmax(form)) => stage.softmax(steps.by_value, *form),
        Some(Transform::Complement) => stage.complement(steps.by_value),
        Some(Transform::Ascending) => stage.ascending(steps.by_value),
        Some(Transform::Columns(_)) => {
            let runs = lowering.hir.outputs.value.as_deref()?;
            stage.columns(lowering, runs, lowering.numbers.shared.value_columns?)
        }
        Some(_) => stage.arg_max(steps.by_value, None),
    })
}

/// The kernel from margins to class numbers; `None` if the model has no classes.
pub fn classes(lowering: &Lowering, places: &Variants<ProcessorKind>) -> Option<Function> {
    let (forest, index) = (&lowering.hir.forest, lowering.plan.index);
    let classes = forest.output.classes.as_ref().filter(|_| class_columns(forest) > 0)?;
    let stage = Stage::new(forest, ("class", index), Scalar::F32, places);
    let steps = OutputSteps::of(&forest.output.value);
    Some(match (&classes.rule, steps.last) {
        (ClassRule::MarginAbove(bound), _) => stage.above(&[], *bound),
        (ClassRule::ValueAbove(bound), _) => stage.above(steps.by_value, *bound),
        (ClassRule::Computed(_), _) => {
            let runs = lowering.hir.outputs.class.as_deref()?;
            stage.columns(lowering, runs, lowering.numbers.shared.class_columns?)
        }
        (ClassRule::LargestMargin, _) => stage.arg_max(&[], None),
        (ClassRule::LargestValue, Some(Transform::Complement)) => stage.larger_half(steps.by_value),
        (ClassRule::LargestValue, Some(Transform::Softmax(form))) => {
            stage.arg_max(steps.by_value, Some(*form))
        }
        (ClassRule::LargestValue, _) => stage.arg_max(steps.by_value, None),
    })
}

/// Transforms sums to margins, in place, at the end of the kernel of margins.
pub fn finish_margins(b: &mut Builder, forest: &Forest, places: &Variants<ProcessorKind>) {
    if forest.output.raw.is_empty() {
        return;
    }
    let element = scalar(forest.types.accumulator);
    let out = b.buffer("result", Space::Output, element);
    let own = std::mem::replace(b, Builder::new(""));
    let per_row = forest.num_margins as i64;
    let mut stage = Stage { b: own, places, margins: out, out, element, result: element, per_row };
    stage.each_margin(&forest.output.raw, |s, index, y| s.store(index, y));
    *b = stage.b;
}

/// Steps from margins to predictions: those on single values, and a last one on all values of a row.
struct OutputSteps<'a> {
    by_value: &'a [Transform],
    last: Option<&'a Transform>,
}

impl<'a> OutputSteps<'a> {
    fn of(steps: &'a [Transform]) -> OutputSteps<'a> {
        let count = steps.iter().position(|step| !step.is_by_value()).unwrap_or(steps.len());
        OutputSteps { by_value: &steps[..count], last: steps.get(count) }
    }
}

/// An output stage under construction.
struct Stage<'a> {
    b: Builder,
    /// Processor of each run.
    places: &'a Variants<ProcessorKind>,
    margins: BufferId,
    out: BufferId,
    /// Element of margins.
    element: Scalar,
    /// Element of results.
    result: Scalar,
    per_row: i64,
}

impl Build for Stage<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

/// Common part of the exponentials of a row.
#[derive(Clone, Copy)]
struct Exponentials {
    form: Softmax,
    /// Largest value of the row.
    largest: Value,
    /// Exponential of the negated largest value, for softmax that treats values near zero separately.
    aside: Option<Value>,
}

impl<'a> Stage<'a> {
    fn new(
        forest: &Forest,
        (name, index): (&str, Scalar),
        result: Scalar,
        places: &'a Variants<ProcessorKind>,
    ) -> Self {
        let element = scalar(forest.types.accumulator);
        let mut b = Builder::with_index(name, index);
        let margins = b.buffer("margins", Space::Input, element);
        let out = b.buffer("result", Space::Output, result);
        Stage { b, places, margins, out, element, result, per_row: forest.num_margins as i64 }
    }

    fn load(&mut self, index: Value) -> Value {
        self.b.load(Ty::of(self.element), Address::element(self.margins, index, self.element))
    }

    /// A margin after steps on single values. `margin` is its number in the row, for steps that depend
    /// on it.
    fn value(&mut self, steps: &[Transform], index: Value, margin: usize) -> Value {
        let x = self.load(index);
        self.formula().all(steps, x, margin)
    }

    fn store(&mut self, index: Value, value: Value) {
        let value = self.b.cast(Cast::Float, value, Ty::of(self.result));
        self.b.store(Address::element(self.out, index, self.result), value);
    }

    fn float(&mut self, x: f64) -> Value {
        self.b.float(Ty::of(self.element), x)
    }

    fn formula(&mut self) -> Formula<'_> {
        Formula { element: self.element, b: &mut self.b }
    }

    /// One result for each margin.
    fn each(mut self, steps: &[Transform]) -> Function {
        self.each_margin(steps, |s, index, y| s.store(index, y));
        self.b.finish()
    }

    /// Calls `body` with the index of each margin and its value after the steps.
    fn each_margin(&mut self, steps: &[Transform], mut body: impl FnMut(&mut Self, Value, Value)) {
        let rows = self.b.rows();
        if steps.iter().all(is_uniform) {
            let all = self.b.mul_int(rows, self.per_row);
            return self.for_all(all, |s, index| {
                let y = s.value(steps, index, 0);
                body(s, index, y);
            });
        }
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            for margin in 0..s.per_row {
                let index = s.b.add_int(first, margin);
                let y = s.value(steps, index, margin as usize);
                body(s, index, y);
            }
        });
    }

    /// 1 for each margin that exceeds the bound after the steps, else 0.
    fn above(mut self, steps: &[Transform], bound: f64) -> Function {
        self.each_margin(steps, |s, index, y| {
            let one = s.formula().positive(y, bound);
            s.store(index, one);
        });
        self.b.finish()
    }

    /// Expressions over the margins of each row. All are computed before the first is stored, since results
    /// may be in the buffer of the margins.
    fn columns(mut self, lowering: &Lowering, runs: &ColumnRuns, pools: PoolTables<u32>) -> Function {
        let register = (lowering.place() == ProcessorKind::Host).then_some(lowering.plan.register);
        let code = ColumnCode { runs, pools: pools.declare(&mut self.b), register };
        let (element, count) = (self.element, runs.count as i64);
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let (from, to) = (s.b.mul_int(row, s.per_row), s.b.mul_int(row, count));
            let (margins, zero) = (s.margins, s.b.int(0));
            let bytes = s.b.int(count * i64::from(element.bytes()));
            s.alloc("row_results", element, bytes, |s, buffer| {
                code.with_row_memory(s, |s, stored| {
                    let features = Features::OfRow(margins, from);
                    code.row(&mut s.b, features, stored, Elements { buffer, first: zero });
                });
                let end = s.b.int(count);
                s.for_loop((zero, end, 1), &[], |s, result, _| {
                    let value = s.b.load(Ty::of(element), Address::element(buffer, result, element));
                    let index = s.b.add(to, result);
                    s.store(index, value);
                    Vec::new()
                });
            });
        });
        self.b.finish()
    }

    /// Two results for the one margin: its complement and itself.
    fn complement(mut self, steps: &[Transform]) -> Function {
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let y = s.value(steps, row, 0);
            let one = s.float(1.0);
            let rest = s.b.sub(one, y);
            let first = s.b.mul_int(row, 2);
            let second = s.b.add_int(first, 1);
            s.store(first, rest);
            s.store(second, y);
        });
        self.b.finish()
    }

    /// Running sums of the steps between values. The result may be in the buffer of the margins: each
    /// margin is read before its result is written.
    fn ascending(mut self, steps: &[Transform]) -> Function {
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            let lowest = s.value(steps, first, 0);
            s.store(first, lowest);
            let (one, end) = (s.b.int(1), s.b.int(s.per_row));
            s.for_loop((one, end, 1), &[lowest], |s, margin, carried| {
                let index = s.b.add(first, margin);
                let x = s.value(steps, index, 0);
                let step = s.formula().step_up(x);
                let next = s.b.add(carried[0], step);
                s.store(index, next);
                vec![next]
            });
        });
        self.b.finish()
    }

    /// 1 if the margin is larger than its complement, else 0.
    fn larger_half(mut self, steps: &[Transform]) -> Function {
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let y = s.value(steps, row, 0);
            let (zero, one) = (s.float(0.0), s.float(1.0));
            let rest = s.b.sub(one, y);
            let larger = s.b.cmp(Cmp::OLt, rest, y);
            let class = s.b.select(larger, one, zero);
            s.store(row, class);
        });
        self.b.finish()
    }

    /// Calls `body` for each number below `count`, on the processor of the run.
    fn for_all(&mut self, count: Value, mut body: impl FnMut(&mut Self, Value)) {
        let places = self.places;
        self.choose(places.bounded(), *places.rest(), count, &mut body);
    }

    fn choose(
        &mut self,
        bounded: &[Bounded<ProcessorKind>],
        rest: ProcessorKind,
        count: Value,
        body: &mut impl FnMut(&mut Self, Value),
    ) {
        let [first, larger @ ..] = bounded else { return self.for_all_at(rest, count, body) };
        if larger.iter().all(|other| other.value == first.value) && first.value == rest {
            return self.for_all_at(rest, count, body);
        }
        let (rows, most) = (self.b.rows(), self.b.int(first.max_rows.into()));
        let covered = self.b.cmp(Cmp::Le, rows, most);
        let more = self.b.cmp(Cmp::Lt, most, rows);
        self.when(covered, |s| s.for_all_at(first.value, count, body));
        self.when(more, |s| s.choose(larger, rest, count, body));
    }

    fn for_all_at(&mut self, place: ProcessorKind, count: Value, body: &mut impl FnMut(&mut Self, Value)) {
        match place {
            ProcessorKind::Device => launch_over(self, "rows", count, body),
            ProcessorKind::Host => {
                let zero = self.b.int(0);
                self.for_loop((zero, count, 1), &[], |s, number, _| {
                    body(s, number);
                    Vec::new()
                });
            }
        }
    }

    /// Index of the largest value of a row, the first of equal ones, as a float. Values are the margins
    /// after the steps, or their softmax.
    fn arg_max(mut self, steps: &[Transform], softmax: Option<Softmax>) -> Function {
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            let shares = softmax.map(|form| s.exponentials(steps, form, first, false));
            let value = |s: &mut Self, margin| {
                let index = s.b.add(first, margin);
                let x = s.value(steps, index, 0);
                match shares {
                    Some((all, sum)) => {
                        let power = s.exponential(all, x);
                        s.b.bin(Bin::Div, power, sum)
                    }
                    None => x,
                }
            };
            let (zero, one, end) = (s.b.int(0), s.b.int(1), s.b.int(s.per_row));
            let best = value(s, zero);
            let found = s.for_loop((one, end, 1), &[best, zero], |s, margin, carried| {
                let x = value(s, margin);
                let larger = s.b.cmp(Cmp::OLt, carried[0], x);
                vec![s.b.select(larger, x, carried[0]), s.b.select(larger, margin, carried[1])]
            });
            let class = s.b.cast(Cast::IntToFloat, found[1], Ty::of(s.result));
            s.store(row, class);
        });
        self.b.finish()
    }

    /// Exponentials of the distances to the largest value, divided by their sum.
    ///
    /// Results of the margins' type may be in the buffer of the margins, which then holds the
    /// exponentials meanwhile. With another result type, the exponentials are computed twice.
    fn softmax(mut self, steps: &[Transform], form: Softmax) -> Function {
        let rows = self.b.rows();
        let park = self.element == self.result;
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            let (all, sum) = s.exponentials(steps, form, first, park);
            let (zero, end) = (s.b.int(0), s.b.int(s.per_row));
            s.for_loop((zero, end, 1), &[], |s, margin, _| {
                let index = s.b.add(first, margin);
                let power = if park {
                    s.b.load(Ty::of(s.result), Address::element(s.out, index, s.result))
                } else {
                    let x = s.value(steps, index, 0);
                    s.exponential(all, x)
                };
                let share = s.b.bin(Bin::Div, power, sum);
                s.store(index, share);
                Vec::new()
            });
        });
        self.b.finish()
    }

    /// Common part of a row's exponentials, and their sum in the element of margins. With `park`, the
    /// exponentials are stored.
    fn exponentials(
        &mut self,
        steps: &[Transform],
        form: Softmax,
        first: Value,
        park: bool,
    ) -> (Exponentials, Value) {
        let (zero, end) = (self.b.int(0), self.b.int(self.per_row));
        let lowest = self.float(f64::NEG_INFINITY);
        let largest = self.for_loop((zero, end, 1), &[lowest], |s, margin, carried| {
            let index = s.b.add(first, margin);
            let x = s.value(steps, index, 0);
            vec![s.b.bin(Bin::Max, carried[0], x)]
        });
        let largest = largest[0];
        let aside = (form == Softmax::ZeroAside).then(|| {
            let minus = self.float(-0.0);
            let negated = self.b.sub(minus, largest);
            self.b.math(Math::Exp, negated)
        });
        let all = Exponentials { form, largest, aside };
        let sums = if form == Softmax::Doubled { Scalar::F64 } else { self.element };
        let nothing = self.b.float(Ty::of(sums), 0.0);
        let sum = self.for_loop((zero, end, 1), &[nothing], |s, margin, carried| {
            let index = s.b.add(first, margin);
            let x = s.value(steps, index, 0);
            let power = s.exponential(all, x);
            if park {
                s.store(index, power);
            }
            let counted = match all.aside {
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
        match all.aside {
            Some(aside) if all.form == Softmax::ZeroAside => {
                let (near, product) = (self.is_near_zero(x), self.b.bin(Bin::Mul, x, aside));
                self.b.select(near, product, power)
            }
            _ => power,
        }
    }

    fn is_near_zero(&mut self, x: Value) -> Value {
        let size = self.formula().size(x);
        let most = self.float(f64::from(1e-7_f32));
        self.b.cmp(Cmp::OLe, size, most)
    }
}

/// Whether a step transforms each margin alike.
fn is_uniform(step: &Transform) -> bool {
    match step {
        Transform::Scale { bias, .. } => bias.iter().all(|other| Some(other) == bias.first()),
        _ => true,
    }
}

/// Whether each margin becomes one result of its type, by a formula of its own.
pub fn is_by_margin(forest: &Forest) -> bool {
    let same = forest.types.accumulator == forest.types.output;
    let steps = || forest.output.raw.iter().chain(&forest.output.value);
    same && steps().next().is_some() && steps().all(|step| step.is_by_value() && is_uniform(step))
}

/// Whether results need functions of the C library other than the exponential.
pub fn needs_library(forest: &Forest) -> bool {
    forest.output.raw.iter().chain(&forest.output.value).any(|step| {
        matches!(
            step,
            Transform::LogOnePlusExp
                | Transform::Ascending
                | Transform::Probit
                | Transform::PowerOfTwo { .. }
        )
    })
}
