//! Size of a schedule's code. It is limited, so that compilation ends.

use crate::illegal::{CodeSize, Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, LoopBody, NestBuilder};
use sched_nest::LoopId;

/// Intermediate instructions of a walk without its straight-line steps.
const WALK_INSTRUCTIONS: u64 = 40;
/// Instructions of one straight-line step.
const STEP_INSTRUCTIONS: u64 = 12;
/// Assumed straight-line steps if the depth of the trees is unknown.
const ASSUMED_STEPS: u32 = 8;
/// Loops of an interleaved leaf loop, whose remainders have separate code.
const INTERLEAVED_LOOPS: u64 = 4;
/// Divisor of the square of the number of loops. LLVM takes time for each instruction, and about a sixth of
/// it for each pair of loops.
const LOOP_PAIRS_DIVISOR: u64 = 6;
/// Largest work of a schedule, in instructions. LLVM takes up to half a minute for it.
const MAX_WORK: u64 = 400_000;
/// Work, in instructions, from which there is a warning. LLVM takes some seconds for it.
const SLOW_WORK: u64 = 100_000;

impl CodeSize {
    /// Work of compilation, in instructions.
    fn work(self) -> u64 {
        self.instructions.saturating_add(self.loops.saturating_mul(self.loops) / LOOP_PAIRS_DIVISOR)
    }
}

pub(super) fn check(builder: &NestBuilder, problems: &mut Vec<Illegal>) {
    let (size, cause) = measure(builder);
    if let Some((step, id)) = cause.filter(|_| size.work() > MAX_WORK) {
        problems.push(Illegal::at(step, Problem::CodeTooLarge { size }, vec![id]));
    }
}

/// A remark about a legal size that compiles slowly.
pub(crate) fn large_code(builder: &NestBuilder) -> Option<Illegal> {
    let (size, cause) = measure(builder);
    let (step, id) = cause.filter(|_| (SLOW_WORK + 1..=MAX_WORK).contains(&size.work()))?;
    Some(Illegal::at(step, Problem::CodeLarge { size }, vec![id]))
}

/// Whether a nest compiles slowly, or is too large.
pub(crate) fn is_large_code(builder: &NestBuilder) -> bool {
    measure(builder).0.work() > SLOW_WORK
}

/// Size of a nest's code, as far as numbers of iterations are known, and the directive and loop that multiply
/// it most.
fn measure(builder: &NestBuilder) -> (CodeSize, Option<(DirectiveIndex, LoopId)>) {
    let mut size = CodeSize::default();
    let mut largest: Option<(u64, DirectiveIndex, LoopId)> = None;
    let mut stack: Vec<LoopFactors> = builder.tree().roots().iter().map(|id| LoopFactors::new(*id)).collect();
    while let Some(mut around) = stack.pop() {
        let id = around.id;
        let outside = around.copies;
        if let Some((factor, step)) = around.enter(builder)
            && largest.is_none_or(|(most, ..)| factor > most)
        {
            largest = Some((factor, step, id));
        }
        if around.copies == outside {
            size.loops = size.loops.saturating_add(outside);
        }
        if builder.tree().inside(id).is_leaf() {
            size.walks = size.walks.saturating_add(around.walks());
            size.instructions = size.instructions.saturating_add(around.instructions());
            size.loops = size.loops.saturating_add(around.loops_of_walks(builder.deepest()));
        }
        stack.extend(builder.tree().inside(id).children().map(|id| LoopFactors { id, ..around }));
    }
    (size, largest.map(|(_, step, id)| (step, id)))
}

/// A loop with the factors of the loops around it.
#[derive(Clone, Copy)]
struct LoopFactors {
    id: LoopId,
    /// Number of copies of the code.
    copies: u64,
    /// Interleaved walks in each copy.
    group: u64,
    /// Whether remainders have another copy of the code, by `unrollAndJam`.
    unroll_and_jam: bool,
    /// Straight-line steps of a walk, by `unrollWalk` and by `peelWalk`. The latter count as if all had leaf
    /// tests.
    steps: [u64; 2],
}

impl LoopFactors {
    fn new(id: LoopId) -> LoopFactors {
        LoopFactors { id, copies: 1, group: 1, unroll_and_jam: false, steps: [0; 2] }
    }

    /// Adds the annotations of the loop itself. Returns the largest factor of the code and its directive.
    fn enter(&mut self, builder: &NestBuilder) -> Option<(u64, DirectiveIndex)> {
        let node = builder.node(self.id);
        let mut largest = match (builder.tree().inside(self.id), node.specialized_by) {
            (LoopBody::Cases(cases), Some(by)) => Some((cases.len() as u64, by)),
            _ => None,
        };
        for (annotation, step) in &node.annotations {
            let Some(factor) = self.take(annotation, builder) else { continue };
            if largest.is_none_or(|(most, _)| factor > most) {
                largest = Some((factor, *step));
            }
        }
        largest
    }

    /// Adds an annotation. Returns the factor by which it multiplies the code, if it does.
    fn take(&mut self, annotation: &Annotation, builder: &NestBuilder) -> Option<u64> {
        let known = |n: u32| u64::from(builder.deepest().unwrap_or(ASSUMED_STEPS).min(n));
        let seq = matches!(builder.tree().inside(self.id), LoopBody::Seq(_));
        Some(match annotation {
            Annotation::Unroll if seq => {
                let trips = builder.node(self.id).trips().and_then(|trips| u64::try_from(trips).ok());
                let factor = trips.unwrap_or(1).max(1);
                self.copies = self.copies.saturating_mul(factor);
                factor
            }
            Annotation::Interleave(_) => {
                self.group = builder.node(self.id).effective_annotations().interleave.unwrap_or(1).into();
                self.group
            }
            Annotation::UnrollWalk(n) => {
                self.steps[0] = known(*n);
                self.steps[0]
            }
            Annotation::PeelWalk(n) => {
                self.steps[1] = known(*n);
                self.steps[1]
            }
            Annotation::UnrollAndJam => {
                self.unroll_and_jam = true;
                2
            }
            _ => return None,
        })
    }

    fn walks(&self) -> u64 {
        self.copies.saturating_mul(self.group)
    }

    /// Estimated instructions of all copies of the walk. Steps of `peelWalk` count twice, and so does code
    /// with a separate remainder.
    fn instructions(&self) -> u64 {
        let [straight, tested] = self.steps;
        let walk = WALK_INSTRUCTIONS + STEP_INSTRUCTIONS * straight.max(2 * tested);
        let walk = if self.group > 1 { 2 * walk } else { walk };
        self.walks().saturating_mul(if self.unroll_and_jam { 2 * walk } else { walk })
    }

    /// Estimated number of loops that step to the leaf; 0 if the straight-line steps reach all leaves.
    fn loops_of_walks(&self, deepest: Option<u32>) -> u64 {
        let [straight, tested] = self.steps;
        let is_closed = deepest.is_some_and(|deepest| straight.max(tested) >= deepest.into());
        let each = if self.group > 1 { INTERLEAVED_LOOPS } else { 1 };
        if is_closed { 0 } else { self.copies.saturating_mul(each) }
    }
}
