//! The exception of compilations.

pyo3::create_exception!(
    schedc,
    Refused,
    pyo3::exceptions::PyValueError,
    "The error of a compilation. Its arguments are the findings as JSON and as text."
);
