//! Predictions of the trainer's own library, which runs in Python. They also reveal mistakes in reading the
//! model, which the reference walker would repeat.

use crate::calls::kinds;
use crate::comparison::OtherPredictions;
use sched_diagnostics::usage;
use sched_forest::{Boundary, BoundaryOptions, Float, Quirk};
use schedc_data::{
    DataSource, Destination, Expect, FeatureValues, ResultNumbers, ResultTable, read_rows, write_atomically,
    write_table,
};
use schedc_driver::{Failure, Model};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The script that Python runs: `trainer.py LIBRARY MODEL ROWS.npy RESULT`.
pub const SCRIPT: &str = include_str!("trainer.py");
/// Exit status of the script if Python does not have the library.
const NO_LIBRARY_STATUS: i32 = 3;
/// Most rows that the trainer's library predicts: more take minutes.
const MOST_ROWS: usize = 100_000;
/// Most values in these rows, to bound their memory to 256 MiB.
const MOST_NUMBERS: usize = 1 << 25;

/// Predictions of a trainer.
pub struct TrainerResults {
    /// Predictions of each output.
    pub outputs: Vec<OtherPredictions>,
    /// Sentences about outputs that the library did not predict.
    pub notes: Vec<String>,
}

/// The reason why there are no predictions of the trainer's library.
pub enum TrainerError {
    /// Python does not run, or lacks the library. The rows can be predicted elsewhere.
    Unavailable {
        /// The Python package.
        library: &'static str,
        /// The reason, as a part of a sentence.
        why: String,
    },
    /// Another failure.
    Failed(Failure),
}

impl From<Failure> for TrainerError {
    fn from(failure: Failure) -> TrainerError {
        TrainerError::Failed(failure)
    }
}

/// The Python package that predicts with a model's file.
fn library(model: &Model) -> Result<&'static str, Failure> {
    model.source.format.map(|format| format.trainer_package).ok_or_else(|| {
        Failure::usage(
            "the trainer of this model is not known, so no library can be compared",
            "compare with predictions that you have: --input ROWS --against PREDICTIONS",
        )
    })
}

/// Rows for the trainer in the model's own type: solved rows on thresholds, then the `given` ones.
pub fn rows(model: &Model, given: &[FeatureValues]) -> FeatureValues {
    let forest = model.forest();
    let float = forest.types.input;
    let finite = model.source.has(Quirk::RefusesInfinities);
    let mut boundary = Boundary::new(forest, BoundaryOptions { rows: float, finite });
    let most = (MOST_NUMBERS / forest.num_features.max(1)).clamp(1, MOST_ROWS);
    let mut row = vec![0.0; forest.num_features];
    let mut all: Vec<f64> = Vec::new();
    for _ in 0..most {
        if !boundary.next_row(&mut row) {
            break;
        }
        all.extend_from_slice(&row);
    }
    if all.is_empty() {
        all.extend_from_slice(&row);
    }
    for values in given {
        match values {
            FeatureValues::F32(values) => all.extend(values.iter().map(|x| f64::from(*x))),
            FeatureValues::F64(values) => all.extend_from_slice(values),
        }
    }
    match float {
        Float::F32 => FeatureValues::F32(all.into_iter().map(|x| x as f32).collect()),
        Float::F64 => FeatureValues::F64(all),
    }
}

/// A temporary folder for the files of a script, which is removed when it is dropped.
pub struct ScriptFolder(PathBuf);

impl ScriptFolder {
    /// Makes a folder for a command of schedc.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(command: &str) -> Result<ScriptFolder, Failure> {
        let path = std::env::temp_dir().join(format!("schedc-{command}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(ScriptFolder(path))
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScriptFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the folder cannot be made: {error}");
    Failure::new(schedc_data::codes::UNWRITABLE, message, "check its permissions").in_file(path.display())
}

/// Writes rows as an array of NumPy.
///
/// # Errors
/// When the file cannot be written.
pub fn write_rows(path: &Path, rows: &FeatureValues, features: usize) -> Result<(), Failure> {
    let values = match rows {
        FeatureValues::F32(values) => ResultNumbers::F32(values),
        FeatureValues::F64(values) => ResultNumbers::F64(values),
    };
    let table = ResultTable { values, columns: features.max(1), heading: "feature" };
    Ok(write_table(&table, &Destination::Path(path.to_path_buf()))?)
}

/// Lets the trainer's library predict rows in a process of the program `python`.
///
/// # Errors
/// When the model's trainer is unknown, Python or the library is missing, or the library fails.
pub fn predict(model: &Model, rows: &FeatureValues, python: &OsStr) -> Result<TrainerResults, TrainerError> {
    let library = library(model)?;
    let folder = ScriptFolder::new("verify")?;
    let (script, file, result) = (folder.file("trainer.py"), folder.file("rows.npy"), folder.file("result"));
    write_atomically(&script, |out| out.write_all(SCRIPT.as_bytes())).map_err(Failure::from)?;
    write_rows(&file, rows, model.forest().num_features)?;
    let mut command = Command::new(python);
    command.arg(&script).arg(library).arg(&model.path).arg(&file).arg(&result).stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        Ok(output) if output.status.code() == Some(NO_LIBRARY_STATUS) => {
            let why = format!("{} has no {library}", python.display());
            return Err(TrainerError::Unavailable { library, why });
        }
        Ok(output) => return Err(failed(library, &output).into()),
        Err(error) => {
            let why = format!("{} does not run: {error}", python.display());
            return Err(TrainerError::Unavailable { library, why });
        }
    };
    let who = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or(library).trim().to_string();
    let errors = String::from_utf8_lossy(&output.stderr);
    let missing = |line: &&str| kinds().iter().any(|kind| line.starts_with(&format!("{}: ", kind.word())));
    let mut notes: Vec<String> =
        errors.lines().filter(missing).map(|line| format!("{who} does not predict {line}")).collect();
    let mut outputs = Vec::new();
    for kind in kinds() {
        let name = kind.word();
        let path = result.with_extension(format!("{name}.npy"));
        let columns = kind.columns(&model.forest().counts());
        if !path.exists() {
            continue;
        }
        match read_rows(&DataSource::Path(path), Expect::unnamed(columns)) {
            Ok(found) => outputs.push(OtherPredictions { source: who.clone(), kind, values: found.values }),
            Err(_) => {
                notes.push(format!("{who} predicts {name} with another number of columns than {columns}"))
            }
        }
    }
    if outputs.is_empty() {
        return Err(failed(library, &output).into());
    }
    Ok(TrainerResults { outputs, notes })
}

fn failed(library: &str, output: &Output) -> Failure {
    let errors = String::from_utf8_lossy(&output.stderr);
    // Python prints the exception last, but traces of C++ may follow.
    let is_exception = |line: &&str| line.contains("Error: ");
    let last =
        errors.lines().rfind(is_exception).or_else(|| errors.lines().rfind(|line| !line.trim().is_empty()));
    let last = last.unwrap_or("it says nothing");
    Failure::new(
        usage::WRONG,
        format!("{library} does not predict the rows: {last}"),
        "compare with predictions that you have: --input ROWS --against PREDICTIONS; if another release of \
         the library reads the model, PYTHON names its Python",
    )
}
