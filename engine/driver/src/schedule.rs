//! Schedules on disk, and their checks with a model.

use crate::failure::{Failure, reason};
use crate::model::Model;
use sched_diagnostics::{Diagnostic, Place, Span};
use sched_forest::codes;
use sched_lang::{CheckOptions, CheckPurpose, CheckedSchedule, Target, check, read_header};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Values for a schedule from the command line or from Python.
#[derive(Clone, Debug, Default)]
pub struct ScheduleValues {
    /// The target, in place of the one that the schedule names.
    pub target: Option<Target>,
    /// Values for the schedule's `param`s.
    pub sets: Vec<(String, i64)>,
    /// The property `batch_size`: most rows that the loops process at once.
    pub batch_size: Option<u64>,
    /// Whether a schedule may name another fingerprint than the model's.
    pub ignore_fingerprint: bool,
    /// The file of a profile: how many rows of a sample end at each leaf.
    pub profile: Option<PathBuf>,
}

/// A schedule as text.
#[derive(Clone)]
pub struct ScheduleSource {
    /// Name in messages.
    pub name: String,
    /// Text.
    pub text: String,
    /// Whether schedc has chosen it. Warnings about it are not shown.
    pub is_chosen: bool,
    /// The schedule's file, if it has one. Paths of models in the schedule are relative to its folder.
    pub path: Option<PathBuf>,
}

/// A model that a schedule names.
pub struct NamedModel {
    /// Its file.
    pub path: PathBuf,
    /// The line of the schedule that names it, from 1.
    line: u64,
    /// The range of the path in the schedule's text.
    span: Span,
}

impl NamedModel {
    /// The error that the file does not exist.
    pub fn missing(&self, source: &ScheduleSource) -> Diagnostic {
        let message = format!("the model {} does not exist", self.path.display());
        let place = Place::Cell { line: Some(self.line), column: None };
        Diagnostic::new(codes::UNREADABLE, place, message).file(&source.name)
    }

    /// This error as a finding of the schedule's check.
    pub fn finding(&self) -> Diagnostic {
        let message = format!("the model {} does not exist", self.path.display());
        Diagnostic::new(codes::UNREADABLE, self.span, message)
            .label("no such file")
            .help("The path is relative to the schedule. `--no-model` checks without a model.")
    }
}

impl ScheduleSource {
    /// Reads a schedule; `-` is standard input.
    ///
    /// # Errors
    /// When the file cannot be read, or is no text.
    pub fn read(path: &Path) -> Result<ScheduleSource, Failure> {
        let standard = path.as_os_str() == "-";
        let name = if standard { "standard input".to_string() } else { path.display().to_string() };
        let mut bytes = Vec::new();
        let result = if standard {
            std::io::stdin().read_to_end(&mut bytes).map(drop)
        } else {
            std::fs::read(path).map(|content| bytes = content)
        };
        let unreadable = |why: String| {
            let help = "name a .sched file; `schedc build MODEL --explain-schedule` prints one to start from";
            Failure::unreadable(&name, format!("the schedule cannot be read: {why}"), help)
        };
        result.map_err(|error| unreadable(reason(&error)))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_string()))?;
        if text.trim_start().starts_with('{') {
            return Err(unreadable("it is JSON, perhaps a model".to_string()));
        }
        let path = (!standard).then(|| path.to_path_buf());
        Ok(ScheduleSource { name, text, is_chosen: false, path })
    }

    /// The model that the schedule names, relative to the schedule's folder.
    pub fn named_model(&self) -> Option<NamedModel> {
        let (name, span) = read_header(&self.text).model?;
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let before = self.text.get(..span.start as usize).unwrap_or_default();
        let path = folder.join(name);
        Some(NamedModel { path, span, line: before.matches('\n').count() as u64 + 1 })
    }

    /// Refuses a model whose fingerprint is not the one that the schedule names, unless `values` allow it.
    ///
    /// # Errors
    /// When the fingerprints differ.
    pub fn check_fingerprint(
        &self,
        checked: &CheckedSchedule,
        model: &Model,
        values: &ScheduleValues,
    ) -> Result<(), Failure> {
        match &checked.header.fingerprint {
            Some((wanted, _)) if *wanted != model.fingerprint && !values.ignore_fingerprint => {
                let (name, path) = (&self.name, model.path.display());
                Err(Failure::new(
                    codes::OTHER_MODEL,
                    format!(
                        "the schedule is for a model with the fingerprint {wanted}, and {path} has {}",
                        model.fingerprint
                    ),
                    "use the model that it was written for; if this one is right, put its fingerprint into \
                     the schedule, or insist with --ignore-fingerprint",
                )
                .in_file(name))
            }
            _ => Ok(()),
        }
    }

    /// The options of a check, with the properties of a model if there is one.
    pub fn options(model: Option<&Model>, values: &ScheduleValues) -> CheckOptions {
        CheckOptions {
            model: model.map(Model::info),
            batch_size: values.batch_size,
            param_values: values.sets.clone(),
            target: values.target.clone(),
            ..CheckOptions::default()
        }
    }

    /// Checks the schedule with a model, for a purpose.
    pub fn check_for(
        &self,
        purpose: CheckPurpose,
        model: &Model,
        values: &ScheduleValues,
    ) -> CheckedSchedule {
        let options = CheckOptions { purpose, ..Self::options(Some(model), values) };
        check(&self.text, &options)
    }
}
