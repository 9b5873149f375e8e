//! Functions of a build without the feature `cuda`: each returns an error about the missing feature.

use crate::{CudaDevice, GpuError};
use sched_llvm::Jit;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;

/// The NVIDIA GPUs of this machine.
///
/// # Errors
/// Always: this build lacks the feature `cuda`.
pub fn devices() -> Result<Vec<CudaDevice>, GpuError> {
    Err(GpuError::NotBuiltIn)
}

/// Rows in the memory of a GPU. A build without the feature `cuda` has no value of this type.
#[derive(Debug)]
pub struct ResidentRows<'a> {
    never: Infallible,
    model: PhantomData<&'a Jit>,
}

impl<'a> ResidentRows<'a> {
    /// Copies packed rows to the memory of the first GPU.
    ///
    /// # Errors
    /// Always: this build lacks the feature `cuda`.
    pub fn new(_model: &'a Jit, _rows: &[f32]) -> Result<ResidentRows<'a>, GpuError> {
        Err(GpuError::NotBuiltIn)
    }

    /// The time of one call for margins of `batch` rows, by the GPU's own clock: the mean of `calls` calls.
    ///
    /// # Errors
    /// When a call fails.
    pub fn mean_call_time(&mut self, _batch: usize, _calls: usize) -> Result<Duration, GpuError> {
        match self.never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_missing_feature() {
        let error = devices().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("this schedc was built without the feature `cuda`"));
    }
}
