//! Buffers of a kernel outside its own memory: rows, result, and the model's tables. They do not change
//! while the kernel is built.

use super::linear_tables::LinearTables;
use super::lowering::{Lowering, transposed};
use super::output::{OutputFormula, RowPredictions};
use crate::bytes::scalar;
use crate::columns::blocks::RowBlocks;
use crate::columns::code::ColumnCode;
use crate::columns::pools::PoolTables;
use crate::lir::{BinTransfer, BufferId, Builder, ProcessorKind, Scalar, Space, Ty, Value};
use crate::mir::Iter;
use crate::mir::columns::LEAST_SHARED_MEMORY;
use crate::plan::WalkPlan;
use crate::quantize::encode::{self, Quantizer};
use crate::repr::{Buffers, Storage};
use crate::rows::input::InputColumns;
use crate::rows::transpose::Transpose;
use sched_forest::LeafResult;
use std::collections::BTreeMap;

/// The sums that are rounded to single precision after each addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumRounding {
    /// No sum.
    None,
    /// All sums.
    All,
    /// The sums of the margins whose byte in this table is not 0.
    ByMargin(BufferId),
}

/// Results of the walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Sums of leaf values.
    Margins,
    /// Predictions, if each one follows from a single sum.
    Predictions,
    /// Predictions that need all sums of a row. Launches compute them at their end.
    RowPredictions,
    /// Result of each leaf that a row reaches.
    OfTrees(LeafResult),
}

impl Results {
    /// Whether walks add leaf values.
    pub fn are_sums(self) -> bool {
        matches!(self, Results::Margins | Results::Predictions | Results::RowPredictions)
    }
}

/// Bytes of shared memory that a block can have on supported GPUs with little of it.
const SMALL_SHARED_MEMORIES: [u64; 2] = [LEAST_SHARED_MEMORY, 64 << 10];

/// Table of the margin that each tree adds to.
#[derive(Clone, Copy, Debug)]
pub struct TreeMargins {
    /// Buffer of the table.
    pub buffer: BufferId,
    /// Element type of the table.
    pub element: Scalar,
    /// Number of margins.
    pub margins: i64,
    /// Whether a tree's margin is the remainder of its number.
    pub are_in_turn: bool,
}

/// Earlier stages of a kernel's compilation, and the buffers that the kernel declares.
pub struct Ports<'a> {
    /// The earlier stages: HIR, MIR and plan.
    pub lowering: &'a Lowering<'a>,
    /// Results of the walks.
    pub results: Results,
    /// Element type of rows.
    pub input: Scalar,
    /// Element type of margins.
    pub accumulator: Scalar,
    /// Buffer of the rows.
    pub rows: BufferId,
    /// Layout of the input if it is bins; `None` if it is values.
    pub bins: Option<BinTransfer>,
    /// Buffer that says whether the input is rows or columns ([`Space::InputOrder`]), if it may be columns.
    pub order: Option<BufferId>,
    /// Buffer of the results; of the margins, if launches compute predictions from them.
    pub out: BufferId,
    /// Code from margins to predictions, for the end of launches.
    pub row_predictions: Option<RowPredictions<'a>>,
    /// Tables of each storage.
    pub tables: BTreeMap<Storage, Buffers>,
    /// Base values, if there are several margins.
    pub base: Option<BufferId>,
    /// Margin of each tree, if there are several and leaves hold one value.
    pub tree_margins: Option<TreeMargins>,
    /// Vectors of all leaves, if some leaf has one.
    pub vectors: Option<BufferId>,
    /// The sums that are rounded to single precision.
    pub rounding: SumRounding,
    /// Terms of linear leaves, if there are some.
    pub linear: Option<LinearTables<BufferId>>,
    /// Whether linear leaves read the rows of their walks.
    pub linear_leaves_read_walked_rows: bool,
    /// Table of each tree's number in the model's file.
    pub tree_numbers: Option<BufferId>,
    pieces: Option<BufferId>,
    quantizer: Option<encode::QuantizerTables<BufferId>>,
    computed: Option<PoolTables<BufferId>>,
}

impl<'a> Ports<'a> {
    /// Declares the input, the output and the tables of a kernel. Its rows are values, or bins. Margins go to
    /// the memory of `row_predictions`, if given.
    pub fn declare(
        lowering: &'a Lowering<'a>,
        b: &mut Builder,
        (results, row_predictions): (Results, Option<RowPredictions<'a>>),
        bins: Option<BinTransfer>,
    ) -> Ports<'a> {
        let types = lowering.hir.forest.types;
        let (input, accumulator) = (scalar(types.input), scalar(types.accumulator));
        let rows = match bins {
            Some(_) => b.buffer("bins", Space::Input, Scalar::I8),
            None => b.buffer("rows", Space::Input, input),
        };
        let takes_columns = lowering.plan.takes_columns && bins.is_none();
        let order = takes_columns.then(|| b.buffer("order", Space::InputOrder, Scalar::I64));
        let result = match results {
            Results::OfTrees(LeafResult::Index) => Scalar::I32,
            Results::OfTrees(LeafResult::Value) => accumulator,
            Results::Margins | Results::Predictions | Results::RowPredictions => accumulator,
        };
        let out = match &row_predictions {
            Some(predictions) => predictions.margins,
            None => b.buffer("result", Space::Output, result),
        };
        let mut tables = BTreeMap::new();
        for (storage, stored) in &lowering.plan.storages {
            let numbers = lowering.numbers.of_storages.get(storage).into_iter().flatten();
            let declared = stored.layout.schema().names().into_iter().zip(numbers);
            let buffers =
                declared.map(|((name, element), number)| b.buffer(name, Space::ModelTable(*number), element));
            tables.insert(*storage, Buffers::new(buffers.collect()));
        }
        let shared = lowering.numbers.shared;
        let mut table = |name: &str, number: Option<u32>, element| {
            number.map(|n| b.buffer(name, Space::ModelTable(n), element))
        };
        let base = table("base", shared.base, accumulator);
        let tree_margins = shared.tree_margins.and_then(|(n, element)| {
            let are_in_turn = shared.are_in_turn;
            let (buffer, margins) =
                (table("targets", Some(n), element)?, lowering.hir.forest.num_margins as i64);
            Some(TreeMargins { buffer, element, margins, are_in_turn })
        });
        let vectors = table("leaf_vectors", shared.vectors, accumulator);
        let rounding = match table("single_margins", shared.single_margins, Scalar::I8) {
            Some(singles) => SumRounding::ByMargin(singles),
            None if lowering.hir.forest.single_margins.is_empty() => SumRounding::None,
            None => SumRounding::All,
        };
        let tree_numbers = table("sources", shared.tree_numbers, Scalar::I32);
        let pieces = table("feature_pieces", shared.pieces, Scalar::I32);
        let linear = shared.linear.map(|numbers| numbers.declare(b, accumulator));
        let quantizer = lowering
            .hir
            .bins
            .as_deref()
            .zip(shared.quantizer)
            .map(|(bins, numbers)| numbers.declare(b, bins));
        let computed = shared.columns.map(|numbers| numbers.declare(b));
        Ports {
            lowering,
            results,
            input,
            accumulator,
            rows,
            bins,
            order,
            out,
            row_predictions,
            tables,
            base,
            tree_margins,
            vectors,
            rounding,
            linear,
            linear_leaves_read_walked_rows: lowering.hir.linear_leaves_read_walked_rows(),
            tree_numbers,
            pieces,
            quantizer,
            computed,
        }
    }

    /// Whether walks return sums of terms instead of leaves, as for forests of single linear leaves. Kernels
    /// of leaf indices need the leaves.
    pub fn adds_terms(&self, plan: &WalkPlan) -> bool {
        plan.is_dense() && self.results != Results::OfTrees(LeafResult::Index)
    }

    /// Margins per row.
    pub fn margins(&self) -> i64 {
        self.lowering.hir.forest.num_margins as i64
    }

    /// Whether faster code may take `more` bytes of shared memory instead of `least`. A launch that fits a
    /// GPU with little shared memory still fits it then.
    pub fn may_take_shared(&self, least: u64, more: u64) -> bool {
        let limit = self.lowering.hir.nest.shared_memory.unwrap_or(LEAST_SHARED_MEMORY);
        let fits = |limit: &u64| more <= *limit || least > *limit;
        !self.lowering.is_compact && more <= limit && SMALL_SHARED_MEMORIES.iter().all(fits)
    }

    /// Features per row.
    pub fn features(&self) -> i64 {
        self.lowering.hir.row_features() as i64
    }

    /// Values per row that trees test: features, or computed columns.
    pub fn tested_columns(&self) -> i64 {
        self.lowering.hir.forest.num_features as i64
    }

    /// The columns, if they are computed from features.
    pub fn column_code(&self) -> Option<ColumnCode<'a>> {
        let runs = self.lowering.hir.columns.as_deref()?;
        let is_host = self.lowering.processor() == ProcessorKind::Host;
        let register_bytes = is_host.then_some(self.lowering.plan.register_bytes);
        let stages = Some(&*self.lowering.plan.column_stages);
        Some(ColumnCode { runs, pools: self.computed?, register_bytes, stages })
    }

    /// Value to store for a complete sum: the sum, or the prediction that it becomes.
    pub fn result_of_sum(&self, b: &mut Builder, buffer: BufferId, sum: Value) -> Value {
        if self.results != Results::Predictions || buffer != self.out {
            return sum;
        }
        let output = &self.lowering.hir.forest.output;
        let mut formula = OutputFormula { element: self.accumulator, b };
        let margin = formula.apply_steps(&output.raw, sum, 0);
        formula.apply_steps(&output.value, margin, 0)
    }

    /// -0.0, with which a sum starts that has no value yet. It leaves the first summand unchanged, even -0.0.
    pub fn empty_sum(&self, b: &mut Builder) -> Value {
        b.float(Ty::of(self.accumulator), -0.0)
    }

    /// Code that fills transposed blocks, if some copy has blocks.
    pub fn row_blocks(&self) -> Option<RowBlocks<'a>> {
        let Lowering { hir, plan, .. } = *self.lowering;
        let (subset, pieces) = (transposed(hir, plan)?, self.pieces?);
        let (rows, input, features) = (self.rows, self.input, self.features());
        let transpose = Transpose { rows, input, features, subset, pieces };
        Some(RowBlocks { transpose, code: self.column_code() })
    }

    /// The features of a copy that does not hold all features, one by one: their number, and the table of
    /// their numbers.
    pub fn tested_features(&self) -> Option<(i64, BufferId)> {
        let subset = self.lowering.plan.subset.as_ref().filter(|subset| subset.piece_width() == 1)?;
        Some((subset.count() as i64, self.pieces?))
    }

    /// The input as columns, if calls may pass columns.
    pub fn columns(&self) -> Option<InputColumns> {
        self.order.map(|order| InputColumns { values: self.rows, order, element: self.input })
    }

    /// Quantizer of rows, if some copy is quantized.
    pub fn quantizer(&self) -> Option<Quantizer<'a>> {
        let (bins, tables) = (self.lowering.hir.bins.as_deref()?, self.quantizer?);
        let (rows, input, features) = (self.rows, self.input, self.features());
        Some(Quantizer {
            bins,
            tables,
            rows,
            input,
            features,
            blocks: self.row_blocks(),
            code: self.column_code(),
        })
    }

    /// Largest exclusive end of a loop, if it is bounded.
    pub fn largest_end(&self, iter: &Iter) -> Option<i64> {
        let Lowering { mir, max_rows, .. } = self.lowering;
        iter.stops.iter().filter_map(|stop| stop.most(&mir.vars, *max_rows)).min()
    }
}
