//! Checks the table of formats against files of each format, and against the lists in Python and in the
//! documents, which are written by hand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{bits, files, fixtures, floats, leaves, margins};
use sched_forest::{FORMATS, ModelFormat, ReadOptions, load};
use serde::Deserialize;

/// The trainer's results for rows, in the form that suits most formats: a file `NAME.expected.json` beside
/// the model. Fixtures in other forms have tests of their own.
#[derive(Deserialize)]
struct Expected {
    rows: Vec<u64>,
    margins: Vec<u64>,
    leaves: Vec<u32>,
}

/// The results beside a model.
fn expected(model: &Path) -> Option<Expected> {
    serde_json::from_slice(&std::fs::read(model.with_extension("expected.json")).ok()?).ok()
}

/// The text of a file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The distinct values of one field of the table, without the empty text.
fn words(field: impl Fn(&ModelFormat) -> &'static str) -> BTreeSet<&'static str> {
    FORMATS.iter().map(|format| field(format)).filter(|word| !word.is_empty()).collect()
}

/// The trainer of a format, or the format's word if its files name no trainer.
fn family(format: &ModelFormat) -> &'static str {
    if format.trainer.is_empty() { format.name } else { format.trainer }
}

#[test]
fn files_have_the_format_of_their_ending_and_the_trainers_results() {
    let (mut seen, mut compared) = (BTreeSet::new(), 0);
    let entries = std::fs::read_dir(fixtures("")).unwrap().map(|entry| entry.unwrap().path());
    for folder in entries.filter(|path| path.is_dir() && !path.ends_with("refused")) {
        let models: Vec<PathBuf> = files(&folder);
        for path in &models {
            let bytes = std::fs::read(path).unwrap();
            let Ok(loaded) = load(&bytes, &ReadOptions::default()) else { continue };
            let format = loaded.source.format.unwrap();
            let ending = path.extension().unwrap().to_str().unwrap();
            assert!(format.endings.contains(&ending), "{}: {}", path.display(), format.title());
            assert_eq!(loaded.source.trainer, format.trainer, "{}", path.display());
            seen.insert(format.title());
            // Names of categories are no numbers, and one model has a base score that no float equals.
            let is_close = path.file_stem().unwrap() == "base-rounded";
            let forest = loaded.forest;
            let Some(expected) = expected(path).filter(|_| forest.categories.is_empty() && !is_close) else {
                continue;
            };
            let rows = floats(&expected.rows);
            assert_eq!(bits(&margins(&forest, &rows)), expected.margins, "{}: margins", path.display());
            assert_eq!(leaves(&forest, &rows), expected.leaves, "{}: leaves", path.display());
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
    let all: BTreeSet<String> = FORMATS.iter().map(|format| format.title()).collect();
    assert_eq!(seen, all);
}

#[test]
fn fuzzing_starts_from_models() {
    let seeds = files(&fixtures("../../../fuzz/seeds/model"));
    for path in &seeds {
        load(&std::fs::read(path).unwrap(), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    assert!(seeds.len() > 20);
}

#[test]
fn python_runs_the_library_of_each_format() {
    let script = text("engine/verify/src/trainer.py");
    let functions =
        script.lines().filter_map(|line| line.strip_prefix("def ")?.split_once("(numpy, library,"));
    let functions: BTreeSet<&str> = functions.map(|(name, _)| name).collect();
    assert_eq!(functions, words(|format| format.trainer_package));
}

#[test]
fn python_compiles_the_objects_of_each_format() {
    let origin = text("python/compiler/schedc/origin.py");
    let (_, readers) = origin.split_once("_READERS: ").unwrap();
    let packages = readers.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split_once('"'));
    let mut packages: BTreeSet<&str> = packages.map(|(package, _)| package).collect();
    assert!(packages.remove("sklearn"), "scikit-learn's objects come by way of Treelite");
    assert_eq!(packages, words(|format| format.objects_package));
    let (_, refusal) = origin.split_once("is no model that schedc reads").unwrap();
    for family in words(|format| if format.objects_package.is_empty() { "" } else { family(format) }) {
        assert!(refusal[..350].contains(family), "the refusal of other objects names {family}");
    }
}

#[test]
fn documents_describe_each_format() {
    let (models, numerics) = (text("docs/models.md"), text("docs/numerics.md"));
    let heads = models.lines().find(|line| line.starts_with("| | [")).unwrap();
    for family in words(family) {
        assert!(models.contains(&format!("\n## {family}")), "docs/models.md has a section {family}");
        assert!(
            heads.contains(&format!("[{family}](#")),
            "the table of docs/models.md has a column {family}"
        );
        assert!(numerics.contains(&format!("\n| {family}")), "docs/numerics.md has a row {family}");
    }
}
