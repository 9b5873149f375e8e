//! The arguments of a call that all methods share.

use crate::device::DeviceCall;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sched_library::OutputKind;

/// The arguments of a call that all methods share.
pub struct CallArguments<'py> {
    /// The kind of output.
    pub kind: OutputKind,
    /// Whether doubles and integers in columns are rounded to single precision first.
    pub single: bool,
    /// The caller's array for the results.
    pub out: Option<Bound<'py, PyAny>>,
    /// Largest number of threads; 0 leaves it to the library.
    pub threads: i32,
    /// The base margin: a number for each row and margin.
    pub base_margin: Option<Bound<'py, PyAny>>,
    /// The number of the GPU, for models that run on one. `None`: that of the rows, or else the first one.
    pub device: Option<i32>,
    /// The stream of a call on rows in a GPU's memory. `None`: that of the rows.
    pub stream: Option<Bound<'py, PyAny>>,
}

impl<'py> CallArguments<'py> {
    /// The arguments of a call with the keywords `single`, `out`, `threads`, `base_margin`, `device` and
    /// `stream`. Raises TypeError for other keywords.
    pub fn of(output: &str, options: Option<&Bound<'py, PyDict>>) -> PyResult<CallArguments<'py>> {
        let mut arguments = CallArguments {
            kind: kind_of(output)?,
            single: false,
            out: None,
            threads: 0,
            base_margin: None,
            device: None,
            stream: None,
        };
        for (name, value) in options.into_iter().flatten() {
            let given = |value: Bound<'py, PyAny>| Some(value).filter(|value| !value.is_none());
            match name.cast::<PyString>()?.to_str()? {
                "single" => arguments.single = value.extract()?,
                "threads" => arguments.threads = value.extract()?,
                "out" => arguments.out = given(value),
                "base_margin" => arguments.base_margin = given(value),
                "device" => arguments.device = value.extract()?,
                "stream" => arguments.stream = given(value),
                other => {
                    return Err(PyTypeError::new_err(format!("a prediction takes no argument '{other}'")));
                }
            }
        }
        Ok(arguments)
    }

    /// The arguments of a call on rows in the host's memory.
    ///
    /// # Errors
    /// ValueError for an argument that is out of range, or that only other rows have.
    pub fn check_on_host(&self) -> PyResult<()> {
        let refusal = if self.threads < 0 {
            "threads is a number from 1 on, or 0 for the library's own choice"
        } else if self.device.is_some_and(|device| device < 0) {
            "device is the number of a GPU, from 0 on"
        } else if self.stream.is_some() {
            "stream= is for rows in a GPU's memory"
        } else {
            return Ok(());
        };
        Err(PyValueError::new_err(refusal))
    }

    /// The arguments of a call on rows in a GPU's memory.
    ///
    /// # Errors
    /// ValueError for an argument that only rows in the host's memory have.
    pub fn on_gpu(&self) -> PyResult<DeviceCall<'_, 'py>> {
        if self.base_margin.is_some() {
            return Err(PyValueError::new_err("base_margin is for rows in the host's memory"));
        }
        let (out, stream) = (self.out.as_ref(), self.stream.as_ref());
        Ok(DeviceCall { kind: self.kind, out, stream, device: self.device })
    }
}

fn kind_of(output: &str) -> PyResult<OutputKind> {
    OutputKind::of_word(output).ok_or_else(|| {
        PyValueError::new_err(format!("output is {}, not {output:?}", OutputKind::words(|_| true)))
    })
}
