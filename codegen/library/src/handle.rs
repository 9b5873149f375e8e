//! Handles of models that another module of this process has compiled, without a library file.

use crate::call::{Call, Dtype};
use crate::model::{CallError, ModelFunctions, text};
use sched_outputs::OutputKind;
use std::ffi::{c_char, c_void};

/// Version of [`ModelHandle`]'s layout, which must be the same in the module that makes a handle and in the
/// one that uses it.
const LAYOUT_VERSION: u32 = 1;

/// A model in the memory of another module of this process, with that module's runtime functions for it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ModelHandle {
    /// Version of this structure; see [`LAYOUT_VERSION`].
    layout: u32,
    num_features: i32,
    model: *const c_void,
    functions: HandleFunctions,
}

/// The functions of a runtime; their first argument is the model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HandleFunctions {
    /// Number of values per row of an output.
    pub num_outputs: unsafe extern "C" fn(*const c_void, i32) -> i32,
    /// Element type of an output.
    pub output_type: unsafe extern "C" fn(*const c_void, i32) -> i32,
    /// Makes a call.
    pub predict_ex: unsafe extern "C" fn(*const c_void, *const Call) -> i32,
    /// Message for a status code.
    pub error: unsafe extern "C" fn(*const c_void, i32) -> *const c_char,
    /// JSON about the model.
    pub info: unsafe extern "C" fn(*const c_void) -> *const c_char,
}

// SAFETY: the runtime's functions may be called from several threads, and they do not change the model.
unsafe impl Send for ModelHandle {}
// SAFETY: as above.
unsafe impl Sync for ModelHandle {}

impl ModelHandle {
    /// A handle of a model.
    ///
    /// # Safety
    /// The functions are those of the runtime for which `model` was made. The model outlives the handle and
    /// its copies.
    pub unsafe fn new(model: *const c_void, num_features: usize, functions: HandleFunctions) -> ModelHandle {
        let num_features = i32::try_from(num_features).unwrap_or(0);
        ModelHandle { layout: LAYOUT_VERSION, num_features, model, functions }
    }

    /// Whether this version of the crate can read the structure.
    pub fn has_known_layout(&self) -> bool {
        self.layout == LAYOUT_VERSION
    }
}

impl ModelFunctions for ModelHandle {
    fn num_features(&self) -> usize {
        usize::try_from(self.num_features).unwrap_or(0)
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        // SAFETY: the function takes any number.
        usize::try_from(unsafe { (self.functions.num_outputs)(self.model, kind as i32) }).unwrap_or(0)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        // SAFETY: the function takes any number.
        Dtype::of(unsafe { (self.functions.output_type)(self.model, kind as i32) })
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn info(&self) -> String {
        // SAFETY: the function returns a text that lives as long as the model.
        unsafe { text((self.functions.info)(self.model)) }.unwrap_or_default()
    }

    unsafe fn call(&self, call: &Call) -> Result<(), CallError> {
        // SAFETY: as the caller promises.
        match unsafe { (self.functions.predict_ex)(self.model, call) } {
            0 => Ok(()),
            status => {
                // SAFETY: the function takes any number and returns a text that lives as long as the program.
                let message = unsafe { text((self.functions.error)(self.model, status)) }.unwrap_or_default();
                Err(CallError { status: Some(status), message })
            }
        }
    }
}
