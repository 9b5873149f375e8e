//! Functions of a library in this process.

use crate::call::{Call, Dtype, RawColumn};
use crate::elf;
use crate::model::{CallError, ModelFunctions, text};
use libloading::Library;
use sched_outputs::{Element, OutputKind};
use std::error::Error;
use std::ffi::c_char;
use std::fmt;
use std::path::Path;
use std::ptr;

/// Reason for which a file cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The file cannot be loaded, for this reason: its path has no absolute form, it was cut short, or the
    /// system's loader refuses it.
    NotLoaded(String),
    /// The library has no function of this name.
    NoFunction(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotLoaded(reason) => write!(f, "it cannot be loaded: {reason}"),
            LoadError::NoFunction(name) => write!(f, "it has no function `{name}`"),
        }
    }
}

impl Error for LoadError {}

/// The functions of a library that `schedc build` made.
pub struct LibraryFunctions {
    num_features: usize,
    num_outputs: unsafe extern "C" fn(i32) -> i32,
    /// `None` in old libraries, whose results are always floats.
    output_type: Option<unsafe extern "C" fn(i32) -> i32>,
    /// `None` in old libraries, which have no names of features.
    feature_name: Option<unsafe extern "C" fn(i32) -> *const c_char>,
    predict_ex: unsafe extern "C" fn(*const Call) -> i32,
    error: unsafe extern "C" fn(i32) -> *const c_char,
    info: unsafe extern "C" fn() -> *const c_char,
    // Keeps the library of the functions above loaded.
    _library: Library,
}

impl LibraryFunctions {
    /// Loads a library whose functions begin with `prefix`.
    ///
    /// # Errors
    /// When the file is not a library for this machine, or when `schedc build` did not make it with that
    /// prefix.
    ///
    /// # Safety
    /// The file comes from a trusted source. A library runs code while it is loaded, and functions with the
    /// expected names are called without a check of their types.
    pub unsafe fn open(path: &Path, prefix: &str) -> Result<LibraryFunctions, LoadError> {
        // For a name without folders, the system would search its library folders.
        let full = std::path::absolute(path).map_err(|error| LoadError::NotLoaded(error.to_string()))?;
        if let Some(needed) = elf::length_if_truncated(&full) {
            let reason = format!("the file was cut short: it needs at least {needed} bytes");
            return Err(LoadError::NotLoaded(reason));
        }
        // SAFETY: as the caller promises.
        let library = unsafe { Library::new(&full) }.map_err(|error| {
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            LoadError::NotLoaded(without_path(&reason, &full))
        })?;
        let num_features: unsafe extern "C" fn() -> i32 = function(&library, prefix, "num_features")?;
        Ok(LibraryFunctions {
            // SAFETY: the function is one of schedc and takes no arguments.
            num_features: usize::try_from(unsafe { num_features() }).unwrap_or(0),
            num_outputs: function(&library, prefix, "num_outputs")?,
            output_type: function(&library, prefix, "output_type").ok(),
            feature_name: function(&library, prefix, "feature_name").ok(),
            predict_ex: function(&library, prefix, "predict_ex")?,
            error: function(&library, prefix, "error")?,
            info: function(&library, prefix, "info")?,
            _library: library,
        })
    }

    /// Returns the names of the features; none if the model has no names.
    pub fn feature_names(&self) -> Option<Vec<String>> {
        let feature_name = self.feature_name?;
        // SAFETY: the function is one of schedc and takes any number.
        let name = |feature| unsafe { text(feature_name(feature)) };
        (0..i32::try_from(self.num_features).ok()?).map(name).collect()
    }
}

impl ModelFunctions for LibraryFunctions {
    fn num_features(&self) -> usize {
        self.num_features
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        // SAFETY: the function is one of schedc and takes any number.
        usize::try_from(unsafe { (self.num_outputs)(kind as i32) }).unwrap_or(0)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        match self.output_type {
            // SAFETY: the function is one of schedc and takes any number.
            Some(output_type) => Dtype::of(unsafe { output_type(kind as i32) }),
            None if kind.element() == Element::Leaf => Dtype::I32,
            None => Dtype::F32,
        }
    }

    fn takes_columns(&self) -> bool {
        let columns = vec![RawColumn::ABSENT; self.num_features];
        let no_rows = Call::new(OutputKind::Value, Dtype::F32, ptr::null(), 0, ptr::null_mut());
        // SAFETY: there is a column for each feature, and there are no rows.
        unsafe { self.call(&Call { columns: columns.as_ptr(), ..no_rows }) }.is_ok()
    }

    fn info(&self) -> String {
        // SAFETY: the function returns a text that lives as long as the library.
        unsafe { text((self.info)()) }.unwrap_or_default()
    }

    unsafe fn call(&self, call: &Call) -> Result<(), CallError> {
        // SAFETY: as the caller promises.
        match unsafe { (self.predict_ex)(call) } {
            0 => Ok(()),
            status => {
                // SAFETY: the function takes any number and returns a text that lives as long as the library.
                let message = unsafe { text((self.error)(status)) }.unwrap_or_default();
                Err(CallError { status: Some(status), message })
            }
        }
    }
}

/// Returns the loader's message without the path at its beginning.
fn without_path(message: &str, path: &Path) -> String {
    message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(message).to_owned()
}

fn function<T: Copy>(library: &Library, prefix: &str, name: &str) -> Result<T, LoadError> {
    let name = format!("{prefix}_{name}");
    // SAFETY: a symbol of this name in a library of schedc has this type.
    let found = unsafe { library.get::<T>(format!("{name}\0").as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| LoadError::NoFunction(name))
}
