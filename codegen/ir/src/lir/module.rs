//! Kernels and tables of a whole model.

use super::{BinTransfer, Function, ProcessorKind, Scalar, Table};
use sched_nest::Variants;
use sched_outputs::{Element, OutputKind};

/// Input and result of a kernel. The entry points of an artefact select kernels by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKind {
    /// From rows to an output that walks compute, or from margins to an output that is computed from these.
    Output(OutputKind),
    /// From rows to predictions, on GPUs: by the launches that compute margins.
    Direct,
    /// From rows to quantized rows, on the host, for a [`BinTransfer`].
    Quantize,
    /// From quantized rows to margins, on GPUs.
    RawOfBins,
    /// From quantized rows to predictions, on GPUs.
    DirectOfBins,
    /// Writes the model's own base values to the margins, on GPUs, for kernels that add to the output.
    Base,
    /// From columns in device memory to rows, on GPUs.
    PackColumns,
}

impl KernelKind {
    /// The kernel from rows to margins. Outputs without walks are computed from its margins.
    pub const RAW: KernelKind = KernelKind::Output(OutputKind::Raw);
}

impl From<OutputKind> for KernelKind {
    fn from(kind: OutputKind) -> KernelKind {
        KernelKind::Output(kind)
    }
}

/// Element types between callers and kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Element type of the rows that walks read.
    pub rows: Scalar,
    /// Element type of sums: of the margins between kernels, and of outputs of [`Element::Sum`].
    pub margins: Scalar,
    /// Element type of outputs of [`Element::Result`].
    pub results: Scalar,
}

impl Interface {
    /// One float type for rows, margins and results.
    pub const fn uniform(scalar: Scalar) -> Interface {
        Interface { rows: scalar, margins: scalar, results: scalar }
    }

    /// Element type of an output that callers get.
    pub const fn output(&self, kind: OutputKind) -> Scalar {
        match kind.element() {
            Element::Result => self.results,
            Element::Sum => self.margins,
            Element::Class => Scalar::F32,
            Element::Leaf => Scalar::I32,
        }
    }

    /// Element types that a kernel reads and writes.
    pub fn of_kernel(&self, kernel: KernelKind) -> (Scalar, Scalar) {
        match kernel {
            KernelKind::RAW => (self.rows, self.margins),
            KernelKind::Output(kind) if kind.finishes_margins() => (self.margins, self.output(kind)),
            KernelKind::Output(kind) => (self.rows, self.output(kind)),
            KernelKind::Direct => (self.rows, self.results),
            KernelKind::Quantize => (self.rows, Scalar::I8),
            KernelKind::RawOfBins => (Scalar::I8, self.margins),
            KernelKind::DirectOfBins => (Scalar::I8, self.results),
            KernelKind::Base => (self.margins, self.margins),
            KernelKind::PackColumns => (Scalar::I8, self.rows),
        }
    }
}

/// A compiled model before machine code: kernels and the tables they read.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The kernels, at most one of each kind.
    pub kernels: Vec<(KernelKind, Function)>,
    /// The model's tables, by the number in [`Space::ModelTable`](super::Space::ModelTable).
    pub tables: Vec<Table>,
    /// Element types between callers and kernels.
    pub types: Interface,
    /// Largest number of rows of a run, if memory or code is limited. Calls of more rows are cut into runs.
    pub rows_per_run: Option<i64>,
    /// Processor of each variant, by number of rows. Leaf indices are computed on that of the last variant.
    pub processors: Variants<ProcessorKind>,
    /// Fewest rows of runs that accept columns, described by [`Space::InputOrder`](super::Space::InputOrder);
    /// `None` if all runs need rows.
    pub least_column_rows: Option<i64>,
    /// Transfer of rows to devices as bins, if the schedule allows it. The module then has the kernels
    /// for it; [`KernelKind::DirectOfBins`] only if it has [`KernelKind::Direct`].
    pub transfer: Option<BinTransfer>,
}

impl Module {
    /// Whether the module has a kernel.
    pub fn has(&self, kernel: KernelKind) -> bool {
        self.kernels.iter().any(|(kind, _)| *kind == kernel)
    }
}
