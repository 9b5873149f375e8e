//! Kernels and tables of a whole model.

use super::{BinTransfer, Function, ProcessorKind, Scalar, Table};
use sched_nest::Variants;

/// Function that a kernel computes; the entry points of an artefact select kernels by it.
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
    /// Rows to leaf values, one per tree.
    Tree,
    /// Rows to predictions, on GPUs: margins are transformed before they are stored.
    Direct,
    /// Rows to quantized rows, on the host, for a [`BinTransfer`].
    Quantize,
    /// Quantized rows to margins, on GPUs.
    RawOfBins,
    /// Quantized rows to predictions, on GPUs.
    DirectOfBins,
}

/// Element types between callers and kernels. Class numbers are `f32`, leaf indices `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Element of the rows that [`KernelKind::Raw`], [`KernelKind::Leaf`] and [`KernelKind::Tree`]
    /// read.
    pub rows: Scalar,
    /// Element of the margins that [`KernelKind::Raw`] writes and [`KernelKind::Value`] and
    /// [`KernelKind::Class`] read, and of the leaf values that [`KernelKind::Tree`] writes.
    pub margins: Scalar,
    /// Element of the predictions that [`KernelKind::Value`] writes, and of all margins that callers
    /// get.
    pub results: Scalar,
}

impl Interface {
    /// One float type for everything.
    pub const fn all(scalar: Scalar) -> Interface {
        Interface { rows: scalar, margins: scalar, results: scalar }
    }

    /// Elements that a kernel reads and writes.
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
    /// Element types between callers and kernels.
    pub types: Interface,
    /// Most rows of a run, to which memory or code is limited. Longer calls are cut into runs.
    pub rows_per_run: Option<i64>,
    /// Processor for runs by number of rows. Leaf indices are computed where the variant for the
    /// largest runs is.
    pub places: Variants<ProcessorKind>,
    /// Fewest rows of runs that accept columns, described by [`Space::Order`](super::Space::Order);
    /// `None` if all runs need rows.
    pub columns_from: Option<i64>,
    /// Transfer of rows to devices as bins, if the schedule allows it. The module then has the kernels
    /// for it; [`KernelKind::DirectOfBins`] only if it has [`KernelKind::Direct`].
    pub transfer: Option<BinTransfer>,
}
