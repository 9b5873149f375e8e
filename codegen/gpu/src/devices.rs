//! The descriptions of NVIDIA GPUs, by the crate `cust`.

use crate::cuda_device::CudaDevice;
use crate::error::GpuError;
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;

/// The NVIDIA GPUs of this machine.
///
/// # Errors
/// When there is no GPU, or a call of the driver fails.
pub fn devices() -> Result<Vec<CudaDevice>, GpuError> {
    let failed = |error: CudaError| GpuError::Failed(format!("the driver of the GPU: {error}"));
    cust::init(cust::CudaFlags::empty()).map_err(failed)?;
    let described = |device: Device| {
        let number = |attribute| device.get_attribute(attribute).map(|n| u32::try_from(n).unwrap_or(0));
        let major = number(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = number(DeviceAttribute::ComputeCapabilityMinor)?;
        let memory = device.total_memory()? as u64;
        Ok(CudaDevice { name: device.name()?, capability: 10 * major + minor, memory })
    };
    let all = Device::devices().map_err(failed)?;
    all.map(|device| device.and_then(described).map_err(failed)).collect()
}
