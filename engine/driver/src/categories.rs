//! The meaning of a model's rows: names of categories, and the types of whole numbers.

use crate::model::Model;
use sched_categories::{Categories, Choices, Names, Unseen, to_json};
use sched_diagnostics::{Diagnostic, Place};
use sched_forest::{Float, Forest, Quirk, codes};
use serde_json::{Value, json};

/// The categories of a model under the user's choices. `None` if all features are plain numbers that the
/// model reads.
pub fn categories_of(model: &Model, choices: Choices) -> Option<Categories> {
    let all = &model.forest().categories;
    let plain = all.iter().all(Names::are_codes);
    (!plain).then(|| Categories::new(all.iter().cloned(), choices, unseen_of(model)))
}

/// The description of the categories of a library's model; null if all features are plain numbers that the
/// model reads.
pub fn about(model: &Model) -> Value {
    to_json(&model.forest().categories, unseen_of(model))
}

/// The treatment of unknown categories by the model's trainer.
fn unseen_of(model: &Model) -> Unseen {
    Unseen::of_trainer(model.source.trainer)
}

/// The features whose categories have names that the model's file lacks: by name, or else by number.
pub fn cut_names(model: &Model) -> Vec<String> {
    let forest = model.forest();
    let features = forest.categories.iter().enumerate().filter(|(_, names)| **names == Names::unknown());
    let name = |feature: usize| forest.feature_names.get(feature).map(|name| format!("`{name}`"));
    features.map(|(feature, _)| name(feature).unwrap_or_else(|| feature.to_string())).collect()
}

/// The warning about features whose categories have names that the model's file lacks, if there are any.
pub fn warning_of_cut_names(features: &[String]) -> Option<Diagnostic> {
    let noun = if features.len() == 1 { "feature" } else { "features" };
    let message = format!(
        "calls with names of categories are refused for the {noun} {}: the names have letters outside ASCII, \
         and XGBoost cuts such names in wrong places when it trains with pandas",
        features.join(", ")
    );
    let help = "give codes instead, with `--categories codes`, or in Python with categories=\"codes\"; or \
                rename the categories with ASCII letters, and train again";
    (!features.is_empty()).then(|| Diagnostic::new(codes::CUT_NAMES, Place::Whole, message).help(help))
}

/// The spellings of each feature's categories with their codes, for look-ups by text in C.
pub fn for_c(forest: &Forest) -> Vec<Vec<(String, f64)>> {
    match has_names(forest) {
        true => forest.categories.iter().map(Names::spellings).collect(),
        false => Vec::new(),
    }
}

/// Whether some categories of the model have names.
pub fn has_names(forest: &Forest) -> bool {
    forest.categories.iter().any(Names::are_names)
}

/// The types to which whole numbers of rows are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeNumbers {
    /// Type of whole numbers in cells of tables.
    pub of_tables: Float,
    /// Type of whole numbers in elements of arrays.
    pub of_arrays: Float,
}

impl WholeNumbers {
    /// The types of a model's trainer. LightGBM's Python package converts whole numbers of arrays to single
    /// precision, and those of data frames to double precision.
    pub fn of(model: &Model) -> WholeNumbers {
        let of_tables = model.trainer_row_type;
        let of_arrays = if model.source.has(Quirk::RoundsWholeArrays) { Float::F32 } else { of_tables };
        WholeNumbers { of_tables, of_arrays }
    }

    /// The types in the description of a library's model.
    pub fn about(self) -> Value {
        json!({ "tables": self.of_tables.word(), "arrays": self.of_arrays.word() })
    }

    /// The types from such a description. Without any, they are double precision, which rounds no number
    /// early.
    pub fn from_about(about: &Value) -> WholeNumbers {
        let float = |value: &Value| if value == Float::F32.word() { Float::F32 } else { Float::F64 };
        WholeNumbers { of_tables: float(&about["tables"]), of_arrays: float(&about["arrays"]) }
    }
}
