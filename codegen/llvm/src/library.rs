//! Artefacts loaded back into a process, through nothing but their C interface.

use crate::codes;
use crate::column::RawColumn;
use crate::error::LlvmError;
use crate::packed::{Columns, Extras, Output, Rows, packed_call, raw_columns};
use crate::runtime::{Call, Dtype, Kind};
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr;

/// A shared library that was built from a model.
pub struct Library {
    num_features: usize,
    num_outputs: unsafe extern "C" fn(i32) -> i32,
    /// Libraries that were built before results had a type return floats.
    output_type: Option<unsafe extern "C" fn(i32) -> i32>,
    predict_ex: unsafe extern "C" fn(*const Call) -> i32,
    error: unsafe extern "C" fn(i32) -> *const c_char,
    info: unsafe extern "C" fn() -> *const c_char,
    // The functions above are part of it.
    _library: libloading::Library,
}

impl Library {
    /// Loads a library whose functions begin with `prefix`.
    ///
    /// # Errors
    /// When the file is no library, or not one of ours with that prefix. A library runs code of its own as it
    /// is loaded, so it should come from a trusted place.
    pub fn load(path: &Path, prefix: &str) -> Result<Library, LlvmError> {
        let shown = path.display();
        // A bare name would be searched for in the system's folders.
        let full = std::path::absolute(path).map_err(|error| unusable(format!("{shown}: {error}")))?;
        // SAFETY: the caller trusts the library.
        let library = unsafe { libloading::Library::new(full) }
            .map_err(|error| unusable(format!("the library {shown} cannot be loaded: {error}")))?;
        let num_features: unsafe extern "C" fn() -> i32 = symbol(&library, path, prefix, "num_features")?;
        // SAFETY: the function is ours and takes nothing.
        let num_features = usize::try_from(unsafe { num_features() }).unwrap_or(0);
        Ok(Library {
            num_features,
            num_outputs: symbol(&library, path, prefix, "num_outputs")?,
            output_type: symbol(&library, path, prefix, "output_type").ok(),
            predict_ex: symbol(&library, path, prefix, "predict_ex")?,
            error: symbol(&library, path, prefix, "error")?,
            info: symbol(&library, path, prefix, "info")?,
            _library: library,
        })
    }

    /// Columns of a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// Columns of an output; 0 if the model has none of the kind.
    pub fn num_outputs(&self, kind: Kind) -> usize {
        // SAFETY: the function is ours and takes any number.
        usize::try_from(unsafe { (self.num_outputs)(kind as i32) }).unwrap_or(0)
    }

    /// The type of an output's elements.
    pub fn output_type(&self, kind: Kind) -> Dtype {
        match self.output_type {
            // SAFETY: the function is ours and takes any number.
            Some(output_type) => Dtype::of(unsafe { output_type(kind as i32) }),
            None if kind == Kind::Leaf => Dtype::I32,
            None => Dtype::F32,
        }
    }

    /// Whether calls may have columns: libraries that were built before there were columns refuse them.
    pub fn takes_columns(&self) -> bool {
        let columns = vec![RawColumn::ABSENT; self.num_features];
        let no_rows = Call::new(Kind::Value, Dtype::F32, ptr::null(), 0, ptr::null_mut());
        let call = Call { columns: columns.as_ptr(), ..no_rows };
        // SAFETY: there is a column for each feature, and there are no rows.
        unsafe { (self.predict_ex)(&call) == 0 }
    }

    /// The JSON text about the model.
    pub fn info(&self) -> String {
        // SAFETY: the function returns a text that lives as long as the library.
        unsafe { text((self.info)()) }
    }

    /// Predicts `n_rows` packed rows with at most `threads` threads; 0 leaves the number to the runtime.
    ///
    /// # Errors
    /// When the slices do not fit the number of rows or the kind's type, or the processor the code: what the
    /// library says of it.
    pub fn predict(
        &self,
        kind: Kind,
        rows: Rows<'_>,
        n_rows: usize,
        output: Output<'_>,
        threads: i32,
    ) -> Result<(), String> {
        self.predict_with(kind, rows, n_rows, output, Extras { threads, ..Extras::default() })
    }

    /// The same with all that a call can say; libraries of early releases refuse what they do not know.
    ///
    /// # Errors
    /// As for [`Library::predict`].
    pub fn predict_with(
        &self,
        kind: Kind,
        rows: Rows<'_>,
        n_rows: usize,
        output: Output<'_>,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        let element = self.output_type(kind);
        let (outputs, margins) = (self.num_outputs(kind), self.num_outputs(Kind::Raw));
        let columns = Columns { features: self.num_features, outputs, element, margins };
        let raw = raw_columns(rows, columns.features, n_rows);
        let call = packed_call(columns, kind, (rows, raw.as_deref()), n_rows, output, extras);
        // SAFETY: the slices were found long enough, and a mutable one overlaps no other.
        match unsafe { (self.predict_ex)(&call) } {
            0 => Ok(()),
            status => Err(self.message(status)),
        }
    }

    /// What the library says of a status code.
    fn message(&self, status: i32) -> String {
        // SAFETY: the function takes any number and returns a text that lives as long as the library.
        unsafe { text((self.error)(status)) }
    }
}

/// # Safety
/// `chars` is null or a NUL-terminated text.
unsafe fn text(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned()
}

fn unusable(message: String) -> LlvmError {
    LlvmError::new(codes::LOADING, message)
        .with_help("name a library that `schedc build` has made for this machine")
}

fn symbol<T: Copy>(
    library: &libloading::Library,
    path: &Path,
    prefix: &str,
    name: &str,
) -> Result<T, LlvmError> {
    // SAFETY: a symbol of this name in a library of ours has this type.
    let found = unsafe { library.get::<T>(format!("{prefix}_{name}\0").as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| {
        LlvmError::new(codes::LOADING, format!("{} has no function `{prefix}_{name}`", path.display()))
            .with_help("if it was built with --name PREFIX, say so here, too")
    })
}
