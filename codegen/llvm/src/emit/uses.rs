//! What statements use.

use sched_ir::lir::{Address, Block, BufferId, Op, Stmt, Value};
use std::collections::BTreeSet;

/// Values and buffers that are used, in a fixed order.
#[derive(Default)]
pub(super) struct Uses {
    /// Values that are used otherwise than lane by lane.
    pub(super) whole: BTreeSet<Value>,
    /// Values of which some lanes are used.
    in_lanes: BTreeSet<Value>,
    pub(super) buffers: BTreeSet<BufferId>,
    /// Whether anything that was loaded is to be forgotten.
    pub(super) forgets: bool,
}

impl Uses {
    /// Of some statements, with all that is inside them. A worklist, so that deep nests cost no stack.
    pub(super) fn of(body: &Block) -> Uses {
        let mut uses = Uses::default();
        let mut left = vec![body];
        while let Some(block) = left.pop() {
            block.iter().for_each(|stmt| uses.stmt(stmt, &mut left));
        }
        uses
    }

    /// All values that are used.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.whole.union(&self.in_lanes).copied()
    }

    fn stmt<'a>(&mut self, stmt: &'a Stmt, left: &mut Vec<&'a Block>) {
        match stmt {
            Stmt::Let(_, op) => self.op(op),
            Stmt::Store(at, value) | Stmt::AtomicAdd(at, value) => {
                self.address(at);
                self.whole.insert(*value);
            }
            Stmt::StoreMasked(at, value, mask) => {
                self.address(at);
                self.whole.extend([*value, *mask]);
            }
            Stmt::Prefetch(at) => self.address(at),
            Stmt::Forget => self.forgets = true,
            Stmt::For(stmt) => {
                self.whole.extend([stmt.lo, stmt.hi]);
                self.whole.extend(stmt.carried.iter().flat_map(|c| [c.first, c.next]));
                left.push(&stmt.body);
            }
            Stmt::While(stmt) => {
                self.whole.insert(stmt.cond);
                self.whole.extend(stmt.carried.iter().flat_map(|c| [c.first, c.next]));
                left.extend([&stmt.test, &stmt.body]);
            }
            Stmt::If(stmt) => {
                self.whole.insert(stmt.cond);
                self.whole.extend(stmt.joined.iter().flat_map(|j| [j.then, j.otherwise]));
                left.extend([&stmt.then, &stmt.otherwise]);
            }
            Stmt::Parallel(stmt) => {
                self.whole.insert(stmt.trip);
                left.push(&stmt.body);
            }
            Stmt::Alloc(stmt) => {
                self.whole.insert(stmt.bytes);
                left.push(&stmt.body);
            }
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Int(_) | Op::Float(_) | Op::Rows | Op::Lanes => {}
            Op::Bin(_, a, b)
            | Op::Cmp(_, a, b)
            | Op::Lookup(a, b)
            | Op::Concat(a, b)
            | Op::Child(a, b)
            | Op::Alternate(a, b, ..) => self.whole.extend([*a, *b]),
            Op::Select(cond, a, b) => self.whole.extend([*cond, *a, *b]),
            Op::Cast(_, value)
            | Op::Math(_, value)
            | Op::Splat(value)
            | Op::Word(value, _)
            | Op::Cut(value)
            | Op::Slide(value, _)
            | Op::Any(value)
            | Op::Ones(value)
            | Op::MaskBits(value) => {
                self.whole.insert(*value);
            }
            Op::Extract(value, _) => {
                self.in_lanes.insert(*value);
            }
            Op::Load(at) => self.address(at),
            Op::LoadMasked(at, mask) => {
                self.address(at);
                self.whole.insert(*mask);
            }
            Op::Gather(gather) => {
                self.whole.extend([gather.base, gather.index].into_iter().chain(gather.mask));
                self.buffers.insert(gather.buffer);
            }
        }
    }

    fn address(&mut self, at: &Address) {
        self.whole.insert(at.index);
        self.buffers.insert(at.buffer);
    }
}
