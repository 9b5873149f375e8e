//! Numbers and texts that the entry points of a compiled model return.

use crate::header::{HeaderInfo, TakenRows};
use crate::runtime::{self, Dtype};
use sched_ir::fault::{Fault, seeded};
use sched_ir::lir::{Interface, KernelKind, Module, Scalar};
use std::ffi::{c_char, c_void};
use std::mem;

/// Numbers and texts of a model, besides its kernels and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryInfo {
    /// Columns of a row.
    pub num_features: i32,
    /// Columns of the raw output.
    pub num_margins: i32,
    /// Columns of the value output.
    pub num_values: i32,
    /// Columns of the leaf output.
    pub num_trees: i32,
    /// Type of the rows that the trainer's program reads. Kernels for narrower rows refuse wider ones, which
    /// they would have to round.
    pub own_rows: Dtype,
    /// Estimated time of one row, in nanoseconds. The runtime compares it with the cost of waking a thread.
    pub ns_per_row: f64,
    /// JSON text about the model and the compiler, without the character NUL.
    pub info: String,
    /// Names of the features; empty if the model has no names.
    pub feature_names: Vec<String>,
    /// For each feature, the names of its categories with their codes; empty if the model has no such names.
    pub categories: Vec<Vec<(String, f64)>>,
    /// A value that stands for missing values, besides NaN.
    pub missing: Option<f64>,
    /// Initial values of the margins, for kernels that add to their output.
    pub base: Option<Vec<f64>>,
    /// JSON text about the object that was compiled, for the package that compiled it: the content of the
    /// section [`OBJECT_SECTION`]. No function of the library returns it. Empty: no section.
    pub object: String,
}

/// Name of the section with [`EntryInfo::object`].
pub const OBJECT_SECTION: &str = ".schedc.object";

/// Addresses of a model's data.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    /// The model's buffers.
    pub tables: *const *const c_void,
    /// JSON text about the model, which ends with NUL.
    pub info: *const c_char,
    /// Initial values of the margins; null if kernels set them.
    pub base: *const c_void,
}

impl EntryInfo {
    /// Numbers of the model's C header.
    pub fn for_header(&self, module: &Module) -> HeaderInfo {
        let has = |wanted| module.kernels.iter().any(|(kind, _)| *kind == wanted);
        HeaderInfo {
            num_features: self.num_features,
            num_margins: self.num_margins,
            num_values: if has(KernelKind::Value) { self.num_values } else { self.num_margins },
            num_trees: if has(KernelKind::Leaf) { self.num_trees } else { 0 },
            num_tree_values: if has(KernelKind::Tree) { self.num_trees } else { 0 },
            has_classes: has(KernelKind::Class),
            has_categories: self.categories.iter().any(|names| !names.is_empty()),
            types: module.types,
            rows: self.taken_rows(module.types),
        }
    }

    fn taken_rows(&self, types: Interface) -> TakenRows {
        match (types.rows, self.own_rows) {
            (Scalar::F32, Dtype::F64) => TakenRows::Narrow,
            _ => TakenRows::Converted,
        }
    }

    /// Makes the runtime's description of the model.
    pub(crate) fn model(
        &self,
        module: &Module,
        kernel: impl Fn(KernelKind) -> Option<runtime::KernelFn>,
        Addresses { tables, info, base }: Addresses,
        cpu_needs: u64,
        gpu: *const runtime::GpuDescriptor,
    ) -> runtime::ModelDescriptor {
        runtime::ModelDescriptor {
            size: runtime::MODEL_SIZE,
            num_features: self.num_features,
            num_margins: self.num_margins,
            num_values: self.num_values,
            num_trees: self.num_trees,
            row_type: dtype(packed(module.types)),
            margin_type: dtype(module.types.margins),
            result_type: dtype(module.types.results),
            rows_per_run: rows_per_run(module),
            ns_per_row: self.ns_per_row,
            raw: kernel(KernelKind::Raw),
            value: kernel(KernelKind::Value),
            klass: kernel(KernelKind::Class),
            leaf: kernel(KernelKind::Leaf),
            tables,
            info,
            cpu_needs,
            otherwise: std::ptr::null(),
            gpu,
            missing: self.missing.unwrap_or(f64::NAN),
            base,
            other_rows: std::ptr::null(),
            own_row_type: self.own_rows as i64,
            tree: kernel(KernelKind::Tree),
            columns_from: columns_from(module),
        }
    }
}

/// Initial values of the margins, as bytes of the type of margins.
pub(crate) fn base_bytes(entry: &EntryInfo, module: &Module) -> Option<Vec<u8>> {
    let base = entry.base.as_ref()?;
    Some(match module.types.margins {
        Scalar::F64 => base.iter().flat_map(|value| value.to_le_bytes()).collect(),
        _ => base.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
    })
}

/// The type into which the runtime packs rows.
fn packed(types: Interface) -> Scalar {
    // Kernels that read longer rows than the packed ones would read beyond their end.
    let longer = types.margins.bytes() > types.rows.bytes();
    if longer && seeded(Fault::RowsPackedAsSums) { types.margins } else { types.rows }
}

/// The runtime's number of a float type.
pub(crate) fn dtype(scalar: Scalar) -> i32 {
    let dtype = if scalar == Scalar::F64 { Dtype::F64 } else { Dtype::F32 };
    dtype as i32
}

/// Rows of a run, as the runtime reads them.
pub(crate) fn rows_per_run(module: &Module) -> i64 {
    module.rows_per_run.unwrap_or(i64::MAX)
}

/// Rows of the smallest run that may get columns instead of rows, as the runtime reads them.
pub(crate) fn columns_from(module: &Module) -> i64 {
    module.columns_from.unwrap_or(i64::MAX)
}

/// Bytes of the model's structure as generated code lays it out. It has eight 32-bit numbers, two 64-bit
/// numbers, nine words and six more numbers or words of 64 bits.
pub(crate) const MODEL_BYTES: usize = 8 * 4 + 2 * 8 + 9 * 8 + 6 * 8;
const _: () = assert!(MODEL_BYTES == mem::size_of::<runtime::ModelDescriptor>());
