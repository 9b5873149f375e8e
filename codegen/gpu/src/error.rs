//! Reasons for which a GPU cannot be used.

use sched_library::DriverError;
use sched_llvm::runtime::CallStatus;
use std::fmt;

/// The reason why a GPU could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuError {
    /// schedc was built without the feature `cuda`.
    NotBuiltIn,
    /// The code runs on the processor or on a GPU of another maker, or reads other rows than the resident
    /// ones.
    Unsuitable(&'static str),
    /// A call of the model failed.
    Call(CallStatus),
    /// The GPU has too little memory for the rows, with the driver's message.
    Memory(String),
    /// The driver failed, with this message.
    Failed(String),
}

impl GpuError {
    /// Whether the model keeps calls of this number of rows on the processor.
    pub fn is_call_for_processor(&self) -> bool {
        matches!(self, GpuError::Call(status) if status.code() == CallStatus::UNSUPPORTED)
    }
}

impl From<DriverError> for GpuError {
    fn from(error: DriverError) -> GpuError {
        match error.is_lack_of_memory() {
            true => GpuError::Memory(error.to_string()),
            false => GpuError::Failed(error.to_string()),
        }
    }
}

impl From<CallStatus> for GpuError {
    fn from(status: CallStatus) -> GpuError {
        GpuError::Call(status)
    }
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::NotBuiltIn => f.write_str("this schedc was built without the feature `cuda`"),
            GpuError::Unsuitable(why) => f.write_str(why),
            GpuError::Call(status) => status.fmt(f),
            GpuError::Memory(why) | GpuError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for GpuError {}
