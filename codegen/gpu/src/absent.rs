//! The function of a build without the feature `cuda`: it returns an error about the missing feature.

use crate::cuda_device::CudaDevice;
use crate::error::GpuError;

/// The NVIDIA GPUs of this machine.
///
/// # Errors
/// Always: this build lacks the feature `cuda`.
pub fn devices() -> Result<Vec<CudaDevice>, GpuError> {
    Err(GpuError::NotBuiltIn)
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
