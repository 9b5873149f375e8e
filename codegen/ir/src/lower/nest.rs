//! Loops, cases, row copies and prefetches.

use super::scope::{CachedRows, InScope, Kernel, Results};
use crate::lir::{Address, Bin, BufferId, Build, Builder, Cmp, Ty, Value};
use crate::mir::{CacheRows, CacheTrees, Iter, Limit, Loop, Mode, Stmt, Var, Window};

impl Build for Kernel<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

impl Kernel<'_> {
    pub(super) fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let sums = self.results == Results::Margins;
        match stmt {
            Stmt::Loop(this) => self.nest_loop(this),
            Stmt::Walks(walks) => self.walks(walks),
            Stmt::Case(var, arms) => self.case(*var, arms),
            Stmt::CacheRows(cache) => self.cache_rows(cache),
            Stmt::CacheTrees(cache) => self.cache_trees(cache),
            Stmt::Private(private) if sums => self.private(private),
            Stmt::Private(private) => self.block(&private.body),
            Stmt::Zero(id, var) if sums => self.zero(*id, *var),
            Stmt::ZeroAll(id) if sums => self.zero_all(*id),
            Stmt::Fold(fold) if sums => self.fold(fold),
            Stmt::Zero(..) | Stmt::ZeroAll(_) | Stmt::Fold(_) => {}
        }
    }

    fn nest_loop(&mut self, this: &Loop) {
        let var = this.iter.var;
        match this.mode {
            Mode::Serial => {
                let (lo, hi) = (self.b.int(this.iter.start), self.stop(&this.iter));
                self.for_loop((lo, hi, this.iter.step), &[], |k, value, _| {
                    k.with_var(var, InScope { value, iteration: None }, |k| k.block(&this.body));
                    Vec::new()
                });
            }
            Mode::Parallel => {
                let trip = self.trip(&this.iter);
                self.parallel(trip, |k, iteration| {
                    let offset = k.b.mul_int(iteration, this.iter.step);
                    let value = k.b.add_int(offset, this.iter.start);
                    let bound = InScope { value, iteration: Some(iteration) };
                    k.with_var(var, bound, |k| k.block(&this.body));
                });
            }
            Mode::Unrolled => self.unrolled(this),
        }
    }

    /// Each iteration as code of its own, guarded where the end is not a constant.
    fn unrolled(&mut self, this: &Loop) {
        let stop = self.stop(&this.iter);
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
                k.with_var(this.iter.var, InScope { value, iteration: None }, |k| k.block(&this.body));
            });
            at += this.iter.step;
        }
    }

    /// How many iterations a loop has; not below zero.
    pub(super) fn trip(&mut self, iter: &Iter) -> Value {
        let stop = self.stop(iter);
        let length = self.b.add_int(stop, iter.step - 1 - iter.start);
        let step = self.b.int(iter.step);
        let trip = self.b.bin(Bin::IDiv, length, step);
        let zero = self.b.int(0);
        self.b.bin(Bin::Max, trip, zero)
    }

    /// The body of the variable's value. The last one needs no test: the values are all there are.
    fn case(&mut self, var: Var, arms: &[(i64, Vec<Stmt>)]) {
        let Some(((value, body), rest)) = arms.split_first() else { return };
        if rest.is_empty() {
            return self.block(body);
        }
        let current = self.value(var);
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

    /// The first row of a window and how many rows it has, at least 0.
    pub(super) fn window(&mut self, window: &Window) -> (Value, Value) {
        let base = self.affine(&window.base);
        let first = self.b.add_int(base, window.low);
        let mut end = self.b.rows();
        if let Some(high) = window.high {
            let high = self.b.add_int(base, high);
            end = self.b.min(high, end);
        }
        let count = self.b.sub(end, first);
        let zero = self.b.int(0);
        (first, self.b.bin(Bin::Max, count, zero))
    }

    /// Copies the window's rows to local memory and uses the copy inside.
    fn cache_rows(&mut self, cache: &CacheRows) {
        let (first_row, count) = self.window(&cache.window);
        let features = self.features();
        let (input, rows) = (self.input, self.rows);
        let elements = self.b.mul_int(count, features);
        let bytes = self.b.mul_int(elements, i64::from(input.bytes()));
        self.alloc("cached_rows", input, bytes, |k, buffer| {
            let zero = k.b.int(0);
            let from = k.b.mul_int(first_row, features);
            k.for_loop((zero, elements, 1), &[], |k, index, _| {
                let source = k.b.add(from, index);
                let value = k.b.load(Ty::of(input), address(rows, source, input.bytes()));
                k.b.store(address(buffer, index, input.bytes()), value);
                Vec::new()
            });
            k.caches.insert(cache.id, CachedRows { buffer, first_row });
            k.block(&cache.body);
            k.caches.remove(&cache.id);
        });
    }

    fn cache_trees(&mut self, cache: &CacheTrees) {
        let from = self.affine(&cache.from);
        let all = self.b.int(self.lowering.hir.forest.trees.len() as i64);
        let end = self.b.add_int(from, cache.count);
        let end = self.b.min(end, all);
        for layout in &cache.layouts {
            let (lowering, buffers) = (self.lowering, self.tables[layout].clone());
            self.for_loop((from, end, 1), &[], |k, tree, _| {
                lowering.layouts[layout].representation.prefetch(&mut k.b, &buffers, tree);
                Vec::new()
            });
        }
    }
}

/// An element of a dense buffer.
pub(super) fn address(buffer: BufferId, index: Value, stride: u32) -> Address {
    Address { buffer, index, stride, offset: 0 }
}
