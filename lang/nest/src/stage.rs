//! Stages of a model: the trees, and the layers of sums that compute columns before them.

use crate::{Axis, Nest};

/// A stage of a model. Schedules put its name before its loops: `layer1.unit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageInfo {
    /// The name.
    pub name: String,
    /// The work of the stage.
    pub kind: StageKind,
    /// Sums of a row; trees of the stage of trees.
    pub units: u32,
    /// Terms of a sum; 0 for trees.
    pub terms: u32,
}

impl StageInfo {
    /// The stages of a model: layers, each with its kind, its sums and its terms, then trees. The stage of
    /// trees has the name of the model's last step, if that can be a name in a schedule; otherwise `trees`.
    pub fn of_model(layers: &[(StageKind, u32, u32)], (step, trees): (&str, u32)) -> Vec<StageInfo> {
        let mut counts = [0; 2];
        let mut stages: Vec<StageInfo> = Vec::with_capacity(layers.len() + 1);
        for (kind, units, terms) in layers.iter().copied() {
            let is_distances = kind == StageKind::Distances;
            let count = &mut counts[usize::from(is_distances)];
            *count += 1;
            let name = format!("{}{count}", if is_distances { "distances" } else { "layer" });
            stages.push(StageInfo { name, kind, units, terms });
        }
        let is_word = step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && step.starts_with(|c: char| c.is_ascii_alphabetic())
            && !stages.iter().any(|stage| stage.name == step)
            && !matches!(step, "batch" | "tree");
        let name = if is_word { step } else { "trees" }.to_owned();
        stages.push(StageInfo { name, kind: StageKind::Trees, units: trees, terms: 0 });
        stages
    }
}

/// The work of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageKind {
    /// Walks of trees; in a model without trees, the weighted sums that are its scores.
    Trees,
    /// Sums of products of columns with constants.
    Products,
    /// Sums of squared differences of columns from constants: distances from vectors.
    Distances,
}

impl StageKind {
    /// All kinds.
    pub const ALL: [StageKind; 3] = [StageKind::Trees, StageKind::Products, StageKind::Distances];

    /// Word for the kind in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            StageKind::Trees => "trees",
            StageKind::Products => "products",
            StageKind::Distances => "distances",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<StageKind> {
        StageKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Names of the loops inside `batch`, outermost first, with their axes.
    pub fn loops(self) -> &'static [(&'static str, Axis)] {
        match self {
            StageKind::Trees => &[("tree", Axis::Tree)],
            StageKind::Products => &[("unit", Axis::Unit), ("feature", Axis::Feature)],
            StageKind::Distances => &[("vector", Axis::Unit), ("feature", Axis::Feature)],
        }
    }

    /// The work of one iteration of the innermost loop.
    pub fn leaf_work(self) -> &'static str {
        match self {
            StageKind::Trees => "walk",
            StageKind::Products => "add a product",
            StageKind::Distances => "add a squared difference",
        }
    }
}

/// The loops of a stage of sums, if directives of the schedule name them.
#[derive(Clone, Debug, PartialEq)]
pub struct StageNest {
    /// The stage.
    pub stage: StageInfo,
    /// A chain of loops over rows, units and features. Its leaf adds a term.
    pub nest: Nest,
}
