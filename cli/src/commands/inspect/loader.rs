//! Differences between schedc and the trainer's own loader.

use sched_forest::{CATBOOST_JSON, Float, LIGHTGBM_TEXT, Predicate, Quirk, TreeTarget, Types, XGBOOST_JSON};
use schedc_driver::Model;
use schedc_driver::categories::has_names;

/// Each difference that the model shows, in a sentence.
pub fn differences(model: &Model) -> Vec<String> {
    let forest = model.forest();
    let trainer = model.source.trainer;
    let named = has_names(forest);
    let single = forest.types == Types::all(Float::F32);
    let is_vector = forest.trees.iter().any(|tree| tree.target == TreeTarget::All);
    let is_early = model.version.first().is_some_and(|major| *major < 3);
    let is_equality = |predicate: &Predicate| matches!(predicate, Predicate::Equal { .. });
    let mut inner = forest.trees.iter().flat_map(|tree| &tree.inner);
    let has_hashes = inner.any(|inner| is_equality(&inner.predicate));
    let mut sentences = Vec::new();
    if model.source.has(Quirk::RefusesInfinities) && single {
        sentences.push(format!("{trainer} rejects infinities; schedc accepts them"));
    }
    let of_trainers: &[(&str, bool, &str)] = &[
        (
            XGBOOST_JSON.trainer,
            forest.best_iteration.is_some(),
            "XGBoost's Booster predicts with all iterations, its scikit-learn wrappers with those up to the \
             best one: --iterations best",
        ),
        (
            XGBOOST_JSON.trainer,
            named,
            "XGBoost refuses unknown names of categories, and takes unknown codes as no category",
        ),
        (
            XGBOOST_JSON.trainer,
            is_vector && is_early,
            "XGBoost 3 does not read leaf vectors that earlier releases saved",
        ),
        (
            LIGHTGBM_TEXT.trainer,
            named,
            "LightGBM finds categories by name only in pandas frames; in other rows, values are codes",
        ),
        (
            CATBOOST_JSON.trainer,
            has_hashes,
            "CatBoost hashes categories, which are texts or integers; rows for schedc contain these hashes",
        ),
    ];
    let applying = of_trainers.iter().filter(|(who, applies, _)| *who == trainer && *applies);
    sentences.extend(applying.map(|(_, _, sentence)| (*sentence).to_owned()));
    sentences
}
