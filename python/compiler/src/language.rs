//! The language from Python: checks, nests and the formatter, and the endings of models.

use crate::report::{DiagnosticCollector, FindingsReport};
use pyo3::prelude::*;
use sched_forest::ReadOptions;
use sched_lang::{CheckPurpose, Target};
use sched_nest::show::{nests_json, show_nests};
use schedc_driver::{Failure, Model, ScheduleSource, ScheduleValues};
use std::path::Path;

/// A schedule to check, the model if there is one, and the caller's values (params, target, batch size).
struct ScheduleCheck {
    source: ScheduleSource,
    model: Option<Model>,
    values: ScheduleValues,
}

/// Values for a schedule, from a Python dictionary.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct ScheduleDict {
    /// Values of `param`s, by name.
    pub sets: Vec<(String, i64)>,
    /// Target as in a `target` line, such as `cpu(avx512)`.
    pub target: Option<String>,
    /// Largest number of rows that the loops process at once.
    pub batch_size: Option<u64>,
}

impl ScheduleDict {
    /// Checks the values, and converts them to the type that the driver takes.
    pub fn checked(self) -> Result<ScheduleValues, Failure> {
        let parse = |text: String| {
            text.parse::<Target>().map_err(|()| {
                Failure::usage(
                    format!("`{text}` is no target"),
                    "write it as in a `target` line, for example cpu, cpu(avx512) or gpu(sm_90)",
                )
            })
        };
        Ok(ScheduleValues {
            target: self.target.map(parse).transpose()?,
            sets: self.sets,
            batch_size: self.batch_size,
            ..ScheduleValues::default()
        })
    }
}

impl ScheduleCheck {
    fn new(text: &str, model: Option<&[u8]>, values: ScheduleDict) -> Result<ScheduleCheck, Failure> {
        let read = |bytes| Model::of_bytes(Path::new("the model"), bytes, &ReadOptions::default());
        let source = ScheduleSource {
            name: "schedule".to_string(),
            text: text.to_string(),
            is_chosen: false,
            path: None,
        };
        Ok(ScheduleCheck { source, model: model.map(read).transpose()?, values: values.checked()? })
    }

    fn checked(&self) -> sched_lang::CheckedSchedule {
        let options = ScheduleSource::options(self.model.as_ref(), &self.values);
        sched_lang::check(
            &self.source.text,
            &sched_lang::CheckOptions { purpose: CheckPurpose::Display, ..options },
        )
    }
}

/// Checks a schedule, against a model's file if its bytes are given. Returns the findings as JSON, text and
/// coloured text.
#[pyfunction]
#[pyo3(signature = (text, model, values))]
pub fn check(
    py: Python<'_>,
    text: &str,
    model: Option<&[u8]>,
    values: ScheduleDict,
) -> PyResult<(String, String, String)> {
    let found = py.detach(|| {
        let check = ScheduleCheck::new(text, model, values)?;
        Ok(FindingsReport::of(&check.source.name, text, &check.checked().diagnostics))
    });
    let FindingsReport { json, text, color } =
        found.map_err(|failure: Failure| DiagnosticCollector::default().stopped(failure).error())?;
    Ok((json, text, color))
}

/// The loop nest of a schedule, as text and as JSON.
#[pyfunction]
#[pyo3(signature = (text, model, values))]
pub fn nest(
    py: Python<'_>,
    text: &str,
    model: Option<&[u8]>,
    values: ScheduleDict,
) -> PyResult<(String, String)> {
    let found = py.detach(|| {
        let stopped = |failure| DiagnosticCollector::default().stopped(failure);
        let check = ScheduleCheck::new(text, model, values).map_err(stopped)?;
        let checked = check.checked();
        let nests = checked
            .nests
            .ok_or_else(|| FindingsReport::of(&check.source.name, text, &checked.diagnostics))?;
        Ok((show_nests(&nests), nests_json(&nests).to_string()))
    });
    found.map_err(FindingsReport::error)
}

/// The canonical layout of a schedule; None if it has syntax errors.
#[pyfunction]
pub fn format(text: &str) -> Option<String> {
    sched_lang::format(text).ok()
}

/// The endings of models' file names, without the dot.
#[pyfunction]
pub fn model_endings() -> Vec<&'static str> {
    sched_forest::endings()
}
