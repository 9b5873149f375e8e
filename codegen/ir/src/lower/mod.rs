//! MIR to LIR: loops get bounds, walks get code, targets get addresses.
//!
//! [`Lowering`] holds what all kernels share: the representations of the layouts in use and the model's tables. Each
//! kernel is lowered by a `scope::Kernel` of its own, which owns the LIR builder.

mod coding;
mod hops;
mod jam;
mod leaf;
mod nest;
mod output;
mod scope;
mod sums;
mod turn;
mod walk;

use crate::error::{Budget, CompileError};
use crate::hir::Hir;
use crate::lir::{Build, Builder, Cmp, Function, Kernel, Scalar, Space, Table};
use crate::mir::{Affine, Mir, Rows, Storage, Walkers, for_each_walk};
use crate::repr::{Columns, Representation, Request, narrowest, of_layout, scalar, write_float, write_int};
use sched_forest::{Forest, Target};
use sched_nest::Layout;
use std::collections::BTreeMap;

pub use output::{class_columns, interface, value_columns};

/// Tables that exist once, whatever the layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    /// The base values, one per margin. Absent with a single margin, whose base is a constant in the code.
    base: Option<u32>,
    /// The margin of each tree. Absent with a single margin or vector leaves.
    targets: Option<(u32, Scalar)>,
    /// The vectors of all leaves, if some tree has vector leaves.
    vectors: Option<u32>,
    /// The model's number of each tree in the order of the nest, for leaf numbers.
    sources: Option<u32>,
    /// What rows are coded by: thresholds as trees and in order, features, and the columns of these in blocks that are
    /// turned before.
    codes: Option<[u32; 4]>,
}

/// A storage in use: its code, and the numbers of its tables.
struct Used {
    representation: Box<dyn Representation + Send + Sync>,
    tables: Vec<u32>,
}

/// What the kernels of one model under one schedule share.
pub struct Lowering<'a> {
    hir: &'a Hir,
    mir: &'a Mir,
    storages: BTreeMap<Storage, Used>,
    shared: Shared,
    /// The columns of copies of rows, if there are such copies, and the table of their pieces.
    columns: Option<(Columns, u32)>,
    /// See [`Budget::few_rows`].
    few_rows: bool,
    /// Rows of the largest call or run, if there is a limit: code that more would need is left out.
    most_rows: Option<i64>,
}

impl<'a> Lowering<'a> {
    /// Chooses representations and builds the tables, which join those that other schedules have made already. `mir` is
    /// the legalised nest, for calls of at most `most_rows` rows where another schedule serves larger ones.
    ///
    /// # Errors
    ///
    /// When a layout cannot hold the forest, or the tables would exceed the budget; nothing is built then.
    pub fn new(
        hir: &'a Hir,
        (mir, most_rows): (&'a Mir, Option<i64>),
        kernels: &[Kernel],
        budget: &Budget,
        tables: &mut Vec<Table>,
    ) -> Result<Lowering<'a>, CompileError> {
        let leaf_numbers = kernels.contains(&Kernel::Leaf) && most_rows.is_none();
        let mut storages = BTreeMap::new();
        let mut footprint: u64 = tables.iter().map(|table| table.bytes.len() as u64).sum();
        footprint = footprint.saturating_add(hir.codes.as_ref().map_or(0, |codes| codes.footprint()));
        let by_storage = trees_by_storage(hir, mir);
        let columns = columns_of(hir, &by_storage);
        for (storage, used) in by_storage {
            let columns = columns.as_ref().filter(|_| storage.columns);
            let (forest, depths, used) = (&hir.forest, hir.depths.as_slice(), used.as_slice());
            let (tiles, codes) = (hir.tiles.as_ref(), hir.codes.as_ref());
            let request = Request { forest, depths, tiles, used, leaf_numbers, columns, codes };
            let representation = of_layout(storage, &request)?;
            footprint = footprint.saturating_add(representation.footprint());
            if footprint > budget.tables {
                return Err(over_budget(storage.layout, footprint, budget));
            }
            storages.insert(storage, Used { representation, tables: Vec::new() });
        }
        for used in storages.values_mut() {
            let encoded = used.representation.encode(&hir.forest);
            used.tables = encoded.into_iter().map(|table| add_table(tables, table)).collect();
        }
        let shared = shared_tables((hir, mir), columns.as_ref(), leaf_numbers, tables);
        let columns = columns.map(|columns| {
            let bytes = ints(columns.pieces().iter().copied(), Scalar::I32);
            (columns, add_table(tables, Table { name: "columns".to_string(), bytes }))
        });
        let most_rows = [mir.rows_per_run, most_rows].into_iter().flatten().min();
        Ok(Lowering { hir, mir, storages, shared, columns, few_rows: budget.few_rows, most_rows })
    }

    fn emit(&self, b: &mut Builder, results: scope::Results) {
        // The builder moves into the kernel and back.
        let taken = std::mem::replace(b, Builder::new(""));
        *b = scope::Kernel::new(self, taken, results).run(self.mir);
    }
}

/// The function of one kernel under schedules for calls of different sizes: each but the last is for at most so many
/// rows. Leaves are found under the last one, whatever the size. None if the model has no such output.
pub fn kernel(kernel: Kernel, choices: &[(Option<i64>, Lowering)]) -> Option<Function> {
    let last = choices.last()?;
    let (name, choices, results) = match kernel {
        Kernel::Raw => ("raw", choices, scope::Results::Margins),
        // The numbers of leaves are large tables, and small calls for them rare.
        Kernel::Leaf => ("leaf", std::slice::from_ref(last), scope::Results::LeafNumbers),
        Kernel::Value => return output::values(&last.1.hir.forest),
        Kernel::Class => return output::classes(&last.1.hir.forest),
    };
    let mut b = Builder::new(name);
    choose(&mut b, choices, results);
    Some(b.finish())
}

/// The first schedule whose calls are large enough.
fn choose(b: &mut Builder, choices: &[(Option<i64>, Lowering)], results: scope::Results) {
    match choices {
        [(Some(most), lowering), rest @ ..] if !rest.is_empty() => {
            let (rows, most) = (b.rows(), b.int(*most));
            let few = b.cmp(Cmp::Le, rows, most);
            b.if_else(
                few,
                |b| {
                    lowering.emit(b, results);
                    Vec::new()
                },
                |b| {
                    choose(b, rest, results);
                    Vec::new()
                },
            );
        }
        [(_, lowering), ..] => lowering.emit(b, results),
        [] => {}
    }
}

/// The number of a table among others. One with the same content is the same table.
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

fn over_budget(layout: Layout, footprint: u64, budget: &Budget) -> CompileError {
    CompileError::new(
        CompileError::LAYOUT_BUDGET,
        format!(
            "with representation({}) the model needs {} MiB, above the budget of {} MiB",
            layout.word(),
            footprint >> 20,
            budget.tables >> 20
        ),
        layout.smaller(),
    )
}

/// For each storage in use, which trees are walked in it.
fn trees_by_storage(hir: &Hir, mir: &Mir) -> BTreeMap<Storage, Vec<bool>> {
    let mut used = BTreeMap::new();
    for_each_walk(&mir.body, &Affine::default(), &mut |walks, _| {
        let trees: &mut Vec<bool> =
            used.entry(walks.storage()).or_insert_with(|| vec![false; hir.forest.trees.len()]);
        trees[walks.trees.clone()].fill(true);
    });
    used
}

/// The columns of copies of rows: one set for all, so that a storage serves all of them. Rows that are coded in blocks are
/// such copies first, with the features of all trees.
fn columns_of(hir: &Hir, by_storage: &BTreeMap<Storage, Vec<bool>>) -> Option<Columns> {
    let coded = |storage: &Storage| {
        storage.layout.is_coded() && storage.walkers == Walkers::Vectors && hir.codes.is_some()
    };
    let mut all = vec![false; hir.forest.trees.len()];
    let mut turned = false;
    for (storage, used) in by_storage.iter().filter(|(storage, _)| storage.columns || coded(storage)) {
        all.iter_mut().zip(used).for_each(|(all, this)| *all |= *this || coded(storage));
        turned = true;
    }
    turned.then(|| Columns::new(&hir.forest, &all))
}

fn shared_tables(
    (hir, mir): (&Hir, &Mir),
    columns: Option<&Columns>,
    leaf_numbers: bool,
    tables: &mut Vec<Table>,
) -> Shared {
    let forest = &hir.forest;
    let accumulator = scalar(forest.types.accumulator);
    let mut add = |name: &str, bytes: Vec<u8>| add_table(tables, Table { name: name.to_string(), bytes });
    let several = forest.num_margins > 1;
    let base = several.then(|| add("base", floats(&forest.base, accumulator)));
    let vector_leaves = forest.trees.iter().any(|tree| tree.target == Target::All);
    let targets = (several && !vector_leaves).then(|| {
        let width = narrowest(forest.num_margins as u64).unwrap_or(Scalar::I32);
        let margins = forest.trees.iter().map(|tree| match tree.target {
            Target::One(margin) => margin,
            Target::All => 0,
        });
        (add("targets", ints(margins, width)), width)
    });
    let vectors = vector_leaves.then(|| add("leaf_vectors", floats(&leaf_vectors(forest), accumulator)));
    let sources =
        leaf_numbers.then(|| add("sources", ints(forest.trees.iter().map(|tree| tree.source), Scalar::I32)));
    let codes = hir.codes.as_ref().map(|codes| {
        let turned = codes.features().map(|feature| columns.map_or(0, |columns| columns.column(feature)));
        [
            add("code_thresholds", codes.thresholds()),
            add("ordered_thresholds", if codes_single_rows(mir) { codes.ordered() } else { Vec::new() }),
            add("code_features", ints(codes.features(), Scalar::I32)),
            add("code_columns", ints(turned, Scalar::I32)),
        ]
    });
    Shared { base, targets, vectors, sources, codes }
}

/// Whether rows are coded that do not lie in blocks.
fn codes_single_rows(mir: &Mir) -> bool {
    let mut some = false;
    for_each_walk(&mir.body, &Affine::default(), &mut |walks, _| {
        some |= walks.layout.is_coded() && matches!(walks.rows, Rows::Cached(_));
    });
    some
}

/// All leaves as vectors over the margins. A tree for one margin leaves the others as they are: adding -0.0 changes no
/// number, not even the sign of a zero.
fn leaf_vectors(forest: &Forest) -> Vec<f64> {
    let mut vectors = Vec::new();
    for tree in &forest.trees {
        for leaf in &tree.leaves {
            let first = vectors.len();
            vectors.resize(first + forest.num_margins, -0.0);
            let place = match tree.target {
                Target::One(margin) => first + margin as usize,
                Target::All => first,
            };
            for (to, value) in vectors[place..].iter_mut().zip(&leaf.values) {
                *to = *value;
            }
        }
    }
    vectors
}

fn floats(values: &[f64], element: Scalar) -> Vec<u8> {
    let size = element.bytes() as usize;
    let mut bytes = vec![0; values.len() * size];
    for (at, value) in bytes.chunks_exact_mut(size).zip(values) {
        write_float(at, element, *value);
    }
    bytes
}

fn ints(values: impl Iterator<Item = u32>, width: Scalar) -> Vec<u8> {
    values
        .flat_map(|value| {
            let mut bytes = [0; 8];
            write_int(&mut bytes, width, u64::from(value));
            bytes.into_iter().take(width.bytes() as usize)
        })
        .collect()
}

/// The space of a table.
fn table(number: u32) -> Space {
    Space::Model(number)
}
