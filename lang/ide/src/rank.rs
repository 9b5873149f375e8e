//! Which of the legal steps come first: those that a fast schedule takes next.
//!
//! The order is that of the schedules that schedc chooses: tile the rows, take a tree for a whole block,
//! share blocks among threads, copy their rows, choose a layout, fill the vectors, let several of them
//! advance together. What is stated already comes after what is not. [`Ranker::rank`] is the one place that
//! orders proposals while nothing else is known. What the cost model says of each goes before it
//! (`gains.rs`).

use sched_lang::TargetKind;
use sched_lang::device::Limits;
use sched_lang::directives::{Op, SIGNATURES};
use sched_lang::legal_next::Operation;
use sched_lang::lineage::{Annotation, NestBuilder, Select};
use sched_nest::{Axis, Layout, LoopId, ModelInfo};

use super::Here;

/// The steps of a fast schedule in their order.
const STEPS: &[Op] = &[
    Op::Tile,
    Op::Reorder,
    Op::Parallel,
    Op::Cache,
    Op::Representation,
    Op::Vectorize,
    Op::Interleave,
    Op::UnrollAndJam,
];
/// Layouts from the fastest, where trees are not deep.
const LAYOUTS: &[Layout] = &[
    Layout::Oblivious,
    Layout::Quantized,
    Layout::Preorder,
    Layout::Levels,
    Layout::Sparse,
    Layout::Array,
    Layout::Reorg,
];
/// Deepest trees that are worth completing.
const COMPLETE: u32 = 8;
/// Rows of a block that is walked in vectors, and of another one.
const BLOCKS: [i64; 2] = [256, 64];
/// Vectors that have registers enough to advance together.
const MOST_VECTORS: i64 = 8;
/// Registers from this length on are worth filling with rows.
const LONG: u32 = 256;

/// Where a proposal stands: smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8, usize, usize);

impl Rank {
    /// Whether it is a step that a fast schedule takes next.
    pub(crate) fn is_next(self) -> bool {
        self.0 == 0
    }
}

/// What the order of proposals depends on.
pub(crate) struct Ranker<'a> {
    /// The schedule with its facts.
    whole: &'a NestBuilder,
    model: Option<&'a ModelInfo>,
    vector_bits: Option<u32>,
    is_cpu: bool,
}

impl<'a> Ranker<'a> {
    pub(crate) fn new(here: Here<'a>) -> Self {
        let limits = Limits::of_check(&here.checked().target, here.options());
        let (is_cpu, vector_bits) = (limits.kind == TargetKind::Cpu, limits.vector_bits);
        Ranker { whole: here.whole(), model: here.model(), vector_bits, is_cpu }
    }

    /// Where an operation on a nest stands among all that are legal.
    pub(crate) fn rank(&self, operation: &Operation, nest: &NestBuilder) -> Rank {
        let op = operation.op();
        let usual = SIGNATURES.iter().position(|signature| signature.op == op).unwrap_or(usize::MAX);
        let step = STEPS.iter().position(|step| *step == op).filter(|_| self.is_cpu);
        match (step, self.within(operation, nest)) {
            (Some(step), Some(within)) if !self.is_done(op) => Rank(0, step, within),
            _ if op == Op::GpuDimension && self.is_cpu => Rank(2, usual, 0),
            (_, within) => Rank(1, usual, within.unwrap_or(usize::MAX)),
        }
    }

    /// Whether the schedule has taken a step.
    fn is_done(&self, op: Op) -> bool {
        let nest = self.whole;
        let loops = nest.loops();
        match op {
            Op::Tile => loops.iter().filter(|id| nest.axis(**id) == Axis::Row).count() > 1,
            Op::Reorder => {
                loops.iter().any(|id| nest.axis(*id) == Axis::Row && nest.node(*id).inside.is_leaf())
            }
            Op::Representation if nest.layout().is_some() => true,
            _ => {
                loops.iter().any(|id| nest.node(*id).annotations.iter().any(|(stated, _)| stated.op() == op))
            }
        }
    }

    /// Where it stands among those of its directive; nothing if a fast schedule has no such step.
    fn within(&self, operation: &Operation, nest: &NestBuilder) -> Option<usize> {
        let find = |v: &Select| first(nest, v);
        match operation {
            Operation::Tile(v, ..) => (nest.axis(find(v)?) == Axis::Row).then_some(0),
            Operation::Reorder(order) => {
                let axes: Option<Vec<Axis>> = order.iter().map(|v| Some(nest.axis(find(v)?))).collect();
                let axes = axes?;
                let around = axes.first() == Some(&Axis::Row) && axes.last() == Some(&Axis::Row);
                (around && axes.contains(&Axis::Tree)).then_some(0)
            }
            Operation::Layout(layout) => Some(self.layout(*layout)),
            Operation::State(v, annotation) => {
                let id = find(v)?;
                let is_row = nest.axis(id) == Axis::Row;
                match annotation {
                    Annotation::Parallel | Annotation::Cache => {
                        (is_row && nest.node(id).parent.is_none()).then_some(0)
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

    fn layout(&self, layout: Layout) -> usize {
        let place = LAYOUTS.iter().position(|known| *known == layout).unwrap_or(LAYOUTS.len());
        let is_deep = self.model.is_some_and(|model| model.max_depth() > COMPLETE);
        let is_oblivious = self
            .model
            .is_some_and(|model| !model.oblivious.is_empty() && model.oblivious.iter().all(|tree| *tree));
        let suits = match layout {
            Layout::Oblivious => is_oblivious,
            // Deep trees are not completed.
            Layout::Quantized | Layout::Levels => !is_deep,
            _ => true,
        };
        if suits { place } else { LAYOUTS.len() + place }
    }

    /// Forms of an operation that differ in a number, the one that fits the machine first.
    pub(crate) fn order(&self, forms: &mut [Operation], nest: &NestBuilder) {
        let Some(wanted) = forms.first().and_then(|form| self.number(form, nest)) else { return };
        let number = |form: &Operation| match form {
            Operation::Tile(.., size) => size.as_int(),
            Operation::State(_, Annotation::Vectorize(number) | Annotation::Interleave(number)) => {
                number.map(i64::from)
            }
            _ => None,
        };
        // Those at hand stay in their order.
        forms.sort_by_key(|form| number(form) != Some(wanted));
    }

    /// The number that fits the machine, if that is known.
    fn number(&self, form: &Operation, nest: &NestBuilder) -> Option<i64> {
        let bits = self.vector_bits.filter(|_| self.is_cpu)?;
        match form {
            Operation::Tile(v, ..) => {
                let id = first(nest, v)?;
                let is_whole = nest.axis(id) == Axis::Row && nest.trips(id).is_none();
                is_whole.then_some(BLOCKS[usize::from(bits < LONG)])
            }
            Operation::State(v, Annotation::Vectorize(_)) => {
                let id = first(nest, v)?;
                let lanes = bits / 8 / self.element_bytes(nest.axis(id));
                let most = nest.trips(id).unwrap_or(i64::MAX).max(1);
                let fits = if i64::from(lanes) <= most { i64::from(lanes) } else { 1 << most.ilog2() };
                Some(fits)
            }
            Operation::State(v, Annotation::Interleave(_)) => self.vectors(first(nest, v)?, nest),
            _ => None,
        }
    }

    /// Vectors that the iterations of a loop fill, if it is said how long they are.
    fn vectors(&self, id: LoopId, nest: &NestBuilder) -> Option<i64> {
        let name = nest.name(id);
        let stated = self.whole.loops().into_iter().find(|on| self.whole.name(*on) == name)?;
        let lanes = self.whole.annotations(stated).vectorize?;
        let vectors = nest.trips(id)? / i64::from(lanes.max(1));
        (vectors > 1).then(|| vectors.min(MOST_VECTORS))
    }

    /// Bytes of what the lanes of a vector compare: bins of rows, or values and node numbers.
    fn element_bytes(&self, axis: Axis) -> u32 {
        let nest = self.whole;
        let is_coded =
            |stated: &Annotation| matches!(stated, Annotation::Layout(layout) if layout.is_coded());
        let on_loops =
            nest.loops().iter().any(|id| nest.node(*id).annotations.iter().any(|(a, _)| is_coded(a)));
        let on_bins = on_loops || nest.layout().is_some_and(Layout::is_coded);
        match (axis, on_bins) {
            (Axis::Row, true) => self.model.map_or(1, |model| model.bin_bytes.max(1)),
            _ => 4,
        }
    }
}

fn first(nest: &NestBuilder, v: &Select) -> Option<LoopId> {
    nest.select(sched_lang::lineage::DirectiveIndex(0), 0, v).ok()?.first().copied()
}
