//! The description of a GPU.

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
