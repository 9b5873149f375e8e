//! MIR to LIR: loops get bounds, walks get code, targets get addresses.
//!
//! [`Lowering`] holds what all kernels share: the representations of the layouts in use and the model's tables. Each
//! kernel is lowered by a `scope::Kernel` of its own, which owns the LIR builder.

mod leaf;
mod nest;
mod output;
mod scope;
mod sums;
mod walk;

use crate::error::{Budget, CompileError};
use crate::hir::Hir;
use crate::lir::{Function, Kernel, Scalar, Space, Table};
use crate::mir::Mir;
use crate::repr::{Representation, Request, narrowest, of_layout, scalar, write_float, write_int};
use sched_forest::{Forest, Target};
use sched_lang::nest::Layout;
use std::collections::BTreeMap;

pub use output::{class_columns, value_columns};

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
}

/// A layout in use: its code, and the number of its first table.
struct Used {
    representation: Box<dyn Representation + Send + Sync>,
    first_table: u32,
}

/// What the kernels of one model share.
pub struct Lowering<'a> {
    hir: &'a Hir,
    layouts: BTreeMap<Layout, Used>,
    shared: Shared,
    tables: Vec<Table>,
}

impl<'a> Lowering<'a> {
    /// Chooses representations and builds the tables.
    ///
    /// # Errors
    ///
    /// When a layout cannot hold the forest, or the tables would exceed the budget; nothing is built then.
    pub fn new(hir: &'a Hir, kernels: &[Kernel], budget: &Budget) -> Result<Lowering<'a>, CompileError> {
        let leaf_numbers = kernels.contains(&Kernel::Leaf);
        let mut layouts = BTreeMap::new();
        let mut footprint = 0u64;
        for (layout, used) in trees_by_layout(hir) {
            let request = Request { forest: &hir.forest, depths: &hir.depths, used: &used, leaf_numbers };
            let representation = of_layout(layout, &request)?;
            footprint = footprint.saturating_add(representation.footprint());
            if footprint > budget.tables {
                return Err(over_budget(layout, footprint, budget));
            }
            layouts.insert(layout, Used { representation, first_table: 0 });
        }
        let mut tables = Vec::new();
        for used in layouts.values_mut() {
            used.first_table = tables.len() as u32;
            tables.extend(used.representation.encode(&hir.forest));
        }
        let shared = shared_tables(&hir.forest, leaf_numbers, &mut tables);
        Ok(Lowering { hir, layouts, shared, tables })
    }

    /// The function of one kernel. `mir` is the legalised nest; the leaf kernel uses it with leaf numbers as results.
    pub fn kernel(&self, kernel: Kernel, mir: &Mir) -> Option<Function> {
        let forest = &self.hir.forest;
        match kernel {
            Kernel::Raw => Some(scope::Kernel::new(self, "raw", scope::Results::Margins).margins(mir)),
            Kernel::Leaf => Some(scope::Kernel::new(self, "leaf", scope::Results::LeafNumbers).leaves(mir)),
            Kernel::Value => output::values(forest),
            Kernel::Class => output::classes(forest),
        }
    }

    /// The model's tables.
    pub fn into_tables(self) -> Vec<Table> {
        self.tables
    }
}

fn over_budget(layout: Layout, footprint: u64, budget: &Budget) -> CompileError {
    let name = format!("{layout:?}").to_lowercase();
    let help = match layout {
        Layout::Array => "use representation(sparse), which stores only nodes that exist",
        Layout::Levels => "use representation(array) or representation(sparse)",
        Layout::Sparse => "unroll fewer hops with unrollWalk, which pads trees, or split the model",
    };
    CompileError::new(
        CompileError::LAYOUT_BUDGET,
        format!(
            "with representation({name}) the model needs {} MiB, above the budget of {} MiB",
            footprint >> 20,
            budget.tables >> 20
        ),
        help,
    )
}

/// For each layout in use, which trees are walked in it.
fn trees_by_layout(hir: &Hir) -> BTreeMap<Layout, Vec<bool>> {
    let mut used = BTreeMap::new();
    for site in hir.sites.values() {
        let trees: &mut Vec<bool> =
            used.entry(site.layout).or_insert_with(|| vec![false; hir.forest.trees.len()]);
        trees[site.trees.clone()].fill(true);
    }
    used
}

fn shared_tables(forest: &Forest, leaf_numbers: bool, tables: &mut Vec<Table>) -> Shared {
    let accumulator = scalar(forest.types.accumulator);
    let mut add = |name: &str, bytes: Vec<u8>| {
        tables.push(Table { name: name.to_string(), bytes });
        tables.len() as u32 - 1
    };
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
    Shared { base, targets, vectors, sources }
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
