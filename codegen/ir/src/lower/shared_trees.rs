//! Cooperative copies of trees in shared memory, and prefetches of trees.

use super::kernel_builder::{Emit, KernelBuilder};
use super::launch::team;
use super::shared::most_shared;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Alloc, Bin, Block, BufferId, Build, Op, Scalar, Space, Stmt, Ty, Value};
use crate::mir::{CacheTrees, ShareTrees};
use crate::repr::{Buffers, Span};
use crate::rows::Team;

/// A range of a table with its copy.
#[derive(Clone, Copy)]
struct TreeCopy {
    span: Span,
    /// Buffer of the table.
    from: BufferId,
    to: BufferId,
    /// First record and exclusive end.
    first: Value,
    end: Value,
}

impl Emit for ShareTrees {
    /// Copies trees for the statements inside, and emits these. Tables that they do not read are not copied.
    fn emit(&self, k: &mut KernelBuilder) {
        let (plan, ports) = (k.ports.lowering.plan, k.ports);
        let trees = ports.lowering.hir.forest.trees.len() as i64;
        let all = k.b.int(trees);
        let from = k.affine(&self.trees.from);
        let from = k.b.min(from, all);
        let count = self.trees.count.min(trees);
        let end = k.b.add_int(from, count);
        let end = k.b.min(end, all);
        let (mut copies, mut tables_of) = (Vec::new(), Vec::new());
        for storage in plan.storages_of(&self.trees.walks) {
            let stored = plan.storages.get(&storage).and_then(|stored| stored.layout.spans());
            let (Some(spans), Some(tables)) = (stored, ports.tables.get(&storage)) else { continue };
            let first = spans.first(&mut k.b, tables, from);
            let end = spans.first(&mut k.b, tables, end);
            let mut places = Vec::new();
            for span in spans.of(count as u64) {
                let name = format!("shared_{}", span.name);
                let to = k.b.buffer(&name, Space::Shared, span.element);
                copies.push(TreeCopy { span, from: tables[span.table], to, first, end });
                places.push((span.table, to));
            }
            tables_of.push((storage, Buffers::copied(tables, places, first)));
        }
        let (body, ()) = k.with_trees(tables_of, |k| k.nested(|k| self.body.emit(k)));
        copies.retain(|copy| reads(&body, copy.to));
        let team = team(k, self.threads);
        allocate(k, &copies, |k| {
            copies.iter().for_each(|copy| copy.fill(k, &team));
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
}

/// Allocates the memory of copies around `body`.
fn allocate<'a>(k: &mut KernelBuilder<'a>, copies: &[TreeCopy], body: impl FnOnce(&mut KernelBuilder<'a>)) {
    let Some((copy, others)) = copies.split_first() else { return body(k) };
    let bytes = i64::try_from(copy.span.most).unwrap_or(i64::MAX);
    let bytes = k.b.int(most_shared(bytes));
    let (body, ()) = k.nested(|k| allocate(k, others, body));
    k.b.append(vec![Stmt::Alloc(Box::new(Alloc { buffer: copy.to, bytes, body }))]);
}

impl TreeCopy {
    /// Copies the range piece by piece.
    fn fill(&self, k: &mut KernelBuilder, team: &Team) {
        let TreeCopy { span, from, to, first, end } = *self;
        let piece = |k: &mut KernelBuilder, record: Value| {
            let bytes = k.b.mul_int(record, span.stride.into());
            let size = k.b.int(span.piece.into());
            k.b.bin(Bin::IDiv, bytes, size)
        };
        let (first, end) = (piece(k, first), piece(k, end));
        let mut count = k.b.sub(end, first);
        if seeded(Fault::CopyStopsShort) {
            count = k.b.add_int(count, -1);
        }
        let ty = match span.piece {
            1 => Ty::of(Scalar::I8),
            2 => Ty::of(Scalar::I16),
            4 => Ty::of(Scalar::I32),
            bytes => Ty::vector(Scalar::I32, (bytes / 4) as u16),
        };
        k.for_loop((team.thread, count, team.count), &[], |k, number, _| {
            let source = k.b.add(first, number);
            let at = |buffer, index| Address { buffer, index, stride: span.piece, offset: 0 };
            let value = k.b.load(ty, at(from, source));
            k.b.store(at(to, number), value);
            Vec::new()
        });
    }
}

impl Emit for CacheTrees {
    /// Emits loops that prefetch `count` trees, fewer at the end of the forest.
    fn emit(&self, k: &mut KernelBuilder) {
        let from = k.affine(&self.from);
        let all = k.b.int(k.ports.lowering.hir.forest.trees.len() as i64);
        let end = k.b.add_int(from, self.count);
        let end = k.b.min(end, all);
        let (plan, tables) = (k.ports.lowering.plan, &k.ports.tables);
        for storage in plan.storages_of(&self.walks) {
            let (Some(stored), Some(buffers)) = (plan.storages.get(&storage), tables.get(&storage)) else {
                continue;
            };
            let layout = &*stored.layout;
            k.b.for_loop((from, end, 1), &[], |b, tree, _| {
                layout.prefetch(b, buffers, tree);
                Vec::new()
            });
        }
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
