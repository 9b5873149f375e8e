//! Predictions of rows whose margins a launch has computed, by the threads of the same launch.

use super::expression::{ExpressionCode, ExpressionMemory};
use super::mixed::LastStep;
use super::stage::{OutputStage, RowIndices, StageRows, margin_element};
use crate::lir::{Address, BufferId, BuildStmts, Builder, OutputKind, ProcessorKind, Scalar, Value};
use crate::lower::lowering::Lowering;
use sched_forest::Transform;

/// Code from the margins of a row to its predictions, for the threads of a launch.
#[derive(Clone)]
pub struct RowPredictions<'a> {
    /// The margins of all rows of the call: memory of the call.
    pub margins: BufferId,
    out: BufferId,
    element: Scalar,
    result: Scalar,
    per_row: i64,
    /// Steps from sums to margins.
    raw: &'a [Transform],
    expressions: Vec<ExpressionCode<'a>>,
    memory: Vec<ExpressionMemory>,
    steps: &'a [Transform],
    last: LastStep,
}

impl<'a> RowPredictions<'a> {
    /// Runs `body` with memory for the margins of all rows, and with the code that reads it. Does not run it
    /// if the model's predictions are its margins.
    pub fn in_memory(
        b: &mut Builder,
        lowering: &'a Lowering,
        body: &mut dyn FnMut(&mut Builder, RowPredictions<'a>),
    ) {
        let forest = &lowering.hir.forest;
        let Some(steps) = lowering.hir.outputs.steps(OutputKind::Value) else { return };
        let (element, per_row) = (margin_element(lowering), forest.num_margins as i64);
        let rows = b.n_rows();
        let bytes = b.mul_int(rows, per_row * i64::from(element.bytes()));
        b.alloc("margins", element, bytes, |b, margins| {
            // The builder moves into the stage and back.
            let own = std::mem::replace(b, Builder::new(""));
            let thread = StageRows::OfThread(rows, Vec::new());
            let (mut stage, rest) =
                OutputStage::new((own, OutputKind::Value), lowering, (steps, margins), thread);
            if let Some((steps, last)) = LastStep::of(rest) {
                let (out, result, expressions) = (stage.out, stage.result, stage.expressions.clone());
                let raw = &forest.output.raw;
                let code = RowPredictions {
                    margins,
                    out,
                    element,
                    result,
                    per_row,
                    raw,
                    expressions,
                    memory: Vec::new(),
                    steps,
                    last,
                };
                let expressions = stage.expressions.clone();
                stage.with_memory(ProcessorKind::Device, &expressions, &mut Vec::new(), &mut |s, memory| {
                    body(&mut s.b, RowPredictions { memory: memory.to_vec(), ..code.clone() });
                });
            }
            *b = stage.b;
        });
    }

    /// Whether there is code for a model's predictions.
    pub fn exist(lowering: &Lowering) -> bool {
        let steps = lowering.hir.outputs.steps(OutputKind::Value);
        steps.is_some_and(|steps| {
            let is_expression = |step: &Transform| matches!(step, Transform::Columns(_));
            let after = steps.steps.iter().rposition(is_expression).map_or(0, |last| last + 1);
            LastStep::of(&steps.steps[after..]).is_some()
        })
    }

    /// Stores the predictions of a row.
    pub fn store(&self, b: &mut Builder, row: Value) {
        let own = std::mem::replace(b, Builder::new(""));
        let RowPredictions { margins, out, element, result, per_row, .. } = *self;
        let (rows, expressions) = (StageRows::OfThread(row, self.memory.clone()), self.expressions.clone());
        let mut stage = OutputStage { b: own, rows, margins, out, element, result, per_row, expressions };
        if !self.raw.is_empty() {
            let from = stage.b.mul_int(row, per_row);
            stage.each_of_row(self.raw, RowIndices { from, to: from }, &mut |s, to, y| {
                s.b.store(Address::element(margins, to, element), y);
            });
        }
        stage.last_step(self.steps, self.last);
        *b = stage.b;
    }
}
