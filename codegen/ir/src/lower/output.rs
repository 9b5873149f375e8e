//! Output stages: kernels from margins to predictions and to class numbers.
//!
//! The formulas, the order of operations and the types are those of the reference in `sched-forest`, so that results are
//! equal bit for bit.

use super::elements::launch_over;
use crate::bytes::scalar;
use crate::lir::{
    Address, Bin, BufferId, Build, Builder, Cast, Cmp, Function, Interface, Math, Place, Scalar, Space, Ty,
    Value,
};
use sched_forest::{Forest, Transform, Types};
use sched_nest::{Bounded, Variants};

/// What the kernels of a model with these types read and write.
pub fn interface(types: &Types) -> Interface {
    let Types { input, threshold: _, accumulator, output } = *types;
    Interface { rows: scalar(input), margins: scalar(accumulator), results: scalar(output) }
}

/// Columns of a prediction.
pub fn value_columns(forest: &Forest) -> usize {
    forest.transform.outputs(forest.num_margins)
}

/// Columns of class output: one where the model has classes, else none.
pub fn class_columns(forest: &Forest) -> usize {
    usize::from(forest.is_classifier() && forest.num_classes_out() == 1)
}

/// The kernel from margins to predictions; none where predictions are the margins.
pub fn values(forest: &Forest, index: Scalar, places: &Variants<Place>) -> Option<Function> {
    let stage = Stage::new(forest, ("value", index), scalar(forest.types.output), places);
    match forest.transform {
        Transform::Identity if stage.element == stage.result => None,
        Transform::Identity => Some(stage.each(|_, x| x)),
        Transform::Sigmoid | Transform::Exp | Transform::Hinge => {
            Some(stage.each(|s, x| s.formula().of(forest.transform, x)))
        }
        Transform::Softmax => Some(stage.softmax()),
        Transform::ArgMax => Some(stage.arg_max()),
    }
}

/// The kernel from margins to class numbers; none where the model has no classes.
pub fn classes(forest: &Forest, index: Scalar, places: &Variants<Place>) -> Option<Function> {
    if class_columns(forest) == 0 {
        return None;
    }
    let stage = Stage::new(forest, ("class", index), Scalar::F32, places);
    match forest.transform {
        Transform::Sigmoid => Some(stage.each(|s, x| {
            let p = s.formula().sigmoid(x);
            s.formula().positive(p, 0.5)
        })),
        Transform::Hinge | Transform::Identity => Some(stage.each(|s, x| s.formula().positive(x, 0.0))),
        Transform::Softmax | Transform::ArgMax => Some(stage.arg_max()),
        Transform::Exp => None,
    }
}

/// An output stage under construction.
struct Stage<'a> {
    b: Builder,
    /// Where runs take place.
    places: &'a Variants<Place>,
    margins: BufferId,
    out: BufferId,
    /// The element of margins.
    element: Scalar,
    /// The element of results.
    result: Scalar,
    per_row: i64,
}

impl Build for Stage<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

impl<'a> Stage<'a> {
    fn new(
        forest: &Forest,
        (name, index): (&str, Scalar),
        result: Scalar,
        places: &'a Variants<Place>,
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
    fn each(mut self, mut f: impl FnMut(&mut Self, Value) -> Value) -> Function {
        let rows = self.b.rows();
        let all = self.b.mul_int(rows, self.per_row);
        self.for_all(all, |s, index| {
            let x = s.load(index);
            let y = f(s, x);
            s.store(index, y);
        });
        self.b.finish()
    }

    /// A body for each number below `count`, where the run takes place.
    fn for_all(&mut self, count: Value, mut body: impl FnMut(&mut Self, Value)) {
        let places = self.places;
        self.choose(places.bounded(), *places.rest(), count, &mut body);
    }

    fn choose(
        &mut self,
        bounded: &[Bounded<Place>],
        rest: Place,
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

    fn for_all_at(&mut self, place: Place, count: Value, body: &mut impl FnMut(&mut Self, Value)) {
        match place {
            Place::Device => launch_over(self, "rows", count, body),
            Place::Host => {
                let zero = self.b.int(0);
                self.for_loop((zero, count, 1), &[], |s, number, _| {
                    body(s, number);
                    Vec::new()
                });
            }
        }
    }

    /// The index of the largest margin, the first one of equals, as a float.
    fn arg_max(mut self) -> Function {
        let rows = self.b.rows();
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            let best = s.load(first);
            let (zero, one, end) = (s.b.int(0), s.b.int(1), s.b.int(s.per_row));
            let found = s.for_loop((one, end, 1), &[best, zero], |s, margin, carried| {
                let index = s.b.add(first, margin);
                let x = s.load(index);
                let larger = s.b.cmp(Cmp::OLt, carried[0], x);
                vec![s.b.select(larger, x, carried[0]), s.b.select(larger, margin, carried[1])]
            });
            let class = s.b.cast(Cast::IntToFloat, found[1], Ty::of(s.result));
            s.store(row, class);
        });
        self.b.finish()
    }

    /// Exponentials of the distances to the largest margin, over their sum, which is in double precision.
    ///
    /// Results of the margins' type may be the margins' own buffer: the exponentials are parked in them. Where results
    /// have another type, the exponentials are computed twice.
    fn softmax(mut self) -> Function {
        let rows = self.b.rows();
        let park = self.element == self.result;
        self.for_all(rows, |s, row| {
            let first = s.b.mul_int(row, s.per_row);
            let (zero, end) = (s.b.int(0), s.b.int(s.per_row));
            let lowest = s.float(f64::NEG_INFINITY);
            let largest = s.for_loop((zero, end, 1), &[lowest], |s, margin, carried| {
                let index = s.b.add(first, margin);
                let x = s.load(index);
                vec![s.b.bin(Bin::Max, carried[0], x)]
            });
            let power = |s: &mut Self, index| {
                let x = s.load(index);
                let distance = s.b.sub(x, largest[0]);
                s.b.math(Math::Exp, distance)
            };
            let nothing = s.b.float(Ty::of(Scalar::F64), 0.0);
            let sum = s.for_loop((zero, end, 1), &[nothing], |s, margin, carried| {
                let index = s.b.add(first, margin);
                let power = power(s, index);
                if park {
                    s.store(index, power);
                }
                let power = s.b.cast(Cast::Float, power, Ty::of(Scalar::F64));
                vec![s.b.add(carried[0], power)]
            });
            let sum = s.b.cast(Cast::Float, sum[0], Ty::of(s.element));
            s.for_loop((zero, end, 1), &[], |s, margin, _| {
                let index = s.b.add(first, margin);
                let power = if park {
                    s.b.load(Ty::of(s.result), Address::element(s.out, index, s.result))
                } else {
                    power(s, index)
                };
                let share = s.b.bin(Bin::Div, power, sum);
                s.store(index, share);
                Vec::new()
            });
        });
        self.b.finish()
    }
}

/// Whether each margin becomes one result of its type, by a formula of its own.
pub fn is_by_margin(forest: &Forest) -> bool {
    let same = forest.types.accumulator == forest.types.output;
    same && matches!(forest.transform, Transform::Sigmoid | Transform::Exp | Transform::Hinge)
}

/// The result of one margin.
pub struct Formula<'b> {
    /// Where its operations go.
    pub b: &'b mut Builder,
    /// The element of margins.
    pub element: Scalar,
}

impl Formula<'_> {
    /// The result under a transform that works margin by margin; the margin itself under others.
    pub fn of(self, transform: Transform, x: Value) -> Value {
        match transform {
            Transform::Sigmoid => self.sigmoid(x),
            Transform::Exp => self.b.math(Math::Exp, x),
            Transform::Hinge => self.positive(x, 0.0),
            Transform::Identity | Transform::Softmax | Transform::ArgMax => x,
        }
    }

    fn float(&mut self, x: f64) -> Value {
        self.b.float(Ty::of(self.element), x)
    }

    /// `1 / (exp(min(-x, 88.7)) + 1 + 1e-16)` in single, `1 / (1 + exp(-x))` in double precision.
    fn sigmoid(mut self, x: Value) -> Value {
        let minus_zero = self.float(-0.0);
        let one = self.float(1.0);
        let mut negated = self.b.sub(minus_zero, x);
        if self.element == Scalar::F64 {
            let power = self.b.math(Math::Exp, negated);
            let denominator = self.b.add(one, power);
            return self.b.bin(Bin::Div, one, denominator);
        }
        let bound = self.float(88.7);
        negated = self.b.bin(Bin::Min, negated, bound);
        let power = self.b.math(Math::Exp, negated);
        let tiny = self.float(1e-16);
        let denominator = self.b.add(power, one);
        let denominator = self.b.add(denominator, tiny);
        self.b.bin(Bin::Div, one, denominator)
    }

    /// `x > bound ? 1 : 0`
    fn positive(mut self, x: Value, bound: f64) -> Value {
        let (bound, one, zero) = (self.float(bound), self.float(1.0), self.float(0.0));
        let above = self.b.cmp(Cmp::OLt, bound, x);
        self.b.select(above, one, zero)
    }
}
