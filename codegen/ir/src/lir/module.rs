//! What LIR is of a whole model.

use super::{BinTransfer, Function, Place, RowColumns, Scalar, Table};
use sched_nest::Variants;

/// Which job a kernel does; the entry points of an artefact pick by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKind {
    /// Rows to margins.
    Raw,
    /// Margins to predictions.
    Value,
    /// Margins to class numbers.
    Class,
    /// Rows to leaf indices.
    Leaf,
    /// Rows to what the leaf of each tree adds.
    Tree,
    /// Rows to predictions, on devices: margins are finished where they would be stored.
    Direct,
    /// Rows to bins, on the host, for a [`BinTransfer`].
    Quantize,
    /// Bins to margins, on devices.
    RawOfBins,
    /// Bins to predictions, on devices.
    DirectOfBins,
}

/// The element types of what callers and kernels hand each other. Class numbers are `f32`, leaf indices
/// `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Of the rows that [`KernelKind::Raw`], [`KernelKind::Leaf`] and [`KernelKind::Tree`] read.
    pub rows: Scalar,
    /// Of the margins that [`KernelKind::Raw`] writes and [`KernelKind::Value`] and [`KernelKind::Class`] read, and of what
    /// [`KernelKind::Tree`] writes.
    pub margins: Scalar,
    /// Of the predictions that [`KernelKind::Value`] writes, and of all that callers get of margins.
    pub results: Scalar,
}

impl Interface {
    /// One float type for everything.
    pub const fn all(scalar: Scalar) -> Interface {
        Interface { rows: scalar, margins: scalar, results: scalar }
    }

    /// What a kernel reads and what it writes.
    pub fn of(&self, kernel: KernelKind) -> (Scalar, Scalar) {
        match kernel {
            KernelKind::Raw => (self.rows, self.margins),
            KernelKind::Value => (self.margins, self.results),
            KernelKind::Class => (self.margins, Scalar::F32),
            KernelKind::Leaf => (self.rows, Scalar::I32),
            KernelKind::Tree => (self.rows, self.margins),
            KernelKind::Direct => (self.rows, self.results),
            KernelKind::Quantize => (self.rows, Scalar::I8),
            KernelKind::RawOfBins => (Scalar::I8, self.margins),
            KernelKind::DirectOfBins => (Scalar::I8, self.results),
        }
    }
}

/// A compiled model before machine code: kernels and the tables they read.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The kernels, at most one of each kind.
    pub kernels: Vec<(KernelKind, Function)>,
    /// The model's tables, by the number in [`Space::Model`](super::Space::Model).
    pub tables: Vec<Table>,
    /// What the kernels read and write.
    pub types: Interface,
    /// A call must be cut into runs of at most this many rows: there is no memory, or no code, for more.
    pub rows_per_run: Option<i64>,
    /// Where runs of so many rows take place. Leaves are told apart where the variant for the largest runs is.
    pub places: Variants<Place>,
    /// The columns that kernels read in place of a model's features, if these are not they.
    pub columns: Option<RowColumns>,
    /// Runs of so many rows and more may be handed columns, as [`Space::Order`](super::Space::Order) says; if there is none,
    /// all are handed rows.
    pub columns_from: Option<i64>,
    /// Whether rows of the host travel to devices as bins. All three kernels for that are there, but
    /// [`KernelKind::DirectOfBins`] only where [`KernelKind::Direct`] is.
    pub transfer: Option<BinTransfer>,
}
