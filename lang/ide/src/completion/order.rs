//! The order of proposals: directives that a fast schedule has next come first.
//!
//! An author who always accepts the first proposal gets a schedule that schedc could choose: tile the rows,
//! walk a tree with a whole block, share blocks among threads, copy their rows, choose a layout, fill the
//! vectors, interleave several of them. Layouts have the chooser's order
//! (`sched_nest::Layout::trial_position`). Directives that the schedule already has come later, and after
//! them those that make an exact order of accumulation reassociated. Predicted gains, if known, take
//! precedence over this order (`gains.rs`); the latter do not move up.

use sched_lang::TargetKind;
use sched_lang::device::Limits;
use sched_lang::directives::{DirectiveOp, SIGNATURES};
use sched_lang::legal_next::Operation;
use sched_lang::lineage::{Annotation, LoopSelector, NestBuilder};
use sched_nest::{Axis, Layout, LoopId, ModelInfo, Shapes};

use crate::ScheduleAnalysis;

/// The directives of a fast schedule in their order.
const USUAL_ORDER: &[DirectiveOp] = &[
    DirectiveOp::Tile,
    DirectiveOp::Reorder,
    DirectiveOp::Parallel,
    DirectiveOp::Cache,
    DirectiveOp::Representation,
    DirectiveOp::Vectorize,
    DirectiveOp::Interleave,
    DirectiveOp::UnrollAndJam,
];
/// Rows of a block for walks in vectors, as schedc chooses it.
const VECTOR_BLOCK: i64 = 256;
/// Rows of a block for walks one by one, as schedc chooses it.
const SCALAR_BLOCK: i64 = 64;
/// Most vectors of rows that are interleaved: there are at most 32 registers, and each vector needs a few.
const MOST_VECTORS: i64 = 8;
/// Bits of the shortest registers that are worth filling with rows.
const MIN_WIDE_REGISTER_BITS: u32 = 256;

/// The position of a proposal; smaller ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8, usize, usize);

impl Rank {
    /// Whether a fast schedule has this directive next.
    pub(crate) fn is_next(self) -> bool {
        self.0 == 0
    }
}

/// An operation that is legal at the cursor.
pub(crate) struct LegalForm {
    pub(crate) operation: Operation,
    /// Whether it makes an exact order of accumulation reassociated.
    pub(crate) reassociates: bool,
}

/// Ranks proposals for a schedule.
pub(crate) struct Ranker<'a> {
    /// The schedule with its annotations.
    whole: &'a NestBuilder,
    model: Option<&'a ModelInfo>,
    vector_bits: Option<u32>,
    is_cpu: bool,
}

impl<'a> Ranker<'a> {
    pub(crate) fn new(here: ScheduleAnalysis<'a>) -> Self {
        let limits = Limits::of_check(&here.verdict().target, here.options());
        let (is_cpu, vector_bits) = (limits.kind == TargetKind::Cpu, limits.vector_bits);
        Ranker { whole: here.final_nest(), model: here.model(), vector_bits, is_cpu }
    }

    /// The rank of an operation among all that are legal.
    pub(crate) fn rank(&self, LegalForm { operation, reassociates }: &LegalForm, nest: &NestBuilder) -> Rank {
        let op = operation.op();
        let usual = SIGNATURES.iter().position(|signature| signature.op == op).unwrap_or(usize::MAX);
        let step = USUAL_ORDER.iter().position(|step| *step == op).filter(|_| self.is_cpu);
        match (step, self.within(operation, nest)) {
            _ if op == DirectiveOp::GpuDimension && self.is_cpu => Rank(3, usual, 0),
            (_, within) if *reassociates => Rank(2, usual, within.unwrap_or(usize::MAX)),
            (Some(step), Some(within)) if !self.is_done(op) => Rank(0, step, within),
            (_, within) => Rank(1, usual, within.unwrap_or(usize::MAX)),
        }
    }

    /// Whether the schedule has a directive already.
    fn is_done(&self, op: DirectiveOp) -> bool {
        let nest = self.whole;
        let loops = nest.tree().loops();
        match op {
            DirectiveOp::Tile => loops.iter().filter(|id| nest.node(**id).axis == Axis::Row).count() > 1,
            DirectiveOp::Reorder => {
                loops.iter().any(|id| nest.node(*id).axis == Axis::Row && nest.tree().inside(*id).is_leaf())
            }
            DirectiveOp::Representation if nest.forest().layout().is_some() => true,
            _ => {
                loops.iter().any(|id| nest.node(*id).annotations.iter().any(|(stated, _)| stated.op() == op))
            }
        }
    }

    /// The position among proposals of the same directive. `None` if a fast schedule has no such step.
    fn within(&self, operation: &Operation, nest: &NestBuilder) -> Option<usize> {
        let find = |v: &LoopSelector| first(nest, v);
        match operation {
            Operation::Tile(v, ..) => (nest.node(find(v)?).axis == Axis::Row).then_some(0),
            Operation::Reorder(order) => {
                let axes: Option<Vec<Axis>> = order.iter().map(|v| Some(nest.node(find(v)?).axis)).collect();
                let axes = axes?;
                let around = axes.first() == Some(&Axis::Row) && axes.last() == Some(&Axis::Row);
                (around && axes.contains(&Axis::Tree)).then_some(0)
            }
            Operation::Layout(layout) => Some(self.layout_position(*layout)),
            Operation::Annotate(v, annotation) => {
                let id = find(v)?;
                let is_row = nest.node(id).axis == Axis::Row;
                match annotation {
                    Annotation::Parallel | Annotation::Cache => {
                        (is_row && nest.tree().parent(id).is_none()).then_some(0)
                    }
                    Annotation::Vectorize(lanes) | Annotation::Interleave(lanes) => {
                        Some(lanes.is_none().into())
                    }
                    Annotation::UnrollAndJam => Some(0),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The position of a layout in the chooser's order, after all others if it does not suit the model.
    /// Without a model, only layouts for trees of any shape suit.
    fn layout_position(&self, layout: Layout) -> usize {
        let suits = self.model.map_or(layout.shapes() == Shapes::Any, |model| layout.suits(model));
        let behind = if suits { 0 } else { Layout::ALL.len() };
        behind + layout.trial_position().map_or(Layout::ALL.len(), |position| position as usize)
    }

    /// Sorts forms of an operation that differ in a number: the best for the target comes first.
    pub(crate) fn order(&self, forms: &mut [Operation], nest: &NestBuilder) {
        let Some(wanted) = forms.first().and_then(|form| self.number(form, nest)) else { return };
        let number = |form: &Operation| match form {
            Operation::Tile(.., size) => size.as_int(),
            Operation::Annotate(_, Annotation::Vectorize(number) | Annotation::Interleave(number)) => {
                number.map(i64::from)
            }
            _ => None,
        };
        // The other forms keep their order.
        forms.sort_by_key(|form| number(form) != Some(wanted));
    }

    /// Returns the best tile size, lanes or interleaved vectors for the target; `None` for GPUs, unknown
    /// registers and other directives.
    fn number(&self, form: &Operation, nest: &NestBuilder) -> Option<i64> {
        let bits = self.vector_bits.filter(|_| self.is_cpu)?;
        match form {
            Operation::Tile(v, ..) => {
                let id = first(nest, v)?;
                let is_whole = nest.node(id).axis == Axis::Row && nest.node(id).trips().is_none();
                is_whole.then_some(if bits < MIN_WIDE_REGISTER_BITS { SCALAR_BLOCK } else { VECTOR_BLOCK })
            }
            Operation::Annotate(v, Annotation::Vectorize(_)) => {
                let id = first(nest, v)?;
                let lanes = bits / 8 / self.element_bytes(nest.node(id).axis);
                let most = nest.node(id).trips().unwrap_or(i64::MAX).max(1);
                let fits = if i64::from(lanes) <= most { i64::from(lanes) } else { 1 << most.ilog2() };
                Some(fits)
            }
            Operation::Annotate(v, Annotation::Interleave(_)) => self.vectors(first(nest, v)?, nest),
            _ => None,
        }
    }

    /// Vectors that the iterations of a loop fill, if the schedule states their lanes.
    fn vectors(&self, id: LoopId, nest: &NestBuilder) -> Option<i64> {
        let name = nest.name(id);
        let stated = self.whole.tree().loops().into_iter().find(|on| self.whole.name(*on) == name)?;
        let lanes = self.whole.node(stated).effective_annotations().vectorize?;
        let vectors = nest.node(id).trips()? / i64::from(lanes.max(1));
        (vectors > 1).then(|| vectors.min(MOST_VECTORS))
    }

    /// Bytes of an operand of the lanes of a vector: a bin, or a value or node number.
    fn element_bytes(&self, axis: Axis) -> u32 {
        let nest = self.whole;
        let compares_bins =
            |stated: &Annotation| matches!(stated, Annotation::Layout(layout) if layout.compares_bins());
        let on_loops = nest
            .tree()
            .loops()
            .iter()
            .any(|id| nest.node(*id).annotations.iter().any(|(a, _)| compares_bins(a)));
        let on_bins = on_loops || nest.forest().layout().is_some_and(Layout::compares_bins);
        match (axis, on_bins) {
            (Axis::Row, true) => self.model.map_or(1, |model| model.bin_bytes.max(1)),
            _ => 4,
        }
    }
}

fn first(nest: &NestBuilder, v: &LoopSelector) -> Option<LoopId> {
    nest.select(sched_lang::lineage::DirectiveIndex(0), 0, v).ok()?.first().copied()
}
