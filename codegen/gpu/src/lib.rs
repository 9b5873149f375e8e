//! The time that the kernels of a compiled model take on rows in the memory of an NVIDIA GPU, and the GPUs of
//! this machine. Calls themselves are made by the runtime of `sched-llvm`, which does not use this crate.
//!
//! [`ResidentRows`] times kernels by the driver that the runtime loads, in every build. [`devices()`] needs
//! the feature `cuda`. Without the feature it returns an error that names it, so callers need no conditional
//! compilation.

#[cfg(not(feature = "cuda"))]
mod absent;
mod cuda_device;
#[cfg(feature = "cuda")]
mod devices;
mod error;
mod resident;

#[cfg(not(feature = "cuda"))]
pub use absent::devices;
pub use cuda_device::CudaDevice;
#[cfg(feature = "cuda")]
pub use devices::devices;
pub use error::GpuError;
pub use resident::ResidentRows;
