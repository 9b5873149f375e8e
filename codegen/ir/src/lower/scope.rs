//! One kernel under construction: its builder, its buffers, and the values of loop variables in scope.

use super::coding::Coding;
use super::{Lowering, table};
use crate::lir::{BufferId, Builder, Scalar, Space, Value};
use crate::mir::{Affine, Bound, CacheId, Iter, Limit, Mir, PrivateId, Storage, Var};
use crate::repr::scalar;
use std::collections::BTreeMap;

/// What walks produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Sums of leaf values.
    Margins,
    /// The number of each leaf reached.
    LeafNumbers,
}

/// A variable in scope.
#[derive(Clone, Copy, Debug)]
pub struct InScope {
    /// Its value.
    pub value: Value,
    /// The number of the iteration, for loops that own slots.
    pub iteration: Option<Value>,
}

/// A private buffer in scope: `[slots][rows][margins]`.
#[derive(Clone, Copy, Debug)]
pub struct PrivateBuffer {
    /// The buffer.
    pub buffer: BufferId,
    /// Number of slots.
    pub slots: Value,
    /// The first row that it holds.
    pub first_row: Value,
    /// Elements per slot: rows times margins.
    pub slot_size: Value,
}

/// A copy of rows in scope.
#[derive(Clone, Copy, Debug)]
pub struct CachedRows {
    /// The buffer.
    pub buffer: BufferId,
    /// The first row that it holds.
    pub first_row: Value,
    /// Rows per block, if a block lies feature by feature.
    pub blocks: Option<u32>,
    /// What it holds of a row: values of features, or codes.
    pub element: Scalar,
    /// How many of them.
    pub columns: i64,
}

/// Sums of cached rows in scope, in blocks as the rows are.
#[derive(Clone, Copy, Debug)]
pub struct CachedSums {
    /// The buffer.
    pub buffer: BufferId,
    /// The first row that it holds.
    pub first_row: Value,
    /// Rows per block; a block lies margin by margin.
    pub block: u32,
}

/// A kernel under construction.
pub struct Kernel<'a> {
    pub(super) lowering: &'a Lowering<'a>,
    pub(super) b: Builder,
    pub(super) results: Results,
    /// The element of rows.
    pub(super) input: Scalar,
    /// The element of margins.
    pub(super) accumulator: Scalar,
    pub(super) rows: BufferId,
    pub(super) out: BufferId,
    pub(super) tables: BTreeMap<Storage, Vec<BufferId>>,
    pub(super) base: Option<BufferId>,
    pub(super) targets: Option<(BufferId, Scalar)>,
    pub(super) vectors: Option<BufferId>,
    pub(super) sources: Option<BufferId>,
    /// The first feature of each piece of columns.
    pub(super) pieces: Option<BufferId>,
    pub(super) coding: Option<Coding>,
    pub(super) vars: BTreeMap<Var, InScope>,
    pub(super) privates: BTreeMap<PrivateId, PrivateBuffer>,
    pub(super) caches: BTreeMap<CacheId, CachedRows>,
    /// The sums that walks add to instead of the output.
    pub(super) cached_sums: Option<CachedSums>,
}

impl<'a> Kernel<'a> {
    /// A kernel whose statements go where the builder stands, with its input, output and tables declared.
    pub fn new(lowering: &'a Lowering<'a>, mut b: Builder, results: Results) -> Kernel<'a> {
        let types = lowering.hir.forest.types;
        let (input, accumulator) = (scalar(types.input), scalar(types.accumulator));
        let rows = b.buffer("rows", Space::Input, input);
        let result = match results {
            Results::Margins => accumulator,
            Results::LeafNumbers => Scalar::I32,
        };
        let out = b.buffer("result", Space::Output, result);
        let mut tables = BTreeMap::new();
        for (storage, used) in &lowering.storages {
            let declared = used.representation.tables().into_iter().zip(&used.tables);
            let buffers = declared.map(|((name, element), number)| b.buffer(name, table(*number), element));
            tables.insert(*storage, buffers.collect());
        }
        let shared = lowering.shared;
        let base = shared.base.map(|n| b.buffer("base", table(n), accumulator));
        let targets = shared.targets.map(|(n, width)| (b.buffer("targets", table(n), width), width));
        let vectors = shared.vectors.map(|n| b.buffer("leaf_vectors", table(n), accumulator));
        let sources = shared.sources.map(|n| b.buffer("sources", table(n), Scalar::I32));
        let pieces = lowering.columns.as_ref().map(|(_, n)| b.buffer("columns", table(*n), Scalar::I32));
        let codes = lowering.hir.codes.as_deref().zip(shared.codes);
        let coding = codes.map(|(codes, numbers)| Coding::declare(&mut b, codes, numbers));
        Kernel {
            lowering,
            b,
            results,
            input,
            accumulator,
            rows,
            out,
            tables,
            base,
            targets,
            vectors,
            sources,
            pieces,
            coding,
            vars: BTreeMap::new(),
            privates: BTreeMap::new(),
            caches: BTreeMap::new(),
            cached_sums: None,
        }
    }

    /// Margins per row.
    pub(super) fn margins_per_row(&self) -> i64 {
        self.lowering.hir.forest.num_margins as i64
    }

    /// Features per row.
    pub(super) fn features(&self) -> i64 {
        self.lowering.hir.forest.num_features as i64
    }

    /// Columns of a copy of rows that lies feature by feature.
    pub(super) fn columns(&self) -> i64 {
        self.lowering.columns.as_ref().map_or(0, |(columns, _)| columns.count() as i64)
    }

    /// Emits a nest, and gives the builder back. Where leaf numbers are wanted the walks only store where they ended.
    pub fn run(mut self, mir: &Mir) -> Builder {
        if self.results == Results::Margins {
            self.fill_base();
        }
        self.block(&mir.body);
        self.b
    }

    /// The value of a sum of variables.
    pub(super) fn affine(&mut self, sum: &Affine) -> Value {
        let mut total = self.b.int(sum.plus);
        for var in &sum.vars {
            let value = self.value(*var);
            total = self.b.add(total, value);
        }
        total
    }

    /// The value of a variable in scope.
    pub(super) fn value(&mut self, var: Var) -> Value {
        match self.vars.get(&var) {
            Some(bound) => bound.value,
            None => self.b.int(0),
        }
    }

    /// The exclusive end of a loop.
    pub(super) fn stop(&mut self, iter: &Iter) -> Value {
        let mut least = None;
        for bound in &iter.stops {
            let value = self.bound(bound);
            least = Some(match least {
                None => value,
                Some(other) => self.b.min(other, value),
            });
        }
        least.unwrap_or_else(|| self.b.int(iter.start))
    }

    /// The largest exclusive end of a loop, if one is known.
    pub(super) fn most(&self, iter: &Iter) -> Option<i64> {
        let Lowering { mir, most_rows, .. } = self.lowering;
        iter.stops.iter().filter_map(|stop| stop.most(&mir.vars, *most_rows)).min()
    }

    fn bound(&mut self, bound: &Bound) -> Value {
        let limit = match bound.limit {
            Limit::Const(n) => self.b.int(n),
            Limit::Rows => self.b.rows(),
        };
        let less = self.affine(&bound.less);
        self.b.sub(limit, less)
    }

    /// Runs `body` with a variable in scope.
    pub(super) fn with_var(&mut self, var: Var, bound: InScope, body: impl FnOnce(&mut Self)) {
        let outer = self.vars.insert(var, bound);
        body(self);
        match outer {
            Some(outer) => self.vars.insert(var, outer),
            None => self.vars.remove(&var),
        };
    }
}
