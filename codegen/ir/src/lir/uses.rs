//! Values and buffers that statements use.

use super::{Address, BufferId, Op, Stmt, Value};
use std::collections::BTreeSet;

/// Used values and buffers, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Values that some operation uses as a whole, and not only lane by lane.
    pub whole_values: BTreeSet<Value>,
    /// Vectors from which some operation extracts a single lane.
    in_lanes: BTreeSet<Value>,
    /// Buffers that are read or written.
    pub buffers: BTreeSet<BufferId>,
}

impl Uses {
    /// The uses of a block, with all blocks inside it.
    pub fn of(body: &[Stmt]) -> Uses {
        let mut uses = Uses::default();
        Stmt::visit_all(body, |stmt| uses.stmt(stmt));
        uses
    }

    /// All used values.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.whole_values.union(&self.in_lanes).copied()
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(_, op) => self.op(op),
            Stmt::Store(at, value) | Stmt::AtomicAdd(at, value) => {
                self.address(at);
                self.whole_values.insert(*value);
            }
            Stmt::StoreMasked(at, value, mask) => {
                self.address(at);
                self.whole_values.extend([*value, *mask]);
            }
            Stmt::Prefetch(at) => self.address(at),
            Stmt::For(stmt) => {
                self.whole_values.extend([stmt.lo, stmt.hi]);
                self.whole_values.extend(stmt.carried.iter().flat_map(|c| [c.first, c.next]));
            }
            Stmt::While(stmt) => {
                self.whole_values.insert(stmt.cond);
                self.whole_values.extend(stmt.carried.iter().flat_map(|c| [c.first, c.next]));
            }
            Stmt::If(stmt) => {
                self.whole_values.insert(stmt.cond);
                self.whole_values.extend(stmt.joined.iter().flat_map(|j| [j.then, j.otherwise]));
            }
            Stmt::Parallel(stmt) => {
                self.whole_values.insert(stmt.trip);
            }
            Stmt::Alloc(stmt) => {
                self.whole_values.insert(stmt.bytes);
            }
            Stmt::Launch(stmt) => {
                self.whole_values.extend(stmt.grid);
            }
            Stmt::Ticket(ticket) => {
                self.address(&ticket.counter);
                self.buffers.insert(ticket.shared);
            }
            Stmt::Barrier | Stmt::Fence => {}
            Stmt::Product(product) => {
                self.whole_values.extend(product.values());
                self.buffers.extend(product.elements().map(|of| of.buffer));
            }
        }
    }

    fn op(&mut self, op: &Op) {
        let of = if matches!(op, Op::Extract(..)) { &mut self.in_lanes } else { &mut self.whole_values };
        op.for_each_value(|value| {
            of.insert(value);
        });
        self.buffers.extend(op.buffer());
    }

    fn address(&mut self, at: &Address) {
        self.whole_values.insert(at.index);
        self.buffers.insert(at.buffer);
    }
}
