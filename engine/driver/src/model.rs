//! Models on disk.

use crate::failure::Failure;
use crate::schedule::ScheduleValues;
use sched_forest::{
    Float, Forest, Inner, Predicate, Profile, ReadOptions, SetTests, Source, Target, Tree, codes, fingerprint,
};
use sched_ir::quantize::BinMap;
use sched_nest::ModelInfo;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

/// The types of rows that there is to be code for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowTypes {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Either.
    #[default]
    Both,
}

/// A model that was read.
#[derive(Clone)]
pub struct Model {
    /// Its file.
    pub path: PathBuf,
    /// Its content.
    pub forest: Arc<Forest>,
    /// The type of the rows that the trainer reads. Its content may be for narrower ones.
    pub own_rows: Float,
    /// The fingerprint of the file.
    pub fingerprint: String,
    /// The version of the trainer that saved it.
    pub version: Vec<u64>,
    /// What its file says beside the model.
    pub source: Source,
    /// Remarks for the user.
    pub notes: Vec<String>,
    /// How often its leaves are reached, if that was counted.
    pub profile: Option<Profile>,
    /// Whether its rows come as columns, as far as that is known: schedules are chosen for it.
    pub by_columns: bool,
    /// What the checker needs to know of it, once somebody has asked.
    facts: OnceLock<Arc<ModelInfo>>,
}

impl Model {
    /// The bytes of a model's file.
    pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
        std::fs::read(path).map_err(|error| {
            let help = "name a model file, for example one that XGBoost's save_model wrote";
            Failure::new(codes::UNREADABLE, format!("the model cannot be read: {error}"), help)
                .of(path.display())
        })
    }

    /// Reads a model.
    pub fn read(path: &Path, reading: &ReadOptions) -> Result<Model, Failure> {
        Self::of_bytes(path, &Self::bytes(path)?, reading)
    }

    /// Reads a model from the bytes of its file.
    pub fn of_bytes(path: &Path, bytes: &[u8], reading: &ReadOptions) -> Result<Model, Failure> {
        // Hashing takes about half as long as reading; both only look at the bytes.
        let (loaded, fingerprint) = std::thread::scope(|scope| {
            let hashing = Builder::new().spawn_scoped(scope, || fingerprint(bytes));
            let loaded = sched_forest::load(bytes, reading);
            let fingerprint = match hashing {
                Ok(hashing) => hashing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system has no thread to give.
                Err(_) => fingerprint(bytes),
            };
            (loaded, fingerprint)
        });
        let loaded = loaded.map_err(|error| Failure::model(path, error))?;
        Ok(Model {
            path: path.to_path_buf(),
            own_rows: loaded.forest.types.input,
            forest: Arc::new(loaded.forest),
            fingerprint,
            version: loaded.version,
            source: loaded.source,
            notes: loaded.notes.into_iter().map(|note| note.0).collect(),
            profile: None,
            by_columns: false,
            facts: OnceLock::new(),
        })
    }

    /// A model that no file holds.
    pub fn of_forest(forest: Arc<Forest>) -> Model {
        Model {
            path: PathBuf::new(),
            own_rows: forest.types.input,
            forest,
            fingerprint: String::new(),
            version: Vec::new(),
            source: Source::default(),
            notes: Vec::new(),
            profile: None,
            by_columns: false,
            facts: OnceLock::new(),
        }
    }

    /// The model with the profile that goes with its schedule.
    pub fn profiled(mut self, values: &ScheduleValues) -> Result<Model, Failure> {
        let Some(path) = &values.profile else { return Ok(self) };
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::unreadable(
                path.display(),
                format!("the profile cannot be read: {error}"),
                "make one with `schedc profile MODEL -i ROWS -o FILE`",
            )
        })?;
        let profile = Profile::from_json(&bytes, &self.forest, &self.fingerprint);
        self.profile = Some(profile.map_err(|error| Failure::model(path, error))?);
        self.facts.take();
        Ok(self)
    }

    /// The types of rows that code is to be made for, the widest first. A model that reads single precision rounds all
    /// rows, as its trainer does; one that reads double precision must not, but is as exact for rows in single precision.
    pub fn row_types(&self, wanted: RowTypes) -> Vec<Float> {
        match (self.own_rows, wanted) {
            (Float::F32, _) | (Float::F64, RowTypes::F32) => vec![Float::F32],
            (Float::F64, RowTypes::F64) => vec![Float::F64],
            (Float::F64, RowTypes::Both) => vec![Float::F64, Float::F32],
        }
    }

    /// The same model for rows of a type.
    pub fn for_rows(&self, rows: Float) -> Model {
        let is_for_them = rows == Float::F64 || self.forest.types.input == Float::F32;
        let forest = match is_for_them {
            true => Arc::clone(&self.forest),
            false => Arc::new(Forest::clone(&self.forest).for_rows(rows)),
        };
        Model { forest, ..self.clone() }
    }

    /// It for rows that come as columns.
    pub fn for_columns(&self) -> Model {
        Model { by_columns: true, ..self.clone() }
    }

    /// What the checker needs to know of it.
    pub fn facts(&self) -> Arc<ModelInfo> {
        Arc::clone(self.facts.get_or_init(|| self.new_facts().into()))
    }

    fn new_facts(&self) -> ModelInfo {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let leaves: Vec<Vec<u32>> = self.forest.trees.iter().map(leaves).collect();
        // What kernels read are columns, where a test is not numeric.
        let columns = self.forest.prepared().map(|prepared| prepared.columns.len());
        let classes = self.forest.prepared_for(SetTests::OfClasses);
        ModelInfo {
            num_trees: count(self.forest.trees.len()),
            num_features: count(columns.unwrap_or(self.forest.num_features)),
            tested_features: count(columns.unwrap_or_else(|| tested_features(&self.forest))),
            num_classes: count(self.forest.num_margins),
            depths: leaves.iter().map(|counts| count(counts.len().saturating_sub(1))).collect(),
            leaves,
            oblivious: self.forest.trees.iter().map(Tree::is_oblivious).collect(),
            leaf_vectors: self.forest.trees.iter().any(|tree| tree.target == Target::All),
            value_bytes: count(self.forest.types.input.bytes()),
            sum_bytes: count(self.forest.types.accumulator.bytes()),
            bin_bytes: bin_bytes(&self.forest),
            category_features: count(category_features(&self.forest)),
            class_features: count(classes.map_or(0, |prepared| prepared.classes.len())),
            profiled: self.profile.is_some(),
            ..ModelInfo::default()
        }
    }
}

/// Bytes of a bin of a quantized row; 0 if rows cannot be quantized.
fn bin_bytes(forest: &Forest) -> u32 {
    BinMap::rows_of(forest, SetTests::OfColumns).map_or(0, |rows| if rows.in_bytes { 1 } else { 2 })
}

/// How many features some node tests.
fn tested_features(forest: &Forest) -> usize {
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    nodes.map(|node| node.feature).collect::<BTreeSet<_>>().len()
}

/// How many features have categories that some node asks for.
fn category_features(forest: &Forest) -> usize {
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    let asks = |node: &&Inner| matches!(node.predicate, Predicate::Member { .. });
    nodes.filter(asks).map(|node| node.feature).collect::<BTreeSet<_>>().len()
}

/// How many leaves a tree has at each depth.
fn leaves(tree: &sched_forest::Tree) -> Vec<u32> {
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
