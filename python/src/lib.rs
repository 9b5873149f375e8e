//! The native part of the Python packages: calls libraries of `schedc build` on arrays.

mod arguments;
mod arrow;
mod categories;
mod columns;
mod device;
mod device_array;
mod device_columns;
mod device_view;
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
    use super::device_array::DeviceArray;
    #[pymodule_export]
    use super::device_view::{any_on_gpu, is_on_gpu};
    #[pymodule_export]
    use super::error::SchedcError;
    #[pymodule_export]
    use super::frames::{ColumnLookup, StreamPlan};
    #[pymodule_export]
    use super::model::{CompiledModel, load, load_handle};
    #[pymodule_export]
    use super::probabilities::both_classes;
}
