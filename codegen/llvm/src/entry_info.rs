//! Numbers and texts that the entry points of a compiled model return.

use crate::header::{AcceptedRowTypes, HeaderInfo};
use crate::runtime::{self, Dtype, OutputCounts, OutputDescriptor, OutputKind, count_as_i32, dtype};
use sched_ir::fault::{Fault, seeded};
use sched_ir::lir::{Interface, KernelKind, Module, Scalar};
use std::ffi::{c_char, c_void};
use std::mem;

/// Numbers and texts of a model, besides its kernels and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryInfo {
    /// Number of features of a row.
    pub num_features: i32,
    /// The counts that decide how many columns each output has.
    pub counts: OutputCounts,
    /// Type of the rows that the trainer's program reads. Kernels for narrower rows refuse wider ones, which
    /// they would have to round.
    pub trainer_row_type: Dtype,
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
    /// section [`PYTHON_OBJECT_SECTION`]. No function of the library returns it. Empty: no section.
    pub python_object: String,
}

/// Name of the section with [`EntryInfo::python_object`].
pub const PYTHON_OBJECT_SECTION: &str = ".schedc.object";

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
        HeaderInfo {
            num_features: self.num_features,
            columns: OutputKind::ALL.map(|kind| kind.columns_of_code(&self.counts, module.has(kind.into()))),
            has_categories: self.categories.iter().any(|names| !names.is_empty()),
            types: module.types,
            rows: self.accepted_row_types(module.types),
        }
    }

    fn accepted_row_types(&self, types: Interface) -> AcceptedRowTypes {
        match (types.rows, self.trainer_row_type) {
            (Scalar::F32, Dtype::F64) => AcceptedRowTypes::Narrow,
            _ => AcceptedRowTypes::Converted,
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
            num_margins: count_as_i32(self.counts.margins),
            row_type: dtype(packed_row_type(module.types)) as i32,
            margin_type: dtype(module.types.margins) as i32,
            result_type: dtype(module.types.results) as i32,
            rows_per_run: rows_per_run(module),
            ns_per_row: self.ns_per_row,
            tables,
            info,
            cpu_needs,
            otherwise: std::ptr::null(),
            gpu,
            missing: self.missing.unwrap_or(f64::NAN),
            base,
            other_rows: std::ptr::null(),
            own_row_type: self.trainer_row_type as i64,
            columns_from: min_rows_for_columns(module),
            outputs: OutputDescriptor::all(&self.counts, &module.types, |kind| kernel(kind.into())),
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
fn packed_row_type(types: Interface) -> Scalar {
    // This seeded fault packs rows in the type of sums, which kernels then misread. It must not make rows
    // shorter, since kernels would read beyond their end.
    let longer = types.margins.bytes() > types.rows.bytes();
    if longer && seeded(Fault::RowsPackedAsSums) { types.margins } else { types.rows }
}

/// Most rows of a run, in the runtime's form.
pub(crate) fn rows_per_run(module: &Module) -> i64 {
    module.rows_per_run.unwrap_or(i64::MAX)
}

/// Fewest rows of a run whose input may be columns instead of rows, in the runtime's form.
pub(crate) fn min_rows_for_columns(module: &Module) -> i64 {
    module.least_column_rows.unwrap_or(i64::MAX)
}

/// Bytes of the model's structure as generated code lays it out. It has six 32-bit fields and twelve 64-bit
/// fields, and for each output two fields of each size.
pub(crate) const MODEL_BYTES: usize = 6 * 4 + 12 * 8 + OutputKind::ALL.len() * (2 * 8 + 2 * 4);
const _: () = assert!(MODEL_BYTES == mem::size_of::<runtime::ModelDescriptor>());
