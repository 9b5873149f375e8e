//! Loops, cases, row copies and prefetches.

use super::kernel_builder::KernelBuilder;
use super::row_copy::CopyFill;
use super::row_source::RowCopy;
use super::scope::InScope;
use crate::lir::{Bin, Build, Cmp, Task};
use crate::mir::{CacheRows, CacheTrees, Limit, Loop, Mode, Stmt, Var};
use crate::quantize::encode::TAIL;
use crate::rows::{CopiedRows, RowPlacement};

impl KernelBuilder<'_> {
    /// Emits statements. Kernels without sums skip the statements that set, keep or fold sums.
    pub(super) fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let sums = self.ports.results.are_sums();
        match stmt {
            Stmt::Loop(this) => self.for_loop_of(this.iter.var, |k| k.nest_loop(this)),
            Stmt::Walks(walks) => self.for_loop_of(walks.iter.var, |k| k.walks(walks)),
            Stmt::Case(var, arms) => self.case(*var, arms),
            Stmt::CacheRows(cache) => match (cache.shared, cache.window.high) {
                (Some(threads), Some(high)) => self.share_rows(cache, threads, high - cache.window.low),
                _ => self.cache_rows(cache),
            },
            Stmt::CacheTrees(cache) => self.cache_trees(cache),
            Stmt::ShareTrees(copy) if sums => self.share_trees(copy),
            Stmt::ShareTrees(copy) => self.block(&copy.body),
            Stmt::Base(window) if sums => self.doing(Task::Sums, |k| k.fill_base(window)),
            Stmt::Launch(launch) => self.device_code(launch),
            Stmt::When(guards, body) => self.guarded(guards, |k| k.block(body)),
            Stmt::ThreadSums(thread) if sums => self.thread_sums(thread),
            Stmt::ThreadSums(thread) => self.block(&thread.body),
            Stmt::Private(private) if sums => self.private(private),
            Stmt::Private(private) => self.block(&private.body),
            Stmt::Zero(id, var) if sums => self.doing(Task::Sums, |k| k.zero(*id, *var)),
            Stmt::ZeroAll(id) if sums => self.doing(Task::Sums, |k| k.zero_all(*id)),
            Stmt::Fold(fold) if sums => self.doing(Task::Sums, |k| k.fold(fold)),
            Stmt::Base(_) | Stmt::Zero(..) | Stmt::ZeroAll(_) | Stmt::Fold(_) => {}
        }
    }

    fn nest_loop(&mut self, this: &Loop) {
        let var = this.iter.var;
        match this.mode {
            Mode::Serial => self.serial(this),
            Mode::UnrollAndJam => match self.tree_loop(this) {
                Some(trees) => self.unroll_and_jam(trees),
                None => self.serial(this),
            },
            Mode::Parallel => {
                let trip = self.scope.trip(&mut self.b, &this.iter);
                self.parallel(trip, |k, iteration| {
                    let offset = k.b.mul_int(iteration, this.iter.step);
                    let value = k.b.add_int(offset, this.iter.start);
                    let bound = InScope { value, iteration: Some(iteration) };
                    k.with_var(var, bound, |k| k.block(&this.body));
                });
            }
            Mode::Unrolled => self.unrolled(this),
            Mode::Mapped(mapping) => self.mapped(this, mapping),
        }
    }

    fn serial(&mut self, this: &Loop) {
        let (lo, hi) = (self.b.int(this.iter.start), self.scope.stop(&mut self.b, &this.iter));
        self.for_loop((lo, hi, this.iter.step), &[], |k, value, _| {
            k.with_var(this.iter.var, InScope::value(value), |k| k.block(&this.body));
            Vec::new()
        });
    }

    /// Emits each iteration as code of its own, guarded if the end is not a constant.
    fn unrolled(&mut self, this: &Loop) {
        let stop = self.scope.stop(&mut self.b, &this.iter);
        let constant = |stop: &crate::mir::Bound| match stop.limit {
            Limit::Const(n) => Some(n - stop.less.plus),
            Limit::Rows => None,
        };
        let end = this.iter.stops.iter().filter_map(constant).min().unwrap_or(this.iter.start);
        let mut at = this.iter.start;
        while at < end {
            let value = self.b.int(at);
            let runs = self.b.cmp(Cmp::Lt, value, stop);
            self.when(runs, |k| {
                k.with_var(this.iter.var, InScope::value(value), |k| k.block(&this.body));
            });
            at += this.iter.step;
        }
    }

    /// Emits the body for the variable's value. The last value needs no test, since one of them holds.
    /// Many values are tested by halves first, to limit nesting and the number of tests.
    fn case(&mut self, var: Var, arms: &[(i64, Vec<Stmt>)]) {
        const FEW: usize = 8;
        if arms.len() > FEW
            && let (low, high) = arms.split_at(arms.len() / 2)
            && let Some((first, _)) = high.first()
        {
            let current = self.scope.value(&mut self.b, var);
            let first = self.b.int(*first);
            let is_low = self.b.cmp(Cmp::Lt, current, first);
            let half = |half: &[(i64, Vec<Stmt>)], k: &mut Self| {
                k.case(var, half);
                Vec::new()
            };
            self.if_else(is_low, |k| half(low, k), |k| half(high, k));
            return;
        }
        let Some(((value, body), rest)) = arms.split_first() else { return };
        if rest.is_empty() {
            return self.block(body);
        }
        let current = self.scope.value(&mut self.b, var);
        let this = self.b.int(*value);
        let is_this = self.b.cmp(Cmp::Eq, current, this);
        self.if_else(
            is_this,
            |k| {
                k.block(body);
                Vec::new()
            },
            |k| {
                k.case(var, rest);
                Vec::new()
            },
        );
    }

    /// Copies the window's rows to local memory, and emits the body with the copy.
    fn cache_rows(&mut self, cache: &CacheRows) {
        let window = self.scope.window(&mut self.b, &cache.window);
        let (first_row, count) = (window.first, window.count);
        let plan = self.ports.lowering.plan.copies.get(&cache.id).copied().unwrap_or_default();
        let quantizer = self.ports.quantizer().filter(|_| cache.quantized);
        let transpose = self.ports.transpose().filter(|_| plan.blocks.is_some());
        let (element, columns) = match (&quantizer, &transpose) {
            (Some(quantizer), _) => (quantizer.bins.element(), i64::from(quantizer.bins.columns())),
            (None, Some(transpose)) => (self.ports.input, transpose.columns()),
            (None, None) => (self.ports.input, self.ports.features()),
        };
        let mut held = count;
        if let Some(width) = plan.blocks {
            // Whole blocks, so that no vector reaches beyond the copy.
            let more = self.b.add_int(count, i64::from(width) - 1);
            let width = self.b.int(i64::from(width));
            let blocks = self.b.bin(Bin::IDiv, more, width);
            held = self.b.mul(blocks, width);
        }
        let elements = self.b.mul_int(held, columns);
        let mut bytes = self.b.mul_int(elements, i64::from(element.bytes()));
        if quantizer.is_some() {
            bytes = self.b.add_int(bytes, TAIL);
        }
        let name = if quantizer.is_some() { "quantized_rows" } else { "cached_rows" };
        let rows = CopiedRows { first: first_row, count, held };
        self.alloc(name, element, bytes, |k, buffer| {
            let copying = CopyFill { quantizer, transpose, blocks: plan.blocks, buffer, rows };
            k.doing(Task::Copies, |k| k.fill_copy(&copying, elements));
            let (blocks, places) = (plan.blocks, RowPlacement::IN_ORDER);
            let copy = RowCopy { buffer, first_row, blocks, element, columns, single_block: false, places };
            k.scope.copies.insert(cache.id, copy);
            match plan.blocks {
                Some(block) if plan.sums && k.ports.results.are_sums() => {
                    k.cache_sums(rows, block, |k| k.block(&cache.body));
                }
                _ => k.block(&cache.body),
            }
            k.scope.copies.remove(&cache.id);
        });
    }

    fn cache_trees(&mut self, cache: &CacheTrees) {
        let from = self.scope.affine(&mut self.b, &cache.from);
        let all = self.b.int(self.ports.lowering.hir.forest.trees.len() as i64);
        let end = self.b.add_int(from, cache.count);
        let end = self.b.min(end, all);
        let (plan, tables) = (self.ports.lowering.plan, &self.ports.tables);
        for storage in plan.storages_of(&cache.walks) {
            let (Some(stored), Some(buffers)) = (plan.storages.get(&storage), tables.get(&storage)) else {
                continue;
            };
            let layout = &*stored.layout;
            self.b.for_loop((from, end, 1), &[], |b, tree, _| {
                layout.prefetch(b, buffers, tree);
                Vec::new()
            });
        }
    }
}
