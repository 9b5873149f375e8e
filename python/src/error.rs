//! The exception of calls.

pyo3::create_exception!(
    schedc_runtime,
    SchedcError,
    pyo3::exceptions::PyRuntimeError,
    "The error of a library that could not run a call."
);
