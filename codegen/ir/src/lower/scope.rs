//! One kernel under construction: its builder, its buffers, and the values of loop variables in scope.

use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::lir::{BufferId, Builder, Scalar, Space, Value};
use crate::mir::{Affine, Bound, CacheId, Iter, Limit, Mir, PrivateId, Var};
use crate::quantize::encode::{self, Quantizer};
use crate::repr::Storage;
use crate::rows::transpose::Transpose;
use std::collections::BTreeMap;
use std::rc::Rc;

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
    /// What it holds of a row: values of features, or bins.
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

/// The buffers of the tables of each storage.
pub type Tables = BTreeMap<Storage, Vec<BufferId>>;

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
    pub(super) tables: Rc<Tables>,
    pub(super) base: Option<BufferId>,
    pub(super) targets: Option<(BufferId, Scalar)>,
    pub(super) vectors: Option<BufferId>,
    pub(super) sources: Option<BufferId>,
    /// The first feature of each piece of columns.
    pub(super) pieces: Option<BufferId>,
    pub(super) quantizer: Option<encode::Tables<BufferId>>,
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
        for (storage, stored) in &lowering.plan.storages {
            let numbers = lowering.numbers.of_storages.get(storage).into_iter().flatten();
            let declared = stored.layout.representation().schema().names().into_iter().zip(numbers);
            let buffers =
                declared.map(|((name, element), number)| b.buffer(name, Space::Model(*number), element));
            tables.insert(*storage, buffers.collect());
        }
        let shared = lowering.numbers.shared;
        let mut shared_table = |name: &str, number: Option<u32>, element| {
            number.map(|n| b.buffer(name, Space::Model(n), element))
        };
        let base = shared_table("base", shared.base, accumulator);
        let targets =
            shared.targets.and_then(|(n, width)| Some((shared_table("targets", Some(n), width)?, width)));
        let vectors = shared_table("leaf_vectors", shared.vectors, accumulator);
        let sources = shared_table("sources", shared.sources, Scalar::I32);
        let pieces = shared_table("columns", shared.pieces, Scalar::I32);
        let bins = lowering.hir.bins.as_deref().zip(shared.quantizer);
        let quantizer = bins.map(|(bins, numbers)| numbers.declare(&mut b, bins));
        Kernel {
            lowering,
            b,
            results,
            input,
            accumulator,
            rows,
            out,
            tables: Rc::new(tables),
            base,
            targets,
            vectors,
            sources,
            pieces,
            quantizer,
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

    /// How rows are transposed, if some copy is.
    pub(super) fn transpose(&self) -> Option<Transpose<'a>> {
        let (subset, pieces) = (self.lowering.plan.subset.as_ref()?, self.pieces?);
        let (rows, input, features) = (self.rows, self.input, self.features());
        Some(Transpose { rows, input, features, subset, pieces })
    }

    /// How rows are quantized, if some are.
    pub(super) fn quantizer(&self) -> Option<Quantizer<'a>> {
        let (bins, tables) = (self.lowering.hir.bins.as_deref()?, self.quantizer?);
        let (rows, input, features) = (self.rows, self.input, self.features());
        Some(Quantizer { bins, tables, rows, input, features, transpose: self.transpose() })
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
