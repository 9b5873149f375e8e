//! Artefacts loaded back into a process, through nothing but their C interface.

use crate::codes;
use crate::error::LlvmError;
use crate::packed::{Columns, Extras, Output, Rows, packed_call, raw_columns};
use crate::runtime::{Dtype, Kind};
use sched_library::{Loaded, Refusal};
use std::path::Path;

/// A shared library that was built from a model.
pub struct Library {
    loaded: Loaded,
}

impl Library {
    /// Loads a library whose functions begin with `prefix`.
    ///
    /// # Errors
    /// When the file is no library, or not one of ours with that prefix. A library runs code of its own as it
    /// is loaded, so it should come from a trusted place.
    pub fn load(path: &Path, prefix: &str) -> Result<Library, LlvmError> {
        let shown = path.display();
        // SAFETY: the caller trusts the library.
        let loaded = unsafe { Loaded::open(path, prefix) }.map_err(|refusal| match refusal {
            Refusal::NotLoaded(reason) => {
                LlvmError::new(codes::LOADING, format!("the library {shown} cannot be loaded: {reason}"))
                    .with_help("name a library that `schedc build` has made for this machine")
            }
            Refusal::NoFunction(name) => {
                LlvmError::new(codes::LOADING, format!("{shown} has no function `{name}`"))
                    .with_help("if it was built with --name PREFIX, say so here, too")
            }
        })?;
        Ok(Library { loaded })
    }

    /// Columns of a row.
    pub fn num_features(&self) -> usize {
        self.loaded.num_features()
    }

    /// Columns of an output; 0 if the model has none of the kind.
    pub fn num_outputs(&self, kind: Kind) -> usize {
        self.loaded.num_outputs(kind)
    }

    /// The type of an output's elements.
    pub fn output_type(&self, kind: Kind) -> Dtype {
        self.loaded.output_type(kind)
    }

    /// Whether calls may have columns: libraries that were built before there were columns refuse them.
    pub fn takes_columns(&self) -> bool {
        self.loaded.takes_columns()
    }

    /// The JSON text about the model.
    pub fn info(&self) -> String {
        self.loaded.info()
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
        let columns = Columns { features: self.num_features(), outputs, element, margins };
        let raw = raw_columns(rows, columns.features, n_rows);
        let call = packed_call(columns, kind, (rows, raw.as_deref()), n_rows, output, extras);
        // SAFETY: the slices were found long enough, and a mutable one overlaps no other.
        unsafe { self.loaded.call(&call) }
    }
}
