//! Checks the predictions of the pipelines in `examples/pipeline`, interpreted and compiled, for raw rows:
//! `expected/NAME.csv` has those of scikit-learn for `NAME.onnx`.

use crate::support::shell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Largest difference of a prediction: sums of other libraries add in another order.
const CLOSE: f64 = 1e-12;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pipeline")
}

/// The lines that `schedc predict` prints for the rows of the folder.
fn predicted(name: &str, options: &str) -> Result<Vec<String>> {
    let command = format!("schedc predict {name}.onnx --quiet --no-cache -i people.csv {options}");
    let output = shell(&command, &folder()).stderr(Stdio::inherit()).output()?;
    assert!(output.status.success(), "{command}");
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_string).collect())
}

/// The numbers of a line, and the text after the last comma.
fn parsed(line: &str) -> Result<(Vec<f64>, &str)> {
    let (numbers, class) = line.rsplit_once(',').ok_or("a line without a class")?;
    Ok((numbers.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?, class))
}

#[test]
fn example_pipelines_predict_as_scikit_learn() -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    assert!(names.len() > 5, "only {names:?}");
    for name in names {
        let text = fs::read_to_string(folder().join(format!("expected/{name}.csv")))?;
        for options in ["", "--compile"] {
            let values = predicted(&name, options)?;
            let classes = predicted(&name, &format!("{options} --output class"))?;
            assert_eq!([values.len(), classes.len()], [13, 13], "{name}");
            for ((expected, values), class) in text.lines().zip(&values).zip(&classes).skip(1) {
                let (expected, label) = parsed(expected)?;
                assert_eq!(class, label, "{name} {options}");
                let (values, _) = parsed(&format!("{values},"))?;
                assert_eq!(values.len(), expected.len(), "{name}");
                for (value, expected) in values.iter().zip(&expected) {
                    let difference = (value - expected).abs();
                    assert!(difference <= CLOSE, "{name} {options}: {value} instead of {expected}");
                }
            }
        }
    }
    Ok(())
}
