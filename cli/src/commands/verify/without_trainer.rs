//! Rows and a script for a machine that has the trainer's library.

use sched_forest::Quirk;
use schedc_data::{FeatureValues, write_atomically};
use schedc_driver::{Failure, Model};
use schedc_verify::trainer::{SCRIPT, write_rows};
use std::path::PathBuf;

/// Writes rows and script for another machine, and returns the failure that explains how to run them there.
pub fn without_trainer(model: &Model, rows: &FeatureValues, library: &str, why: &str) -> Failure {
    let stem = model.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = PathBuf::from(format!("{stem}.verify"));
    let made = std::fs::create_dir_all(&folder).map_err(|error| {
        let message = format!("the folder cannot be made: {error}");
        Failure::new(schedc_data::codes::UNWRITABLE, message, "check its permissions")
            .in_file(folder.display())
    });
    let written = made.and_then(|()| {
        write_atomically(&folder.join("trainer.py"), |out| out.write_all(SCRIPT.as_bytes()))?;
        write_rows(&folder.join("rows.npy"), rows, model.forest().num_features)
    });
    if let Err(failure) = written {
        return failure;
    }
    let (path, folder) = (model.path.display(), folder.display());
    let output = if model.source.has(Quirk::ValuesOnly) { "value" } else { "raw" };
    Failure::usage(
        format!("the trainer cannot predict: {why}"),
        format!(
            "{folder} has rows and a script. Where Python has {library}, run `python3 {folder}/trainer.py \
             {library} {path} {folder}/rows.npy {folder}/result`, and then `schedc verify {path} -i \
             {folder}/rows.npy \
             --by-position --output \
             {output} --against {folder}/result.{output}.npy`; or let PYTHON name a program that has it"
        ),
    )
}
