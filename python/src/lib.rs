//! The native part of the Python packages: calls libraries of `schedc build` on arrays.

mod arrow;
mod categories;
mod columns;
mod device;
mod dlpack;
mod error;
mod frames;
mod library;
mod model;
mod probabilities;
mod records;
mod rows;
mod texts;

use pyo3::prelude::*;

/// Calls libraries of `schedc build` on arrays.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::categories::LibraryCategories;
    #[pymodule_export]
    use super::device::DeviceArray;
    #[pymodule_export]
    use super::dlpack::is_on_gpu;
    #[pymodule_export]
    use super::error::SchedcError;
    #[pymodule_export]
    use super::frames::{ColumnLookup, StreamPlan};
    #[pymodule_export]
    use super::model::{CompiledModel, load, load_handle};
    #[pymodule_export]
    use super::probabilities::both_classes;
}
