//! The native part of the package `schedc`: the compiler and the language, as functions from bytes and texts
//! to bytes and texts. Findings are JSON, which the package converts to objects.

mod build;
mod error;
mod language;
mod program;
mod report;
mod rows;

use pyo3::prelude::*;

/// The compiler and the language.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::build::{Artefact, Compilation, begin, build, difference};
    #[pymodule_export]
    use super::error::Refused;
    #[pymodule_export]
    use super::language::{check, format, model_endings, nest};
    #[pymodule_export]
    use super::program::run_program;
}
