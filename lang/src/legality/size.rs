//! How much code a schedule asks for: no schedule may make compilation endless.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Inside, Stated, Step};
use crate::nest::LoopId;

/// Instructions of the intermediate code that a walk takes besides its straight-line hops.
const WALK: u64 = 40;
/// Instructions of one straight-line hop.
const HOP: u64 = 12;
/// Straight-line hops that are counted where the depth of the trees is not known.
const HOPS_UNKNOWN: u32 = 8;
/// Most instructions that a schedule may ask for. LLVM takes about half a minute for so many.
const MOST: u64 = 300_000;
/// So many are worth a warning: they take seconds.
const MANY: u64 = 75_000;

/// The code that a schedule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Walks that are written out, each with code of its own.
    pub walks: u64,
    /// About how many instructions of intermediate code they have together.
    pub instructions: u64,
    /// What multiplies them most, and the loop that it is about.
    cause: Option<(Step, LoopId)>,
}

impl Size {
    /// The size of the code for a nest, as far as numbers of iterations are known.
    pub fn of(builder: &Builder) -> Size {
        let mut size = Size { walks: 0, instructions: 0, cause: None };
        let mut largest = 0;
        let mut stack: Vec<Around> = builder.roots.iter().map(|id| Around::new(*id)).collect();
        while let Some(mut around) = stack.pop() {
            if let Some((factor, step)) = around.enter(builder)
                && factor > largest
            {
                largest = factor;
                size.cause = Some((step, around.id));
            }
            let node = builder.node(around.id);
            if node.inside.is_leaf() {
                size.walks = size.walks.saturating_add(around.copies);
                size.instructions = size.instructions.saturating_add(around.instructions());
            }
            stack.extend(node.inside.children().map(|id| Around { id, ..around }));
        }
        size
    }

    /// The problem with a size above a limit.
    fn illegal(self, problem: Problem) -> Option<Illegal> {
        let (step, id) = self.cause?;
        Some(Illegal::at(step, problem, vec![id]))
    }
}

/// A loop and what the loops around it do to its code.
#[derive(Clone, Copy)]
struct Around {
    id: LoopId,
    /// How often the code is written out.
    copies: u64,
    /// Instructions of the straight-line hops of one walk.
    hops: [u64; 2],
    /// Whether walks are interleaved: what is left of such a loop has code of its own.
    grouped: bool,
}

impl Around {
    fn new(id: LoopId) -> Around {
        Around { id, copies: 1, hops: [0; 2], grouped: false }
    }

    /// Takes in what is said of the loop itself; the largest factor that comes of it, and what said so.
    fn enter(&mut self, builder: &Builder) -> Option<(u64, Step)> {
        let node = builder.node(self.id);
        let mut largest = match (&node.inside, node.specialized_by) {
            (Inside::Cases(cases), Some(by)) => Some((cases.len() as u64, by)),
            _ => None,
        };
        let known = |n: &u32| u64::from(builder.deepest.unwrap_or(HOPS_UNKNOWN).min(*n));
        for (fact, step) in &node.facts {
            let factor = match fact {
                Stated::Unroll if matches!(node.inside, Inside::Seq(_)) => {
                    let trips = builder.trips(self.id).and_then(|trips| u64::try_from(trips).ok());
                    let factor = trips.unwrap_or(1).max(1);
                    self.copies = self.copies.saturating_mul(factor);
                    factor
                }
                Stated::Interleave(_) => {
                    let factor = builder.facts(self.id).interleave.unwrap_or(1).into();
                    self.copies = self.copies.saturating_mul(factor);
                    self.grouped = factor > 1;
                    factor
                }
                Stated::UnrollWalk(n) => {
                    self.hops[0] = known(n) * HOP;
                    known(n)
                }
                // Each of these also tests for a leaf.
                Stated::PeelWalk(n) => {
                    self.hops[1] = known(n) * 2 * HOP;
                    known(n)
                }
                _ => continue,
            };
            if largest.is_none_or(|(most, _)| factor > most) {
                largest = Some((factor, *step));
            }
        }
        largest
    }

    /// About how many instructions all copies of the walk have.
    fn instructions(&self) -> u64 {
        let [straight, tested] = self.hops;
        let walk = (WALK + straight.max(tested)) * if self.grouped { 2 } else { 1 };
        self.copies.saturating_mul(walk)
    }
}

pub(super) fn check(builder: &Builder, problems: &mut Vec<Illegal>) {
    let size @ Size { walks, instructions, .. } = Size::of(builder);
    if instructions > MOST {
        problems.extend(size.illegal(Problem::CodeTooLarge { walks, instructions, limit: MOST }));
    }
}

/// A size that is legal and takes long to compile.
pub(crate) fn large(builder: &Builder) -> Option<Illegal> {
    let size @ Size { walks, instructions, .. } = Size::of(builder);
    let is_large = (MANY + 1..=MOST).contains(&instructions);
    is_large.then(|| size.illegal(Problem::CodeLarge { walks, instructions })).flatten()
}
