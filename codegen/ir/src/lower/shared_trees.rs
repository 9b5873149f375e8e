//! Cooperative copies of trees in shared memory.

use super::kernel_builder::KernelBuilder;
use super::shared::most_shared;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Alloc, Block, BufferId, Build, Op, Scalar, Space, Stmt, Ty, Value};
use crate::mir::ShareTrees;
use crate::repr::{Buffers, Span};
use crate::rows::Team;

/// A range of a table with its copy.
#[derive(Clone, Copy)]
struct Copy {
    span: Span,
    /// Buffer of the table.
    from: BufferId,
    to: BufferId,
    /// First record and exclusive end.
    first: Value,
    end: Value,
}

impl KernelBuilder<'_> {
    /// Copies trees for the statements inside, and emits these. Tables that they do not read are not
    /// copied.
    pub(super) fn share_trees(&mut self, share: &ShareTrees) {
        let all = self.b.int(self.ports.lowering.hir.forest.trees.len() as i64);
        let from = self.scope.affine(&mut self.b, &share.trees.from);
        let from = self.b.min(from, all);
        let count = share.trees.count.min(self.ports.lowering.hir.forest.trees.len() as i64);
        let end = self.b.add_int(from, count);
        let end = self.b.min(end, all);
        let (plan, ports) = (self.ports.lowering.plan, self.ports);
        let outer = self.scope.trees.clone();
        let mut copies = Vec::new();
        for storage in plan.storages_of(&share.trees.walks) {
            let stored = plan.storages.get(&storage).and_then(|stored| stored.layout.spans());
            let (Some(spans), Some(tables)) = (stored, ports.tables.get(&storage)) else { continue };
            let first = spans.first(&mut self.b, tables, from);
            let end = spans.first(&mut self.b, tables, end);
            let mut places = Vec::new();
            for span in spans.of(count as u64) {
                let name = format!("shared_{}", span.name);
                let to = self.b.buffer(&name, Space::Shared, span.element);
                copies.push(Copy { span, from: tables[span.table], to, first, end });
                places.push((span.table, to));
            }
            self.scope.trees.insert(storage, Buffers::copied(tables, places, first));
        }
        let (body, ()) = self.nested(|k| k.block(&share.body));
        self.scope.trees = outer;
        copies.retain(|copy| reads(&body, copy.to));
        let team = self.team(share.threads);
        self.around(&copies, |k| {
            copies.iter().for_each(|copy| k.copy_piece(copy, &team));
            if !copies.is_empty() && !seeded(Fault::BarrierDropped) {
                k.b.barrier();
            }
            k.b.append(body);
            if !copies.is_empty() {
                // Later copies may reuse this memory.
                k.b.barrier();
            }
        });
    }

    /// Allocates the memory of copies around `body`.
    fn around(&mut self, copies: &[Copy], body: impl FnOnce(&mut Self)) {
        let Some((copy, others)) = copies.split_first() else { return body(self) };
        let bytes = i64::try_from(copy.span.most).unwrap_or(i64::MAX);
        let bytes = self.b.int(most_shared(bytes));
        let (body, ()) = self.nested(|k| k.around(others, body));
        self.b.append(vec![Stmt::Alloc(Box::new(Alloc { buffer: copy.to, bytes, body }))]);
    }

    fn copy_piece(&mut self, copy: &Copy, team: &Team) {
        let Copy { span, from, to, first, end } = *copy;
        let piece = |k: &mut Self, record: Value| {
            let bytes = k.b.mul_int(record, span.stride.into());
            let size = k.b.int(span.piece.into());
            k.b.bin(crate::lir::Bin::IDiv, bytes, size)
        };
        let (first, end) = (piece(self, first), piece(self, end));
        let mut count = self.b.sub(end, first);
        if seeded(Fault::CopyStopsShort) {
            count = self.b.add_int(count, -1);
        }
        let ty = match span.piece {
            1 => Ty::of(Scalar::I8),
            2 => Ty::of(Scalar::I16),
            4 => Ty::of(Scalar::I32),
            bytes => Ty::vector(Scalar::I32, (bytes / 4) as u16),
        };
        self.for_loop((team.thread, count, team.count), &[], |k, number, _| {
            let source = k.b.add(first, number);
            let at = |buffer, index| Address { buffer, index, stride: span.piece, offset: 0 };
            let value = k.b.load(ty, at(from, source));
            k.b.store(at(to, number), value);
            Vec::new()
        });
    }
}

/// Whether a block of statements reads a buffer.
fn reads(block: &Block, buffer: BufferId) -> bool {
    let mut reads = false;
    Stmt::visit_all(block, |stmt| {
        if let Stmt::Let(_, op) = stmt {
            reads |= Op::buffer(op) == Some(buffer);
        }
    });
    reads
}
