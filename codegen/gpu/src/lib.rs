//! The NVIDIA GPUs of this machine, and the time that the kernels of a compiled model take on rows in a GPU's
//! memory. Calls themselves are made by the runtime of `sched-llvm`, which does not use this crate.
//!
//! All of it needs the feature `cuda`. Without the feature, every function returns an error that names it, so
//! callers need no conditional compilation.

#[cfg(not(feature = "cuda"))]
mod absent;
#[cfg(feature = "cuda")]
mod cuda;

#[cfg(not(feature = "cuda"))]
pub use absent::{ResidentRows, devices};
#[cfg(feature = "cuda")]
pub use cuda::{ResidentRows, devices};

use std::fmt;

/// An NVIDIA GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaDevice {
    /// Name that the maker gives the GPU.
    pub name: String,
    /// Ten times the major number of its compute capability, plus the minor one.
    pub capability: u32,
    /// Bytes of its memory.
    pub memory: u64,
}

impl fmt::Display for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, sm_{}, {} GiB", self.name, self.capability, self.memory >> 30)
    }
}

/// The reason why a GPU could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuError {
    /// schedc was built without the feature `cuda`.
    NotBuiltIn,
    /// A call of the driver or of the model's runtime failed, with this message.
    Failed(String),
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::NotBuiltIn => f.write_str("this schedc was built without the feature `cuda`"),
            GpuError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for GpuError {}
