//! Stages of a model: the trees, and before them layers of sums and other trees, which compute columns.

use crate::{Axis, Nest};

/// A stage of a model. Schedules put its name before its loops: `layer1.unit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageInfo {
    /// The name, which no other stage has.
    pub name: String,
    /// The names of the steps of the model's pipeline that the stage computes, such as `svc`. Several stages
    /// may belong to one step, and one stage may compute sums of several steps. Schedules put such a name
    /// before loops, too: it means all stages of the step that have these loops.
    pub steps: Vec<String>,
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

    /// The stages of a model: those whose results are `columns`, which get their names here, then trees. The
    /// stage of trees has the name of the model's last step, if that can be a name in a schedule; otherwise
    /// `trees`. Scores belong to the last step, too.
    pub fn of_model(columns: Vec<StageInfo>, (step, trees): (&str, u32)) -> Vec<StageInfo> {
        let mut stages: Vec<StageInfo> = Vec::with_capacity(columns.len() + 1);
        for mut stage in columns {
            let number = stages.iter().filter(|other| other.kind == stage.kind).count() + 1;
            stage.name = stage.kind.name_of(number);
            if stage.kind == StageKind::Scores {
                stage.steps = vec![step.to_owned()];
            }
            stage.steps.retain(|step| is_step(step));
            stages.push(stage);
        }
        let name = if is_step(step) { step } else { "trees" }.to_owned();
        stages.push(StageInfo { name, units: trees, ..StageInfo::default() });
        stages
    }

    /// Whether the stage has a name that stands before a loop: its own one, or that of one of its steps.
    pub fn has_name(&self, name: &str) -> bool {
        self.name == name || self.steps.iter().any(|step| step == name)
    }

    /// The name in messages: the stage's own one, followed by those of its steps, as in `layer1 (hidden)`.
    pub fn title(&self) -> String {
        let name = &self.name;
        if self.steps.is_empty() { name.clone() } else { format!("{name} ({})", self.steps.join(", ")) }
    }
}

/// Whether the name of a step can stand before loops: a word that is no stage's own name, and no loop's.
fn is_step(step: &str) -> bool {
    let is_loop = |kind: StageKind| kind.loops().iter().any(|(name, _)| *name == step);
    step.starts_with(|c: char| c.is_ascii_alphabetic())
        && step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && StageKind::of_name(step).is_none()
        && step != "batch"
        && !StageKind::ALL.into_iter().any(is_loop)
}

/// The work of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StageKind {
    /// Walks of trees; in a model without trees, the weighted sums that are its scores.
    #[default]
    Trees,
    /// Sums of products of columns with constants.
    Products,
    /// Sums of squared differences of columns from constants: distances from vectors.
    Distances,
    /// Walks of trees whose results are columns: other trees or layers read them.
    ColumnTrees,
    /// The weighted sums that are the scores of a model without trees, if the schedule arranges their loops.
    /// The trees of the last stage then only pass them on.
    Scores,
}

impl StageKind {
    /// All kinds.
    pub const ALL: [StageKind; 5] = [
        StageKind::Trees,
        StageKind::Products,
        StageKind::Distances,
        StageKind::ColumnTrees,
        StageKind::Scores,
    ];

    /// The beginning of the names of a kind's stages, which a number follows. A model has at most one stage
    /// of scores, whose name has no number.
    fn name_stem(self) -> &'static str {
        match self {
            StageKind::Trees | StageKind::ColumnTrees => "trees",
            StageKind::Products => "layer",
            StageKind::Distances => "distances",
            StageKind::Scores => "scores",
        }
    }

    /// The name of a kind's stage with this number.
    fn name_of(self, number: usize) -> String {
        match self {
            StageKind::Scores => self.name_stem().to_owned(),
            _ => format!("{}{number}", self.name_stem()),
        }
    }

    /// The kind of the stages of columns that have names such as this one: `layer1`, `trees2`, `scores`.
    pub fn of_name(name: &str) -> Option<StageKind> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let has_number = stem.len() < name.len();
        let kinds = [StageKind::Products, StageKind::Distances, StageKind::ColumnTrees, StageKind::Scores];
        kinds.into_iter().find(|kind| kind.name_stem() == stem && has_number == (*kind != StageKind::Scores))
    }

    /// Whether the stage's sums add terms.
    pub fn has_terms(self) -> bool {
        matches!(self, StageKind::Products | StageKind::Distances | StageKind::Scores)
    }

    /// Whether the terms of the stage's sums are products.
    pub fn has_products(self) -> bool {
        matches!(self, StageKind::Products | StageKind::Scores)
    }

    /// Word for the kind in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            StageKind::Trees => "trees",
            StageKind::Products => "products",
            StageKind::Distances => "distances",
            StageKind::ColumnTrees => "column trees",
            StageKind::Scores => "scores",
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
            StageKind::Products | StageKind::Scores => &[("unit", Axis::Unit), ("feature", Axis::Feature)],
            StageKind::Distances => &[("vector", Axis::Unit), ("feature", Axis::Feature)],
        }
    }

    /// The work of one iteration of the innermost loop.
    pub fn leaf_work(self) -> &'static str {
        match self {
            StageKind::Trees | StageKind::ColumnTrees => "walk",
            StageKind::Products | StageKind::Scores => "add a product",
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
