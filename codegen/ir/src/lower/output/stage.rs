//! An output stage under construction: loops over rows, and steps on single values.

use super::expression::{ExpressionCode, ExpressionMemory};
use super::formula::OutputFormula;
use crate::bytes::scalar;
use crate::columns::code::BufferElements;
use crate::columns::outputs::StepRuns;
use crate::columns::value::FeatureSource;
use crate::lir::{
    Address, BufferId, BuildStmts, Builder, Cast, Cmp, Interface, OutputKind, ProcessorKind, Scalar, Space,
    Ty, Value,
};
use crate::lower::elements::launch_over;
use crate::lower::lowering::Lowering;
use sched_forest::{Transform, Types};
use sched_nest::{Bounded, Variants};

/// Element types that callers and the kernels of a model exchange.
pub fn interface(types: &Types) -> Interface {
    let Types { input, threshold: _, accumulator, output } = *types;
    Interface { rows: scalar(input), margins: scalar(accumulator), results: scalar(output) }
}

/// Element type of the margins.
pub(super) fn margin_element(lowering: &Lowering) -> Scalar {
    scalar(lowering.hir.forest.types.accumulator)
}

/// An output stage under construction.
pub(super) struct OutputStage<'a> {
    pub(super) b: Builder,
    pub(super) rows: StageRows<'a>,
    /// Buffer of the margins; while the code of a row is emitted, of the last expression's results.
    pub(super) margins: BufferId,
    pub(super) out: BufferId,
    /// Element type of margins, or of the last expression's results.
    pub(super) element: Scalar,
    /// Element type of results.
    pub(super) result: Scalar,
    /// Number of margins of a row, or of the last expression's results.
    pub(super) per_row: i64,
    /// Expressions over all values of a row. The first reads the margins, each other the results of the
    /// previous one.
    pub(super) expressions: Vec<ExpressionCode<'a>>,
}

/// The rows that a stage transforms.
#[derive(Clone)]
pub(super) enum StageRows<'a> {
    /// All rows of the call, by loops and launches. Each run has a processor.
    OfCall(&'a Variants<ProcessorKind>),
    /// The row of a thread in a launch, with the memory of the expressions.
    OfThread(Value, Vec<ExpressionMemory>),
}

/// Indices of a row's first values.
#[derive(Clone, Copy)]
pub(super) struct RowIndices {
    /// Index of the first margin, or of the first result of the last expression.
    pub(super) from: Value,
    /// Index of the first result.
    pub(super) to: Value,
}

impl BuildStmts for OutputStage<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

impl<'a> OutputStage<'a> {
    /// A stage that computes the expressions among an output's steps, and the steps after the last one.
    pub(super) fn new(
        (mut b, kind): (Builder, OutputKind),
        lowering: &'a Lowering,
        (steps, margins): (&'a StepRuns, BufferId),
        rows: StageRows<'a>,
    ) -> (Self, &'a [Transform]) {
        let forest = &lowering.hir.forest;
        let (element, result) = (margin_element(lowering), interface(&forest.types).output(kind));
        let out = b.buffer("result", Space::Output, result);
        let output = &lowering.numbers.output;
        let (expressions, rest) = output.code_of_steps((&mut b, lowering.plan.register_bytes), kind, steps);
        let per_row = forest.num_margins as i64;
        (OutputStage { b, rows, margins, out, element, result, per_row, expressions }, rest)
    }

    /// Number of values of a row before the last steps.
    pub(super) fn n_values(&self) -> i64 {
        self.expressions.last().map_or(self.per_row, ExpressionCode::n_results)
    }

    fn load(&mut self, index: Value) -> Value {
        self.b.load(Ty::of(self.element), Address::element(self.margins, index, self.element))
    }

    /// The margin at `index` after steps on single values. `margin` is its number in the row, on which some
    /// steps depend.
    pub(super) fn value(&mut self, steps: &[Transform], index: Value, margin: usize) -> Value {
        let x = self.load(index);
        self.formula().apply_steps(steps, x, margin)
    }

    pub(super) fn store(&mut self, index: Value, value: Value) {
        let value = self.b.cast(Cast::Float, value, Ty::of(self.result));
        self.b.store(Address::element(self.out, index, self.result), value);
    }

    pub(super) fn float(&mut self, x: f64) -> Value {
        self.b.float(Ty::of(self.element), x)
    }

    pub(super) fn formula(&mut self) -> OutputFormula<'_> {
        OutputFormula { element: self.element, b: &mut self.b }
    }

    /// One result for each margin.
    pub(super) fn one_per_margin(&mut self, steps: &[Transform]) {
        self.each_margin(steps, |s, to, y| s.store(to, y));
    }

    /// Calls `body` with the index of each margin's result, and the margin's value after the steps.
    pub(super) fn each_margin(&mut self, steps: &[Transform], mut body: impl FnMut(&mut Self, Value, Value)) {
        let is_alike = steps.iter().all(is_uniform);
        if let StageRows::OfCall(processors) = self.rows
            && is_alike
            && self.expressions.is_empty()
        {
            let rows = self.b.n_rows();
            let all = self.b.mul_int(rows, self.per_row);
            return self.for_all(processors, all, |s, index| {
                let y = s.value(steps, index, 0);
                body(s, index, y);
            });
        }
        self.for_all_rows(self.n_values(), |s, row| {
            s.each_of_row(steps, row, &mut body);
        });
    }

    /// Calls `body` for each margin of a row, as [`OutputStage::each_margin`] does.
    pub(super) fn each_of_row(
        &mut self,
        steps: &[Transform],
        row: RowIndices,
        body: &mut impl FnMut(&mut Self, Value, Value),
    ) {
        if self.per_row > MOST_UNROLLED_VALUES && steps.iter().all(is_uniform) {
            let (zero, end) = (self.b.int(0), self.b.int(self.per_row));
            self.for_loop((zero, end, 1), &[], |s, margin, _| {
                let (from, to) = (s.b.add(row.from, margin), s.b.add(row.to, margin));
                let y = s.value(steps, from, 0);
                body(s, to, y);
                Vec::new()
            });
            return;
        }
        for margin in 0..self.per_row {
            let (from, to) = (self.b.add_int(row.from, margin), self.b.add_int(row.to, margin));
            let y = self.value(steps, from, margin as usize);
            body(self, to, y);
        }
    }

    /// Calls `body` for each row, which has `n_results` results, on the processor of the run. If there are
    /// expressions, `body` gets the last expression's results in place of the margins.
    pub(super) fn for_all_rows(&mut self, n_results: i64, mut body: impl FnMut(&mut Self, RowIndices)) {
        let processors = match &self.rows {
            StageRows::OfCall(processors) => *processors,
            StageRows::OfThread(row, memory) => {
                let (row, memory) = (*row, memory.clone());
                return self.row((ProcessorKind::Device, &memory), row, n_results, &mut body);
            }
        };
        self.for_variant(processors.bounded(), *processors.rest(), &mut |s, processor| {
            let expressions = s.expressions.clone();
            s.with_memory(processor, &expressions, &mut Vec::new(), &mut |s, memory| {
                let rows = s.b.n_rows();
                s.for_all_at(processor, rows, &mut |s, row| {
                    s.row((processor, memory), row, n_results, &mut body);
                });
            });
        });
    }

    /// Computes the expressions of a row, and calls `body` as [`OutputStage::for_all_rows`] does.
    fn row(
        &mut self,
        (processor, memory): (ProcessorKind, &[ExpressionMemory]),
        row: Value,
        n_results: i64,
        body: &mut impl FnMut(&mut Self, RowIndices),
    ) {
        let before = (self.margins, self.element, self.per_row);
        let from = self.compute_expressions(processor, memory, row);
        let is_in_place = memory.is_empty() && n_results == self.per_row;
        let to = if is_in_place { from } else { self.b.mul_int(row, n_results) };
        body(self, RowIndices { from, to });
        (self.margins, self.element, self.per_row) = before;
    }

    /// Runs `body` with memory for expressions: of a row on the host, which computes rows one after the
    /// other, and of all rows on a device, whose threads have little memory of their own.
    pub(super) fn with_memory(
        &mut self,
        processor: ProcessorKind,
        expressions: &[ExpressionCode<'a>],
        taken: &mut Vec<ExpressionMemory>,
        body: &mut dyn FnMut(&mut Self, &[ExpressionMemory]),
    ) {
        let [expression, rest @ ..] = expressions else { return body(self, taken) };
        let element = taken.len().checked_sub(1).map_or(self.element, |last| self.expressions[last].element);
        let values = (!expression.steps.is_empty()).then_some((expression.n_values(), element));
        self.with_buffer(processor, "values_of_row", values, &mut |s, values| {
            let results = Some((expression.n_results(), expression.element));
            s.with_buffer(processor, "results_of_row", results, &mut |s, results| {
                expression.with_stored(s, processor, |s, stored| {
                    taken.push(ExpressionMemory { values, stored, results });
                    s.with_memory(processor, rest, taken, body);
                });
            });
        });
    }

    /// Runs `body` with a buffer for some values of a row, or of all rows on a device.
    fn with_buffer(
        &mut self,
        processor: ProcessorKind,
        name: &str,
        values: Option<(i64, Scalar)>,
        body: &mut dyn FnMut(&mut Self, Option<BufferId>),
    ) {
        let Some((count, element)) = values else { return body(self, None) };
        let bytes = count * i64::from(element.bytes());
        let bytes = match processor {
            ProcessorKind::Host => self.b.int(bytes),
            ProcessorKind::Device => {
                let rows = self.b.n_rows();
                self.b.mul_int(rows, bytes)
            }
        };
        self.alloc(name, element, bytes, |s, buffer| body(s, Some(buffer)));
    }

    /// Computes the expressions of a row, and returns the index of the last expression's first result.
    fn compute_expressions(
        &mut self,
        processor: ProcessorKind,
        memory: &[ExpressionMemory],
        row: Value,
    ) -> Value {
        let mut from = self.b.mul_int(row, self.per_row);
        let number = match processor {
            ProcessorKind::Host => self.b.int(0),
            ProcessorKind::Device => row,
        };
        for (expression, memory) in self.expressions.clone().iter().zip(memory) {
            if let Some(values) = memory.values {
                let (to, element) = (self.b.mul_int(number, self.per_row), self.element);
                self.each_of_row(expression.steps, RowIndices { from, to }, &mut |s, to, y| {
                    s.b.store(Address::element(values, to, element), y);
                });
                (self.margins, from) = (values, to);
            }
            let Some(results) = memory.results else { continue };
            let stored = match processor {
                ProcessorKind::Host => memory.stored,
                ProcessorKind::Device => memory.stored.from_row(row),
            };
            let to = self.b.mul_int(number, expression.n_results());
            let target = BufferElements { buffer: results, first: to };
            expression.row(
                &mut self.b,
                processor,
                FeatureSource::OfRow(self.margins, from),
                (stored, target),
            );
            (self.margins, self.element) = (results, expression.element);
            (self.per_row, from) = (expression.n_results(), to);
        }
        from
    }

    /// Calls `body` for each number below `count`, on the processor of the run.
    fn for_all(
        &mut self,
        processors: &Variants<ProcessorKind>,
        count: Value,
        mut body: impl FnMut(&mut Self, Value),
    ) {
        self.for_variant(processors.bounded(), *processors.rest(), &mut |s, processor| {
            s.for_all_at(processor, count, &mut body)
        });
    }

    /// Calls `body` with the processor of the run.
    fn for_variant(
        &mut self,
        bounded: &[Bounded<ProcessorKind>],
        rest: ProcessorKind,
        body: &mut impl FnMut(&mut Self, ProcessorKind),
    ) {
        let [first, larger @ ..] = bounded else { return body(self, rest) };
        if larger.iter().all(|other| other.value == first.value) && first.value == rest {
            return body(self, rest);
        }
        let (rows, most) = (self.b.n_rows(), self.b.int(first.max_rows.into()));
        let covered = self.b.cmp(Cmp::Le, rows, most);
        let more = self.b.cmp(Cmp::Lt, most, rows);
        self.when(covered, |s| body(s, first.value));
        self.when(more, |s| s.for_variant(larger, rest, body));
    }

    fn for_all_at(
        &mut self,
        processor: ProcessorKind,
        count: Value,
        body: &mut impl FnMut(&mut Self, Value),
    ) {
        match processor {
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
}

/// Largest number of values of a row whose steps are written out instead of a loop, if all values have the
/// same steps.
const MOST_UNROLLED_VALUES: i64 = 8;

/// Whether a step transforms each margin alike.
pub(super) fn is_uniform(step: &Transform) -> bool {
    match step {
        Transform::Scale { bias, .. } => bias.iter().all(|other| Some(other) == bias.first()),
        _ => true,
    }
}
