//! Calls and their costs.

use crate::shape::ModelShape;
use crate::work::Work;

/// A call of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelCall<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Largest number of threads that the call may use.
    pub threads: usize,
    /// Whether the input is column-major.
    pub column_major: bool,
    /// Properties of the model.
    pub shape: &'a ModelShape,
}

/// The cost of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles from the beginning of the call to its end.
    pub cycles: f64,
    /// Cycles for which the call occupies each unit of the core.
    pub work: Work,
}
