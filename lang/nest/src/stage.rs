//! Stages of a model: the trees, and before them layers of sums and other trees, which compute columns.

use crate::{Axis, Nest};

/// A stage of a model. Schedules put its name before its loops: `layer1.unit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageInfo {
    /// The name.
    pub name: String,
    /// The work of the stage.
    pub kind: StageKind,
    /// Number of sums of a row, or of results of trees that are columns; number of trees in the last stage.
    pub units: u32,
    /// Number of terms of a sum, or of trees whose results are columns; 0 in the last stage.
    pub terms: u32,
    /// Whether the sums must add their terms in order, since another order can change a result by more than
    /// rounding: a later step compares the sums, as tests of trees do, or they are long sums in single
    /// precision. False if unknown.
    pub is_ordered: bool,
    /// Whether the sums are in double precision. False if unknown.
    pub in_doubles: bool,
}

/// A stage whose results are columns, as its model has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnStageShape {
    /// The work of the stage.
    pub kind: StageKind,
    /// Number of sums of a row, or of results of trees.
    pub units: u32,
    /// Number of terms of a sum, or of trees.
    pub terms: u32,
    /// Whether the sums must add their terms in order; see [`StageInfo::is_ordered`].
    pub is_ordered: bool,
    /// Whether the sums are in double precision.
    pub in_doubles: bool,
}

/// Most terms of a sum in single precision whose order may change. A sum of 64 equal terms differs in two
/// orders by a millionth of the magnitudes of the terms, which is the bound: all of its additions round to
/// one side.
pub const MOST_FREE_SINGLES: u32 = 64;

impl StageInfo {
    /// Number of terms of a sum, if the stage has sums in single precision with more than
    /// [`MOST_FREE_SINGLES`] terms, which keep their order.
    pub fn long_sum(&self) -> Option<u32> {
        let is_long = self.is_ordered && !self.in_doubles && self.terms > MOST_FREE_SINGLES;
        (is_long && self.kind != StageKind::ColumnTrees).then_some(self.terms)
    }

    /// The stages of a model: those whose results are `columns`, then trees. The stage of trees has the name
    /// of the model's last step, if that can be a name in a schedule; otherwise `trees`.
    pub fn of_model(columns: &[ColumnStageShape], (step, trees): (&str, u32)) -> Vec<StageInfo> {
        let mut stages: Vec<StageInfo> = Vec::with_capacity(columns.len() + 1);
        for ColumnStageShape { kind, units, terms, is_ordered, in_doubles } in columns.iter().copied() {
            let number = stages.iter().filter(|stage| stage.kind == kind).count() + 1;
            let name = format!("{}{number}", kind.name_stem());
            stages.push(StageInfo { name, kind, units, terms, is_ordered, in_doubles });
        }
        let is_word = step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && step.starts_with(|c: char| c.is_ascii_alphabetic())
            && !stages.iter().any(|stage| stage.name == step)
            && !matches!(step, "batch" | "tree");
        let name = if is_word { step } else { "trees" }.to_owned();
        let (kind, is_ordered, in_doubles) = (StageKind::Trees, false, false);
        stages.push(StageInfo { name, kind, units: trees, terms: 0, is_ordered, in_doubles });
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
    /// Walks of trees whose results are columns: other trees or layers read them.
    ColumnTrees,
}

impl StageKind {
    /// All kinds.
    pub const ALL: [StageKind; 4] =
        [StageKind::Trees, StageKind::Products, StageKind::Distances, StageKind::ColumnTrees];

    /// The beginning of the names of a kind's stages, which a number follows.
    fn name_stem(self) -> &'static str {
        match self {
            StageKind::Trees | StageKind::ColumnTrees => "trees",
            StageKind::Products => "layer",
            StageKind::Distances => "distances",
        }
    }

    /// The kind of the stages of columns that have names such as this one: `layer1`, `trees2`.
    pub fn of_name(name: &str) -> Option<StageKind> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let kinds = [StageKind::Products, StageKind::Distances, StageKind::ColumnTrees];
        kinds.into_iter().find(|kind| stem.len() < name.len() && kind.name_stem() == stem)
    }

    /// Word for the kind in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            StageKind::Trees => "trees",
            StageKind::Products => "products",
            StageKind::Distances => "distances",
            StageKind::ColumnTrees => "column trees",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<StageKind> {
        StageKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Names of the loops inside `batch`, outermost first, with their axes.
    pub fn loops(self) -> &'static [(&'static str, Axis)] {
        match self {
            StageKind::Trees | StageKind::ColumnTrees => &[("tree", Axis::Tree)],
            StageKind::Products => &[("unit", Axis::Unit), ("feature", Axis::Feature)],
            StageKind::Distances => &[("vector", Axis::Unit), ("feature", Axis::Feature)],
        }
    }

    /// The work of one iteration of the innermost loop.
    pub fn leaf_work(self) -> &'static str {
        match self {
            StageKind::Trees | StageKind::ColumnTrees => "walk",
            StageKind::Products => "add a product",
            StageKind::Distances => "add a squared difference",
        }
    }
}

/// The loops of a stage whose results are columns, if directives of the schedule name them.
#[derive(Clone, Debug, PartialEq)]
pub struct StageNest {
    /// The stage.
    pub stage: StageInfo,
    /// A chain of loops over rows, units and features, or over rows and trees. Its leaf adds a term, or walks
    /// a tree.
    pub nest: Nest,
}
