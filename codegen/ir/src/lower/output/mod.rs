//! Output stages: kernels from margins to predictions and other results.
//!
//! Formulas, order of operations and types are those of the reference in `sched-forest`, so that
//! results are bit-equal.

mod expression;
mod formula;
mod mixed;
mod rows;
mod stage;

use super::elements::launch_over;
use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::lir::{Address, Bin, Builder, Function, OutputKind, ProcessorKind, Space, Ty};
use mixed::LastStep;
use sched_forest::Forest;
use sched_nest::Variants;
use stage::{OutputStage, StageRows, is_uniform, margin_element};

pub use expression::OutputTables;
pub use formula::OutputFormula;
pub use rows::RowPredictions;
pub use stage::interface;

/// The kernel from margins to an output. `None` if the output is the margins, or does not exist.
pub fn after_margins(
    kind: OutputKind,
    lowering: &Lowering,
    processors: &Variants<ProcessorKind>,
) -> Option<Function> {
    let steps = lowering.hir.outputs.steps(kind)?;
    let (mut b, element) = (Builder::with_index(kind.word(), lowering.plan.index), margin_element(lowering));
    let margins = b.buffer("margins", Space::Input, element);
    let (mut stage, rest) =
        OutputStage::new((b, kind), lowering, (steps, margins), StageRows::OfCall(processors));
    let (by_value, last) = LastStep::of(rest)?;
    stage.last_step(by_value, last);
    Some(stage.b.finish())
}

/// The kernel that writes the model's own base values to the margins of all rows, on a device.
pub fn base_margins(lowering: &Lowering) -> Function {
    let forest = &lowering.hir.forest;
    let element = scalar(forest.types.accumulator);
    let mut b = Builder::with_index("base", lowering.plan.index);
    let out = b.buffer("result", Space::Output, element);
    let table =
        lowering.numbers.shared.base.map(|number| b.buffer("base", Space::ModelTable(number), element));
    let per_row = forest.num_margins as i64;
    let rows = b.n_rows();
    let count = b.mul_int(rows, per_row);
    launch_over(&mut b, "margins", count, |b, index| {
        let ty = Ty::of(element);
        let value = match table {
            None => b.float(ty, forest.base.first().copied().unwrap_or(0.0)),
            Some(table) => {
                let margins = b.int(per_row);
                let row = b.bin(Bin::IDiv, index, margins);
                let first = b.mul(row, margins);
                let margin = b.sub(index, first);
                b.load(ty, Address::element(table, margin, element))
            }
        };
        b.store(Address::element(out, index, element), value);
    });
    b.finish()
}

/// Transforms sums to margins, in place, at the end of the kernel of margins.
pub fn finish_margins(b: &mut Builder, forest: &Forest, processors: &Variants<ProcessorKind>) {
    if forest.output.raw.is_empty() {
        return;
    }
    let element = scalar(forest.types.accumulator);
    let out = b.buffer("result", Space::Output, element);
    let own = std::mem::replace(b, Builder::new(""));
    let per_row = forest.num_margins as i64;
    let (rows, expressions) = (StageRows::OfCall(processors), Vec::new());
    let mut stage =
        OutputStage { b: own, rows, margins: out, out, element, result: element, per_row, expressions };
    stage.each_margin(&forest.output.raw, |s, to, y| s.store(to, y));
    *b = stage.b;
}

/// Whether each margin becomes one result, of the margin's type, by the same formula without other margins.
pub fn is_by_margin(forest: &Forest) -> bool {
    let same = forest.types.accumulator == forest.types.output;
    let steps = || forest.output.raw.iter().chain(&forest.output.value);
    same && steps().next().is_some() && steps().all(|step| step.is_by_value() && is_uniform(step))
}
