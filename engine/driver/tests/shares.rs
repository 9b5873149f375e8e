//! Compares the words for the predictions of classifiers with the outputs of the files.

use schedc_driver::Model;
use schedc_driver::shares::values_word;
use std::error::Error;
use std::fs;
use std::path::Path;

/// Exports whose probabilities have no provable range: an isotonic curve is linear between points.
const WITHOUT_RANGE: [&str; 1] = ["calibrated-isotonic"];

/// The metadata of an export name its outputs. In files without them, the ranges of values decide.
#[test]
fn predictions_without_probabilities_are_scores() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../forest/pipeline/tests/fixtures");
    let mut words = [0; 2];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "onnx") {
            continue;
        }
        let fixture: serde_json::Value = serde_json::from_slice(&fs::read(path.with_extension("json"))?)?;
        let outputs = fixture["outputs"].as_array().ok_or("no outputs")?;
        let has = |name: &str| outputs.iter().any(|output| output["name"] == name);
        let expected = (has("label") && !has("probabilities")).then_some("scores");
        let model = Model::read(&path, &Default::default()).map_err(|_| path.display().to_string())?;
        let mut forest = model.forest().as_ref().clone();
        assert_eq!(values_word(&forest), expected, "{}", path.display());
        words[usize::from(expected.is_some())] += 1;
        if let Some(classes) = &mut forest.output.classes {
            classes.are_probabilities = None;
        }
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let expected = if WITHOUT_RANGE.contains(&name) { Some("scores") } else { expected };
        assert_eq!(values_word(&forest), expected, "{} by ranges", path.display());
    }
    assert!(words.iter().all(|count| *count > 5), "{words:?}");
    Ok(())
}
