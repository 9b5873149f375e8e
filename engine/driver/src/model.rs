//! Models on disk.

use crate::failure::{Failure, reason};
use sched_forest::{
    Float, Forest, Inner, ModelSource, Predicate, Profile, ReadOptions, Tree, codes, fingerprint,
};
use sched_ir::KernelForests;
use sched_nest::{ModelInfo, StageInfo};
use sched_pipeline::{LoadedModel, SetTests, StageSummary, UnfoldedPipeline};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Builder;

/// Floating-point types of rows that an artefact has code for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowTypes {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Both types.
    #[default]
    Both,
}

/// A model that was read.
#[derive(Clone)]
pub struct Model {
    /// Path of the model's file; empty if it was not read from a file.
    pub path: PathBuf,
    /// The trees, and the forests that kernels walk. All compilations share them.
    forests: KernelForests,
    /// The type of the rows that the trainer reads. The trees may be for narrower rows.
    pub trainer_row_type: Float,
    /// The fingerprint of the file.
    pub fingerprint: String,
    /// The version of the trainer that saved it.
    pub version: Vec<u64>,
    /// The trainer, and other properties of the file.
    pub source: ModelSource,
    /// Remarks for the user.
    pub notes: Vec<String>,
    /// The columns that each stage of a pipeline could test; no stages for a model of trees alone.
    pub stages: Vec<StageSummary>,
    /// Counts of sample rows by leaf, if there is a profile.
    pub profile: Option<Profile>,
    /// Whether calls pass rows column-major. The choice of a schedule depends on it.
    pub is_column_major: bool,
    /// The properties that the checker reads, computed at the first use.
    info: OnceLock<Arc<ModelInfo>>,
    /// The schedules that schedc has chosen for the model, by target, processor and destination.
    choices: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Model {
    /// The bytes of a model's file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
        std::fs::read(path).map_err(|error| {
            let help = "check the path; a model is a file, such as one that XGBoost's save_model wrote";
            Failure::new(codes::UNREADABLE, format!("the model cannot be read: {}", reason(&error)), help)
                .in_file(path.display())
        })
    }

    /// Reads a model.
    ///
    /// # Errors
    /// When the file cannot be read, or is no model.
    pub fn read(path: &Path, reading: &ReadOptions) -> Result<Model, Failure> {
        Self::of_bytes(path, &Self::bytes(path)?, reading)
    }

    /// Reads a model from the bytes of its file.
    ///
    /// # Errors
    /// When the bytes are no model.
    pub fn of_bytes(path: &Path, bytes: &[u8], reading: &ReadOptions) -> Result<Model, Failure> {
        let _stage = tracing::info_span!("read").entered();
        // Hashing takes about half as long as reading; both only look at the bytes.
        let (loaded, fingerprint) = std::thread::scope(|scope| {
            let hashing = Builder::new().spawn_scoped(scope, || fingerprint(bytes));
            let loaded = sched_pipeline::load(bytes, reading);
            let fingerprint = match hashing {
                Ok(hashing) => hashing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system has no other thread.
                Err(_) => fingerprint(bytes),
            };
            (loaded, fingerprint)
        });
        let LoadedModel { model: loaded, stages } = loaded.map_err(|error| Failure::model(path, error))?;
        Ok(Model {
            stages,
            path: path.to_path_buf(),
            fingerprint,
            version: loaded.version,
            source: loaded.source,
            notes: loaded.notes.into_iter().map(|note| note.0).collect(),
            ..Model::of_forest(Arc::new(loaded.forest))
        })
    }

    /// The pipeline before all passes, which defines the model's results; `None` for a model of trees alone.
    /// Reads the model's file again, so that other commands do not pay for it.
    ///
    /// # Errors
    /// When the file cannot be read, or has changed.
    pub fn unfolded(&self) -> Result<Option<UnfoldedPipeline>, Failure> {
        if self.stages.is_empty() {
            return Ok(None);
        }
        let bytes = Self::bytes(&self.path)?;
        if fingerprint(&bytes) != self.fingerprint {
            let message = "the model's file has changed since it was read";
            return Err(Failure::new(codes::OTHER_MODEL, message, "run the command again")
                .in_file(self.path.display()));
        }
        let unfolded = UnfoldedPipeline::read(&bytes).map_err(|error| Failure::model(&self.path, error))?;
        Ok(Some(unfolded))
    }

    /// A model made of a forest, without a file.
    pub fn of_forest(forest: Arc<Forest>) -> Model {
        Model {
            path: PathBuf::new(),
            trainer_row_type: forest.types.input,
            forests: forest.into(),
            fingerprint: String::new(),
            version: Vec::new(),
            source: ModelSource::default(),
            notes: Vec::new(),
            stages: Vec::new(),
            profile: None,
            is_column_major: false,
            info: OnceLock::new(),
            choices: Arc::default(),
        }
    }

    /// The model with another forest, which reads rows of the same type.
    pub fn with_forest(self, forest: Forest) -> Model {
        Model { forests: Arc::new(forest).into(), info: OnceLock::new(), choices: Arc::default(), ..self }
    }

    /// The model with a profile from a file, if one is named.
    ///
    /// # Errors
    /// When the file cannot be read, or is no profile of this model.
    pub fn with_profile(mut self, path: Option<&Path>) -> Result<Model, Failure> {
        let Some(path) = path else { return Ok(self) };
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::unreadable(
                path.display(),
                format!("the profile cannot be read: {}", reason(&error)),
                "make one with `schedc profile MODEL -i ROWS -o FILE`",
            )
        })?;
        let profile = Profile::from_json(&bytes, self.forest(), &self.fingerprint);
        self.profile = Some(profile.map_err(|error| Failure::model(path, error))?);
        self.info.take();
        self.choices = Arc::default();
        Ok(self)
    }

    /// The types of rows for which code is compiled, the widest first. A model that reads single precision
    /// has code for that alone: it rounds all rows, as its trainer does. One that reads double precision must
    /// not round rows, so it has code for each type.
    pub fn row_types(&self, wanted: RowTypes) -> Vec<Float> {
        match (self.trainer_row_type, wanted) {
            // Computed columns keep the type of rows.
            (Float::F64, _) if !self.forest().computed.read_by_trees.is_empty() => vec![Float::F64],
            (Float::F32, _) | (Float::F64, RowTypes::F32) => vec![Float::F32],
            (Float::F64, RowTypes::F64) => vec![Float::F64],
            (Float::F64, RowTypes::Both) => vec![Float::F64, Float::F32],
        }
    }

    /// The model for rows of a type.
    pub fn for_rows(&self, rows: Float) -> Model {
        let is_computed = !self.forest().computed.read_by_trees.is_empty();
        let is_for_them = rows == Float::F64 || self.forest().types.input == Float::F32 || is_computed;
        if is_for_them {
            return self.clone();
        }
        self.clone().with_forest(Forest::clone(self.forest()).for_rows(rows))
    }

    /// The model for calls that pass rows column-major.
    pub fn for_columns(&self) -> Model {
        Model { is_column_major: true, choices: Arc::default(), ..self.clone() }
    }

    /// The trees. [`Model::with_forest`] replaces them, and discards all values that were computed from them.
    pub fn forest(&self) -> &Arc<Forest> {
        self.forests.source()
    }

    /// The forests that kernels walk, prepared once for all compilations.
    pub fn forests(&self) -> &KernelForests {
        &self.forests
    }

    /// The properties that the checker reads.
    pub fn info(&self) -> Arc<ModelInfo> {
        Arc::clone(self.info.get_or_init(|| self.new_info().into()))
    }

    /// The schedule for the target, processor and destination that `circumstances` describes. Calls `choose`
    /// at the first use.
    pub(crate) fn choice(&self, circumstances: String, choose: impl FnOnce() -> String) -> String {
        let chosen = self.choices.lock().ok().and_then(|choices| choices.get(&circumstances).cloned());
        chosen.unwrap_or_else(|| {
            let text = choose();
            if let Ok(mut choices) = self.choices.lock() {
                choices.insert(circumstances, text.clone());
            }
            text
        })
    }

    fn new_info(&self) -> ModelInfo {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let leaves: Vec<Vec<u32>> = self.forest().trees.iter().map(leaves_by_depth).collect();
        // Kernels read columns in place of features if some test is not numeric.
        let of_columns = self.forests.with_set_tests(SetTests::OfColumns);
        let columns = of_columns.prepared().map(|prepared| prepared.tested.len());
        let classes = self.forests.with_set_tests(SetTests::OfClasses).prepared();
        let rows = of_columns.quantized_rows();
        let (bins, bin_bytes) = rows.map_or((0, 0), |rows| (rows.columns, if rows.in_bytes { 1 } else { 2 }));
        let runs = of_columns.columns().ok().flatten();
        let step = self.stages.last().map_or("", |stage| stage.name.as_str());
        ModelInfo {
            stages: StageInfo::of_model(
                self.forests.column_stages(),
                (step, count(self.forest().trees.len())),
            ),
            num_trees: count(self.forest().trees.len()),
            num_features: count(columns.unwrap_or(self.forest().num_features)),
            tested_features: count(columns.unwrap_or_else(|| tested_features(self.forest()))),
            computed_columns: count(runs.map_or(0, |columns| columns.computed())),
            num_classes: count(self.forest().num_margins),
            depths: leaves.iter().map(|counts| count(counts.len().saturating_sub(1))).collect(),
            leaves,
            oblivious: self.forest().trees.iter().map(Tree::is_oblivious).collect(),
            has_leaf_vectors: self.forest().has_leaf_vectors(),
            takes_margins_in_turn: self.forest().takes_margins_in_turn(),
            value_bytes: count(self.forest().types.input.bytes()),
            sum_bytes: count(self.forest().types.accumulator.bytes()),
            bin_bytes,
            bins_per_row: bins,
            search_steps: rows.map_or(0, |rows| rows.search_steps),
            category_features: count(category_features(self.forest())),
            class_features: count(classes.map_or(0, |prepared| prepared.class_features)),
            has_profile: self.profile.is_some(),
            ..ModelInfo::default()
        }
    }
}

/// Number of features that nodes test, or that linear leaves add if there are no nodes.
fn tested_features(forest: &Forest) -> usize {
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    let tested: BTreeSet<u32> = nodes.map(|node| node.feature).collect();
    let terms = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
    let added = || terms.map(|(feature, _)| *feature).collect::<BTreeSet<_>>();
    if tested.is_empty() { added().len() } else { tested.len() }
}

/// Number of features whose categories nodes test.
fn category_features(forest: &Forest) -> usize {
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    let tests_set = |node: &&Inner| matches!(node.predicate, Predicate::Member { .. });
    nodes.filter(tests_set).map(|node| node.feature).collect::<BTreeSet<_>>().len()
}

/// The number of leaves of a tree at each depth.
fn leaves_by_depth(tree: &sched_forest::Tree) -> Vec<u32> {
    let mut counts: Vec<u32> = Vec::new();
    tree.for_each_leaf(|_, depth| {
        let at = depth as usize;
        if counts.len() <= at {
            counts.resize(at + 1, 0);
        }
        counts[at] += 1;
    });
    counts
}
