//! Data that all kernels of a model share under one schedule: the earlier stages, and the numbers of
//! the model's tables.

use super::linear_tables::LinearTables;
use super::output::OutputTables;
use crate::bytes::{float_table, int_table, narrowest_unsigned, scalar};
use crate::columns::pools::PoolTables;
use crate::hir::Hir;
use crate::lir::{ProcessorKind, Scalar, Table};
use crate::mir::Mir;
use crate::mir::mapped::any_mapped;
use crate::plan::Plan;
use crate::quantize::encode::QuantizerTables;
use crate::repr::Storage;
use crate::rows::features::FeatureSubset;
use sched_forest::{Forest, TreeTarget};
use std::collections::BTreeMap;

/// Numbers of the tables that exist once, independent of layouts.
#[derive(Clone, Copy, Debug)]
pub struct SharedTableNumbers {
    /// Base values, one per margin. Absent with a single margin, whose base is a constant in the code.
    pub base: Option<u32>,
    /// Margin of each tree. Absent with a single margin or vector leaves.
    pub tree_margins: Option<(u32, Scalar)>,
    /// Whether trees add to the margins in turn: a tree's margin is the remainder of its number.
    pub are_in_turn: bool,
    /// Vectors of all leaves, if some tree has vector leaves.
    pub vectors: Option<u32>,
    /// Whether the sum of each margin is rounded to single precision, if that differs between margins.
    pub single_margins: Option<u32>,
    /// Terms of linear leaves, if there are some.
    pub linear: Option<LinearTables<u32>>,
    /// For each tree in the order of the nest, its number in the model's file, for kernels with a result for
    /// each tree.
    pub tree_numbers: Option<u32>,
    /// Search tables for the quantization of rows.
    pub quantizer: Option<QuantizerTables<u32>>,
    /// First feature of each run of adjacent features that a transposed copy loads at once, or each feature
    /// of a shared copy that does not hold all features.
    pub pieces: Option<u32>,
    /// Feature numbers, constants and tables of computed columns, if there are some.
    pub columns: Option<PoolTables<u32>>,
}

/// Numbers of the model's tables under one schedule.
#[derive(Clone, Debug)]
pub struct TableNumbers {
    /// Tables of each storage.
    pub of_storages: BTreeMap<Storage, Vec<u32>>,
    /// Tables that exist once.
    pub shared: SharedTableNumbers,
    /// Tables of the expressions over the margins.
    pub output: OutputTables,
}

impl TableNumbers {
    /// Builds the tables and adds them to those of other schedules.
    pub fn of_tables(hir: &Hir, plan: &Plan, by_tree: bool, tables: &mut Vec<Table>) -> TableNumbers {
        let mut of_storages = BTreeMap::new();
        for (storage, stored) in &plan.storages {
            let encode = || stored.layout.encode(&hir.forest);
            let encoded = match &hir.encodings {
                Some(encodings) => encodings.get_or_encode(&stored.key, encode),
                None => encode().into(),
            };
            let numbers = encoded.iter().map(|table| add_table(tables, table.clone())).collect();
            of_storages.insert(*storage, numbers);
        }
        let shared = shared_tables(hir, plan, by_tree, tables);
        let output = OutputTables::new(&hir.outputs, |table| add_table(tables, table));
        TableNumbers { of_storages, shared, output }
    }
}

/// Input of the kernels of one model under one schedule.
pub struct Lowering<'a> {
    /// The forest and its nest.
    pub hir: &'a Hir,
    /// The legalised nest.
    pub mir: &'a Mir,
    /// Plan of the nest.
    pub plan: &'a Plan,
    /// Numbers of the tables.
    pub numbers: &'a TableNumbers,
    /// Largest number of rows of a call or run, if it is limited. Code for more rows is omitted.
    pub max_rows: Option<i64>,
    /// Whether code takes as little shared memory as it can.
    pub is_compact: bool,
}

impl<'a> Lowering<'a> {
    /// Lowering of the variant for calls of at most `max_rows` rows, or of any number of rows.
    pub fn new(
        hir: &'a Hir,
        mir: &'a Mir,
        plan: &'a Plan,
        numbers: &'a TableNumbers,
        max_rows: Option<i64>,
    ) -> Lowering<'a> {
        let max_rows = [plan.rows_per_run, max_rows].into_iter().flatten().min();
        Lowering { hir, mir, plan, numbers, max_rows, is_compact: false }
    }

    /// This lowering, for code that takes as little shared memory as it can.
    pub fn compact(&self) -> Lowering<'a> {
        Lowering { is_compact: true, ..*self }
    }

    /// Processor that runs the code.
    pub fn processor(&self) -> ProcessorKind {
        if any_mapped(&self.mir.body) { ProcessorKind::Device } else { ProcessorKind::Host }
    }
}

/// Number of a table in the module. Tables with equal content are shared.
fn add_table(tables: &mut Vec<Table>, mut table: Table) -> u32 {
    let name = table.name.clone();
    let mut n = 1;
    if let Some(at) = tables.iter().position(|other| other.bytes == table.bytes) {
        return at as u32;
    }
    while tables.iter().any(|other| other.name == table.name) {
        n += 1;
        table.name = format!("{name}{n}");
    }
    tables.push(table);
    tables.len() as u32 - 1
}

fn shared_tables(hir: &Hir, plan: &Plan, by_tree: bool, tables: &mut Vec<Table>) -> SharedTableNumbers {
    let forest = &hir.forest;
    let accumulator = scalar(forest.types.accumulator);
    let columns = hir.columns.as_ref().map(|columns| columns.tables(|table| add_table(tables, table)));
    let mut add =
        |name: &str, bytes: Vec<u8>| add_table(tables, Table { name: name.to_string(), bytes: bytes.into() });
    let several = forest.num_margins > 1;
    let base = several.then(|| add("base", float_table(&forest.base, accumulator)));
    let vector_leaves = forest.has_leaf_vectors();
    let tree_margins = (several && (!vector_leaves || forest.has_linear_leaves())).then(|| {
        let width = narrowest_unsigned(forest.num_margins as u64).unwrap_or(Scalar::I32);
        let margins = forest.trees.iter().map(|tree| match tree.target {
            TreeTarget::One(margin) => margin.into(),
            TreeTarget::All => 0,
        });
        (add("targets", int_table(margins, width)), width)
    });
    let vectors = vector_leaves.then(|| add("leaf_vectors", float_table(&leaf_vectors(forest), accumulator)));
    let single_margins = forest.single_margins.contains(&false).then(|| {
        let mut bytes: Vec<u64> = forest.single_margins.iter().map(|single| u64::from(*single)).collect();
        // Loads of the flags of all margins have a power of two of lanes.
        bytes.resize(forest.num_margins.next_power_of_two(), 0);
        add("single_margins", int_table(bytes.into_iter(), Scalar::I8))
    });
    let linear = forest.has_linear_leaves().then(|| {
        let subset = plan.subset.as_ref().filter(|_| hir.columns.is_none());
        LinearTables::of(hir, subset).map(|(name, _, bytes)| add(name, bytes))
    });
    let tree_numbers = by_tree
        .then(|| add("sources", int_table(forest.trees.iter().map(|tree| tree.source.into()), Scalar::I32)));
    let quantizer = hir.bins.as_ref().map(|bins| {
        let column = |feature| plan.subset.as_ref().map_or(0, |subset| subset.column(feature));
        QuantizerTables {
            thresholds: add("bin_thresholds", bins.thresholds()),
            ordered_thresholds: add("ordered_thresholds", bins.ordered_thresholds()),
            features: add("bin_features", int_table(bins.features().map(u64::from), Scalar::I32)),
            columns: add(
                "bin_columns",
                int_table(bins.features().map(|feature| column(feature).into()), Scalar::I32),
            ),
        }
    });
    let pieces = transposed(hir, plan).map(|subset| {
        add("feature_pieces", int_table(subset.pieces().iter().map(|first| u64::from(*first)), Scalar::I32))
    });
    SharedTableNumbers {
        base,
        tree_margins,
        are_in_turn: forest.takes_margins_in_turn(),
        vectors,
        single_margins,
        linear,
        tree_numbers,
        quantizer,
        pieces,
        columns,
    }
}

/// The features of the call's rows that transposed blocks are filled from, if some copy has blocks.
pub fn transposed<'a>(hir: &'a Hir, plan: &'a Plan) -> Option<&'a FeatureSubset> {
    let subset = plan.subset.as_ref()?;
    Some(hir.columns.as_ref().map_or(subset, |columns| &columns.inputs))
}

/// All leaves as vectors over the margins. The end is padded, so that vectors with a power of two of lanes
/// stay inside.
fn leaf_vectors(forest: &Forest) -> Vec<f64> {
    let mut vectors = Vec::new();
    for (number, tree) in forest.trees.iter().enumerate() {
        for leaf in 0..tree.leaves.len() {
            vectors.extend((0..forest.num_margins).map(|margin| forest.leaf_constant(number, leaf, margin)));
        }
    }
    let beyond = forest.num_margins.next_power_of_two() - forest.num_margins;
    vectors.resize(vectors.len() + beyond, -0.0);
    vectors
}
