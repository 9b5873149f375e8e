//! What the trainer's own loader does with a model that is not done here.

use sched_forest::{Float, Predicate, Target, Types};
use schedc_driver::Model;
use schedc_driver::categories::has_names;

/// Each difference in a sentence.
pub fn differences(model: &Model) -> Vec<&'static str> {
    let forest = &model.forest;
    let named = has_names(forest);
    let single = forest.types == Types::all(Float::F32);
    let is_vector = forest.trees.iter().any(|tree| tree.target == Target::All);
    let old = model.version.first().is_some_and(|major| *major < 3);
    let all: &[(&str, bool, &'static str)] = &[
        ("XGBoost", single, "XGBoost refuses rows with infinities, which are values like others here"),
        (
            "XGBoost",
            forest.best_iteration.is_some(),
            "its Booster uses all iterations, its scikit-learn wrappers those up to the best one: --iterations best",
        ),
        (
            "XGBoost",
            named,
            "XGBoost refuses categories that it has not seen in columns with names; as numbers they are no category",
        ),
        (
            "XGBoost",
            is_vector && old,
            "XGBoost 3 does not read vectors in leaves that earlier releases have saved",
        ),
        (
            "LightGBM",
            named,
            "LightGBM finds categories by their names in pandas frames only, else values are codes",
        ),
        (
            "CatBoost",
            forest
                .trees
                .iter()
                .flat_map(|tree| &tree.inner)
                .any(|it| matches!(it.predicate, Predicate::Equal { .. })),
            "CatBoost takes categories as texts or integers and hashes them; values are these hashes here",
        ),
    ];
    let trainer = model.source.trainer;
    all.iter().filter(|(who, applies, _)| *who == trainer && *applies).map(|(_, _, text)| *text).collect()
}
