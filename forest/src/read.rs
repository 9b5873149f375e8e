//! From the bytes of a model file to a forest.

use crate::codes;
use crate::detect::detect;
use crate::error::ModelError;
use crate::forest::Forest;
use crate::format::{ModelFormat, Quirk};
use crate::loaded::{LoadedForest, ReadOptions};

/// Reads a model with all its iterations.
///
/// # Errors
/// A [`ModelError`] if the bytes are no model, or a model that cannot be computed exactly.
pub fn read(bytes: &[u8]) -> Result<Forest, ModelError> {
    read_with(bytes, &ReadOptions::default())
}

/// Reads a model.
///
/// # Errors
/// A [`ModelError`] if the bytes are no model, a model that cannot be computed exactly, or one that lacks the
/// chosen iterations.
pub fn read_with(bytes: &[u8], options: &ReadOptions) -> Result<Forest, ModelError> {
    load(bytes, options).map(|loaded| loaded.forest)
}

/// Reads a model and keeps the reader's remarks and the facts of the file.
///
/// # Errors
/// A [`ModelError`], as [`read_with`].
pub fn load(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    let (reader, input) = detect(bytes)?;
    let mut loaded = (reader.read)(input, options)?;
    refuse_release(reader.format, options)?;
    loaded.source.format = Some(reader.format);
    loaded.source.trainer = reader.format.trainer;
    Ok(loaded)
}

impl ReadOptions {
    /// Checks the options for a file of this format, which has trees but no iterations.
    ///
    /// # Errors
    /// `M0018` if iterations were chosen, `M0025` if a release of the trainer was.
    pub fn check_whole(&self, format: &ModelFormat) -> Result<(), ModelError> {
        self.iterations.select(1, None)?;
        refuse_release(format, self)
    }
}

/// Refuses `--as-release` for a file that XGBoost did not save.
fn refuse_release(format: &ModelFormat, options: &ReadOptions) -> Result<(), ModelError> {
    let Some(release) = options.as_release.filter(|_| !format.has(Quirk::DependsOnRelease)) else {
        return Ok(());
    };
    let whose = if format.trainer.is_empty() {
        "XGBoost did not save this file".into()
    } else {
        format!("this is a model of {}", format.trainer)
    };
    let message = format!("`--as-release {release}` applies only to files that XGBoost saved; {whose}");
    Err(ModelError::new(codes::OTHER_RELEASE, message).help("leave out `--as-release`"))
}
