//! Arguments of commands that read schedules, with or without a model: `check`, `show` and `diff`.

use clap::Args;
use schedc_driver::Failure;
use schedc_driver::job::is_schedule;
use std::path::{Path, PathBuf};

/// A model and schedules: `MODEL -s FILE`, as for all commands, or schedules alone.
#[derive(Clone, Debug, Args)]
pub struct ModelAndSchedules {
    /// A model file, whose schedules follow -s; or schedules alone, - for standard input.
    /// `show` takes one schedule, `diff` two, `check` any number, and folders
    #[arg(required_unless_present = "schedules", value_name = "MODEL|FILE")]
    files: Vec<PathBuf>,
    /// A schedule, or - for standard input; may be repeated for `diff` and `check`
    #[arg(short, long = "schedule", value_name = "FILE")]
    schedules: Vec<PathBuf>,
    /// Check without a model, even if the schedule names one
    #[arg(long)]
    pub no_model: bool,
}

/// The model with which a schedule is checked.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    /// The model of the command line, instead of the one that the schedule names.
    pub model: Option<PathBuf>,
    /// Whether there is no model, even if the schedule names one.
    pub no_model: bool,
}

impl ModelAndSchedules {
    /// Splits the files into schedules, and the model with which they are checked. The first file is the
    /// model if it does not look like a schedule, and schedules follow -s. Otherwise all files count as
    /// schedules.
    ///
    /// # Errors
    /// When a model is named together with `--no-model`.
    pub fn split(&self) -> Result<(Vec<PathBuf>, ModelChoice), Failure> {
        let mut schedules = self.files.clone();
        let is_model =
            !self.schedules.is_empty() && self.files.first().is_some_and(|file| !may_be_schedule(file));
        let model = is_model.then(|| schedules.remove(0));
        if let (true, Some(model)) = (self.no_model, &model) {
            return Err(Failure::usage(
                format!("--no-model excludes the model {}", model.display()),
                "leave out one of them",
            ));
        }
        schedules.extend(self.schedules.iter().cloned());
        Ok((schedules, ModelChoice { model, no_model: self.no_model }))
    }
}

/// Whether an argument looks like a schedule: a .sched file, an entry of a lock, a lock, a folder or standard
/// input.
pub fn may_be_schedule(file: &Path) -> bool {
    let is_lock = file.extension().is_some_and(|ending| ending == "lock");
    let is_entry = !file.exists() && file.to_string_lossy().contains('#');
    is_schedule(file) || is_lock || is_entry || file.as_os_str() == "-" || file.is_dir()
}

#[cfg(test)]
mod tests {
    use super::ModelAndSchedules;
    use std::path::PathBuf;

    fn split(files: &[&str], schedules: &[&str]) -> (Vec<String>, Option<String>) {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
        let (files, schedules) = (paths(files), paths(schedules));
        let all = ModelAndSchedules { files, schedules, no_model: false };
        let (schedules, choice) = all.split().expect("no contradiction");
        let word = |path: &PathBuf| path.display().to_string();
        (schedules.iter().map(word).collect(), choice.model.as_ref().map(word))
    }

    #[test]
    fn the_model_precedes_its_schedules() {
        let of = |schedules: &[&str], model: Option<&str>| {
            (schedules.iter().map(|one| (*one).to_string()).collect::<Vec<_>>(), model.map(str::to_string))
        };
        assert_eq!(split(&["m.json"], &["a.sched", "-"]), of(&["a.sched", "-"], Some("m.json")));
        assert_eq!(split(&["a.sched", "b.sched"], &[]), of(&["a.sched", "b.sched"], None));
        assert_eq!(split(&["a.txt", "b.txt"], &[]), of(&["a.txt", "b.txt"], None));
        assert_eq!(split(&["a.sched"], &["b.sched"]), of(&["a.sched", "b.sched"], None));
        assert_eq!(split(&["a.lock#m:1", "a.lock#m:8"], &[]), of(&["a.lock#m:1", "a.lock#m:8"], None));
        assert_eq!(split(&["m.json"], &[]), of(&["m.json"], None));
    }
}
