//! Schedules on disk, checked; and the schedule that is chosen where none is given.

use crate::choice::{Chosen, CodeDestination, gpu};
use crate::failure::Failure;
use crate::model::Model;
use sched_diagnostics::{Diagnostic, Place};
use sched_forest::codes;
use sched_lang::{Checked, Options, Supported, Target, check, read_header};
use sched_llvm::Cpu;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Values that a schedule takes from outside.
#[derive(Clone, Debug, Default)]
pub struct ScheduleValues {
    /// The target in place of the schedule's.
    pub target: Option<Target>,
    /// Values for the schedule's `param`s.
    pub sets: Vec<(String, i64)>,
    /// Rows that one run of the nest handles at most.
    pub batch_size: Option<u64>,
    /// Whether a schedule that names another fingerprint than the model's will do.
    pub ignore_fingerprint: bool,
    /// The file of a profile, which says how often each leaf is reached.
    pub profile: Option<PathBuf>,
}

/// A schedule as text.
pub struct Source {
    /// What messages call it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether schedc has chosen it: nobody needs to hear what is worth a remark in it.
    pub is_chosen: bool,
    /// The file, if it is one; models that it names are relative to it.
    pub path: Option<PathBuf>,
}

/// A model that a schedule names.
pub struct NamedModel {
    /// Its file.
    pub path: PathBuf,
    /// The line of the schedule that names it, from 1.
    line: u64,
}

impl NamedModel {
    /// Says that the file is missing.
    pub fn missing(&self, source: &Source) -> Diagnostic {
        let message = format!("the model {} does not exist", self.path.display());
        let place = Place::Cell { line: Some(self.line), column: None };
        Diagnostic::new(codes::UNREADABLE, place, message).file(&source.name)
    }
}

impl Source {
    /// Reads a schedule; `-` is standard input.
    pub fn read(path: &Path) -> Result<Source, Failure> {
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
        result.map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_string()))?;
        if text.trim_start().starts_with('{') {
            return Err(unreadable("it is JSON, perhaps a model".to_string()));
        }
        let path = (!standard).then(|| path.to_path_buf());
        Ok(Source { name, text, is_chosen: false, path })
    }

    /// The schedule that is chosen for a model, with a block for each size of small calls that has one of its own.
    pub fn chosen_for(
        model: &Model,
        target: Option<&Target>,
        cpu: Cpu,
        destination: CodeDestination,
    ) -> Source {
        let name = "chosen schedule".to_string();
        if let Some(target) = target.filter(|target| target.is_gpu()) {
            let text =
                Chosen { variants: gpu::chosen_for(model, target), one_call: None }.text_for(Some("gpu"));
            return Source { name, text, is_chosen: true, path: None };
        }
        let chosen = Chosen::new(model, cpu, destination);
        Source { name, text: chosen.text(), is_chosen: true, path: None }
    }

    /// The model that the schedule names, relative to its own place.
    pub fn named_model(&self) -> Option<NamedModel> {
        let (name, span) = read_header(&self.text).model?;
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let before = self.text.get(..span.start as usize).unwrap_or_default();
        Some(NamedModel { path: folder.join(name), line: before.matches('\n').count() as u64 + 1 })
    }

    /// Refuses a model that has not the fingerprint that the schedule asks for, unless the user insists.
    pub fn check_fingerprint(
        &self,
        checked: &Checked,
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
                    "use the model that it was written for; if this one is right, put its fingerprint into the \
                     schedule, or insist with --ignore-fingerprint",
                )
                .of(name))
            }
            _ => Ok(()),
        }
    }

    /// What a check is told besides the text. With a model its facts are known.
    pub fn options(model: Option<&Model>, values: &ScheduleValues) -> Options {
        Options {
            model: model.map(Model::facts),
            batch_size: values.batch_size,
            sets: values.sets.clone(),
            target: values.target.clone(),
            ..Options::default()
        }
    }

    /// Checks the schedule for what is to be done with it.
    pub fn check_for(&self, supported: Supported, model: &Model, values: &ScheduleValues) -> Checked {
        let options = Options { supported, ..Self::options(Some(model), values) };
        check(&self.text, &options)
    }
}
