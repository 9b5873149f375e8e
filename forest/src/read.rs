//! From the bytes of a model file to a forest: the format is found by looking at the content.

use crate::catboost;
use crate::codes;
use crate::detect::{Format, detect, is_catboost, whose_json};
use crate::error::ModelError;
use crate::forest::Forest;
use crate::lightgbm;
use crate::loaded::{Loaded, ReadOptions};
use crate::{onnx, treelite, xgboost};

/// Reads a model with all its iterations.
///
/// # Errors
/// A [`ModelError`] if the bytes are no model, or one that cannot be computed exactly.
pub fn read(bytes: &[u8]) -> Result<Forest, ModelError> {
    read_with(bytes, &ReadOptions::default())
}

/// Reads a model.
///
/// # Errors
/// A [`ModelError`] if the bytes are no model, or one that cannot be computed exactly, or one without the
/// iterations that were chosen.
pub fn read_with(bytes: &[u8], options: &ReadOptions) -> Result<Forest, ModelError> {
    load(bytes, options).map(|loaded| loaded.forest)
}

/// Reads a model and keeps the remarks that the reader made.
///
/// # Errors
/// The same as [`read_with`].
pub fn load(bytes: &[u8], options: &ReadOptions) -> Result<Loaded, ModelError> {
    let of = |loaded: Result<Loaded, ModelError>| {
        let loaded = loaded?;
        refuse_release(loaded.source.trainer, options).map(|()| loaded)
    };
    match detect(bytes)? {
        Format::XgboostJson(json) => {
            let is_foreign = |code| code == codes::UNKNOWN_FORMAT || code == codes::STRUCTURE;
            let whose = |error: ModelError| match is_foreign(error.code) {
                true => whose_json(json).unwrap_or(error),
                false => error,
            };
            match xgboost::read_json(json, options) {
                Err(error) if is_foreign(error.code) && is_catboost(json) => {
                    of(catboost::read_json(json, &options.iterations))
                }
                read => read.map_err(whose),
            }
        }
        Format::LightgbmText(text) => of(lightgbm::read(text, &options.iterations)),
        Format::Onnx => of(onnx::read(bytes, &options.iterations)),
        Format::CatboostJson(json) => of(catboost::read_json(json, &options.iterations)),
        Format::Treelite => of(treelite::read(bytes, &options.iterations)),
        Format::XgboostUbjson => xgboost::read_ubjson(bytes, options),
    }
}

/// Refuses the meaning of a release of XGBoost for a file that it did not save.
fn refuse_release(trainer: &str, options: &ReadOptions) -> Result<(), ModelError> {
    let Some(release) = options.as_release else { return Ok(()) };
    let whose = if trainer.is_empty() {
        "the file is no file of XGBoost".into()
    } else {
        format!("this is a model of {trainer}")
    };
    let message = format!("the meaning that XGBoost {release} gives the model was asked for, and {whose}");
    Err(ModelError::new(codes::OTHER_RELEASE, message).help(
        "leave out `--as-release`: only files that XGBoost saved mean different things to its releases",
    ))
}
