//! The interface to a model that can be called in this process.

use crate::call::{Call, Dtype};
use sched_outputs::OutputKind;
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;

/// Reason for which a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// Status code of the C interface; `None` if the call did not reach compiled code.
    pub status: Option<i32>,
    /// The message.
    pub message: String,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CallError {}

impl From<String> for CallError {
    fn from(message: String) -> CallError {
        CallError { status: None, message }
    }
}

/// The functions of a compiled model, or of one that the reference walker predicts.
pub trait ModelFunctions {
    /// Returns the number of features of a row.
    fn num_features(&self) -> usize;

    /// Returns the number of values per row of an output; 0 if the model has no output of this kind.
    fn num_outputs(&self, kind: OutputKind) -> usize;

    /// Returns the type of an output's elements.
    fn output_type(&self, kind: OutputKind) -> Dtype;

    /// Whether calls may pass columns instead of rows. Old libraries refuse columns.
    fn takes_columns(&self) -> bool;

    /// Returns the description of the model and its schedule, as JSON.
    fn info(&self) -> String;

    /// Makes a call.
    ///
    /// # Errors
    /// The runtime's message if it refuses the call or cannot finish it.
    ///
    /// # Safety
    /// The pointers of the call point to memory as the C interface describes it.
    unsafe fn call(&self, call: &Call) -> Result<(), CallError>;
}

/// Returns a copy of a C text; `None` for null.
///
/// # Safety
/// `chars` is null or a NUL-terminated text.
pub(crate) unsafe fn text(chars: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises.
    (!chars.is_null()).then(|| unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned())
}
