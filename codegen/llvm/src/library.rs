//! Libraries that `schedc build` made, called through their C interface.

use crate::codes;
use crate::error::LlvmError;
use crate::packed::CompiledCode;
use crate::runtime::{Call, CallError, Dtype, OutputKind};
use sched_library::{LibraryFunctions, LoadError, ModelFunctions};
use std::path::Path;

/// A shared library that was built from a model.
pub struct Library {
    loaded: LibraryFunctions,
}

impl Library {
    /// Loads a library whose functions begin with `prefix`.
    ///
    /// # Errors
    /// When the file is not a library, or when schedc did not build it with that prefix. A library runs code
    /// while it is loaded, so it should come from a trusted source.
    pub fn load(path: &Path, prefix: &str) -> Result<Library, LlvmError> {
        let shown = path.display();
        // SAFETY: the caller trusts the library.
        let loaded = unsafe { LibraryFunctions::open(path, prefix) }.map_err(|refusal| match refusal {
            LoadError::NotLoaded(reason) => {
                LlvmError::new(codes::LOADING, format!("the library {shown} cannot be loaded: {reason}"))
                    .with_help("name a library that `schedc build` has made for this machine")
            }
            LoadError::NoFunction(name) => {
                LlvmError::new(codes::LOADING, format!("{shown} has no function `{name}`"))
                    .with_help("if it was built with --name PREFIX, pass the same prefix here")
            }
        })?;
        Ok(Library { loaded })
    }

    /// Whether calls may pass columns instead of rows. Old libraries refuse columns.
    pub fn takes_columns(&self) -> bool {
        self.loaded.takes_columns()
    }

    /// Returns the description of the model and its schedule, as JSON.
    pub fn info(&self) -> String {
        self.loaded.info()
    }
}

impl CompiledCode for Library {
    type Error = CallError;

    fn num_features(&self) -> usize {
        self.loaded.num_features()
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        self.loaded.num_outputs(kind)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        self.loaded.output_type(kind)
    }

    unsafe fn call(&self, call: &Call) -> Result<(), CallError> {
        // SAFETY: as the caller promises.
        unsafe { self.loaded.call(call) }
    }
}
