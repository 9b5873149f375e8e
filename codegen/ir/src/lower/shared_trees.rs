//! Cooperative copies of trees in shared memory, and prefetches of trees.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::launch::block_threads;
use super::shared::limit_shared_bytes;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Alloc, Bin, Block, BufferId, BuildStmts, Op, Scalar, Space, Stmt, Ty, Value};
use crate::mir::{CacheTrees, ShareTrees};
use crate::repr::{CopiedTrees, RecordSpan, TreeRecords};
use crate::rows::BlockThreads;

/// Records of a table with their copy.
#[derive(Clone, Copy)]
struct TreeCopy {
    span: RecordSpan,
    /// Buffer of the table.
    from: BufferId,
    to: BufferId,
    /// First record and exclusive end of the copied records. With [`TreeRecords::SideBySide`], those in the
    /// first row of the table.
    first: Value,
    end: Value,
    /// Number of trees for which the copy has room.
    capacity: i64,
}

impl EmitStmt for ShareTrees {
    /// Copies trees for the statements inside, and emits the statements. Tables that the statements do not
    /// read are not copied.
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
            let stored = plan.storages.get(&storage).and_then(|stored| stored.layout.spans(count as u64));
            let (Some(spans), Some(tables)) = (stored, ports.tables.get(&storage)) else { continue };
            let (mut places, mut listed) = (Vec::new(), None);
            for span in spans {
                let (first, end) = match span.records {
                    TreeRecords::Listed(start) => *listed.get_or_insert_with(|| {
                        (start.load(&mut k.b, tables, from), start.load(&mut k.b, tables, end))
                    }),
                    TreeRecords::Equal(each) => (k.b.mul_int(from, each), k.b.mul_int(end, each)),
                    TreeRecords::SideBySide { .. } => (from, end),
                };
                let name = format!("shared_{}", span.name);
                let to = k.b.buffer(&name, Space::Shared, span.element);
                copies.push(TreeCopy { span, from: tables[span.table], to, first, end, capacity: count });
                places.push((span.table, to));
            }
            let trees = CopiedTrees {
                first_tree: from,
                first_record: listed.map(|(first, _)| first),
                capacity: count,
            };
            tables_of.push((storage, tables.with_copies(places, trees)));
        }
        let (body, ()) = k.with_trees(tables_of, |k| k.nested(|k| self.body.emit(k)));
        copies.retain(|copy| reads(&body, copy.to));
        let block_threads = block_threads(k, self.threads);
        allocate(k, &copies, |k| {
            copies.iter().for_each(|copy| copy.fill(k, &block_threads));
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
    let bytes = i64::try_from(copy.span.most_bytes).unwrap_or(i64::MAX);
    let bytes = k.b.int(limit_shared_bytes(bytes));
    k.b.count_shared_bytes(Space::Shared, bytes);
    let (body, ()) = k.nested(|k| allocate(k, others, body));
    k.b.append(vec![Stmt::Alloc(Box::new(Alloc { buffer: copy.to, bytes, body }))]);
}

impl TreeCopy {
    /// Copies the records in pieces. A thread copies one piece at once.
    fn fill(&self, k: &mut KernelBuilder, block_threads: &BlockThreads) {
        let TreeCopy { span, from, to, first, end, .. } = *self;
        let piece = |k: &mut KernelBuilder, record: Value| {
            let bytes = k.b.mul_int(record, span.stride.into());
            let size = k.b.int(span.piece_bytes.into());
            k.b.bin(Bin::IDiv, bytes, size)
        };
        let (first, end) = (piece(k, first), piece(k, end));
        let own = k.b.sub(end, first);
        let mut count = match span.records {
            TreeRecords::SideBySide { rows, .. } => k.b.int(rows * self.row_pieces()),
            TreeRecords::Listed(_) | TreeRecords::Equal(_) => own,
        };
        if seeded(Fault::CopyStopsShort) {
            count = k.b.add_int(count, -1);
        }
        let ty = match span.piece_bytes {
            1 => Ty::of(Scalar::I8),
            2 => Ty::of(Scalar::I16),
            4 => Ty::of(Scalar::I32),
            bytes => Ty::vector(Scalar::I32, (bytes / 4) as u16),
        };
        k.for_loop((block_threads.thread, count, block_threads.count), &[], |k, number, _| {
            let source = match span.records {
                TreeRecords::SideBySide { trees, .. } => self.source_in_row(k, number, (first, own), trees),
                TreeRecords::Listed(_) | TreeRecords::Equal(_) => k.b.add(first, number),
            };
            let at = |buffer, index| Address { buffer, index, stride: span.piece_bytes, offset: 0 };
            let value = k.b.load(ty, at(from, source));
            k.b.store(at(to, number), value);
            Vec::new()
        });
    }

    /// Number of pieces, the units that a thread copies at once, of the records of one node of each tree.
    fn row_pieces(&self) -> i64 {
        self.capacity * i64::from(self.span.stride / self.span.piece_bytes)
    }

    /// Number of the table's piece that piece `number` of the copy takes. Rows of the copy have
    /// `self.capacity` trees, rows of the table `trees` trees. Of each row, `own` pieces from `first` on are
    /// copied; a row with room for more repeats the last piece.
    fn source_in_row(
        &self,
        k: &mut KernelBuilder,
        number: Value,
        (first, own): (Value, Value),
        trees: i64,
    ) -> Value {
        let pieces = k.b.int(self.row_pieces());
        let row = k.b.bin(Bin::IDiv, number, pieces);
        let before = k.b.mul(row, pieces);
        let within = k.b.sub(number, before);
        let last = k.b.add_int(own, -1);
        let within = k.b.min(within, last);
        let row = k.b.mul_int(row, trees * i64::from(self.span.stride / self.span.piece_bytes));
        let start = k.b.add(row, first);
        k.b.add(start, within)
    }
}

impl EmitStmt for CacheTrees {
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
