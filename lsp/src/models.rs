//! Models that schedules name. A separate process `schedc inspect` reads each model, so that a large model
//! costs the server neither time nor memory. The server keeps the properties of a model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sched_nest::{ModelInfo, StageInfo, StageKind};

/// Endings of the names of model files, without the dot. The program that runs the server names them, since
/// the server knows no formats. A model may have any other name.
#[derive(Clone, Debug)]
pub struct ModelFileEndings {
    /// The endings.
    pub endings: Arc<[&'static str]>,
    /// Whether a file with such an ending may be a model; the argument is the file's first bytes.
    pub may_be_model: fn(&[u8]) -> bool,
}

impl Default for ModelFileEndings {
    fn default() -> Self {
        ModelFileEndings { endings: Arc::default(), may_be_model: |_| false }
    }
}

impl ModelFileEndings {
    /// Whether the name of a file has one of the endings.
    pub fn matches(&self, path: &Path) -> bool {
        path.extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| self.endings.contains(&ending))
    }
}

/// Maximum number of cached models.
const MAX_CACHED_MODELS: usize = 64;

/// A model that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct InspectedModel {
    /// The model properties with which schedules are checked.
    pub info: Arc<ModelInfo>,
    /// The fingerprint of the file's content.
    pub fingerprint: String,
}

/// The status of a model.
#[derive(Clone, Debug)]
pub enum ModelStatus {
    /// There is no such file.
    Missing,
    /// Being read for the first time.
    Loading,
    /// Read. While a changed file is read again, this is the earlier model.
    Ready(Arc<InspectedModel>),
    /// The file could not be read as a model; the text has the reason.
    Failed(Arc<str>),
}

impl ModelStatus {
    /// The model, if it was read.
    pub fn model(&self) -> Option<&Arc<InspectedModel>> {
        match self {
            ModelStatus::Ready(model) => Some(model),
            _ => None,
        }
    }
}

/// Size and modification time of a file: if they are the same, the content counts as unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    size: u64,
    changed: Option<SystemTime>,
}

impl FileStamp {
    /// Returns the stamp of the file at a path; `None` if there is no regular file.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(FileStamp { size: found.len(), changed: found.modified().ok() })
    }
}

#[derive(Debug)]
struct CachedModel {
    stamp: FileStamp,
    status: ModelStatus,
    used: u64,
}

/// The cache of models, by path.
#[derive(Debug, Default)]
pub struct Models {
    entries: HashMap<PathBuf, CachedModel>,
    clock: u64,
}

impl Models {
    /// Returns the status of a model, and the file's stamp if the caller must now have the model read.
    pub fn look_up(&mut self, path: &Path) -> (ModelStatus, Option<FileStamp>) {
        self.clock += 1;
        let Some(stamp) = FileStamp::of(path) else {
            self.entries.remove(path);
            return (ModelStatus::Missing, None);
        };
        let used = self.clock;
        match self.entries.get_mut(path) {
            Some(entry) if entry.stamp == stamp => {
                entry.used = used;
                (entry.status.clone(), None)
            }
            Some(entry) => {
                entry.stamp = stamp;
                entry.used = used;
                if matches!(entry.status, ModelStatus::Failed(_) | ModelStatus::Missing) {
                    entry.status = ModelStatus::Loading;
                }
                (entry.status.clone(), Some(stamp))
            }
            None => {
                self.make_room();
                self.entries
                    .insert(path.to_path_buf(), CachedModel { stamp, status: ModelStatus::Loading, used });
                (ModelStatus::Loading, Some(stamp))
            }
        }
    }

    /// The stamp of a file at its last look-up; `None` if the file was missing.
    pub fn known_stamp(&self, path: &Path) -> Option<FileStamp> {
        self.entries.get(path).map(|entry| entry.stamp)
    }

    /// Stores the result of reading a model, unless the file has changed since. Returns whether the status of
    /// the model has changed.
    pub fn store(&mut self, path: &Path, stamp: FileStamp, result: Result<InspectedModel, String>) -> bool {
        let same = result.as_ref().ok().and_then(|model| self.with_content(model));
        let Some(entry) = self.entries.get_mut(path).filter(|entry| entry.stamp == stamp) else {
            return false;
        };
        let status = match (same, result) {
            (Some(model), _) => ModelStatus::Ready(model),
            (None, Ok(model)) => ModelStatus::Ready(Arc::new(model)),
            (None, Err(why)) => ModelStatus::Failed(why.into()),
        };
        let changed = match (&entry.status, &status) {
            (ModelStatus::Ready(old), ModelStatus::Ready(new)) => old != new,
            (ModelStatus::Failed(old), ModelStatus::Failed(new)) => old != new,
            _ => true,
        };
        entry.status = status;
        changed
    }

    /// A cached model with the same content under any path, since models are often copied.
    fn with_content(&self, model: &InspectedModel) -> Option<Arc<InspectedModel>> {
        let known = self.entries.values().filter_map(|entry| entry.status.model());
        known.into_iter().find(|known| ***known == *model).cloned()
    }

    /// Drops the models that were looked up least recently, until there is room for one more.
    fn make_room(&mut self) {
        while self.entries.len() >= MAX_CACHED_MODELS {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { return };
            self.entries.remove(&path);
        }
    }
}

/// The output of `schedc inspect --facts`.
#[derive(serde::Deserialize)]
struct InspectedFacts {
    fingerprint: String,
    num_trees: u32,
    num_features: u32,
    /// Absent in the output of older programs.
    #[serde(default)]
    tested_features: u32,
    num_classes: u32,
    depths: Vec<u32>,
    leaves: Vec<Vec<u32>>,
    #[serde(default)]
    leaf_vectors: bool,
    /// Absent in the output of older programs.
    #[serde(default)]
    margins_in_turn: bool,
    #[serde(default)]
    value_bytes: u32,
    #[serde(default)]
    sum_bytes: u32,
    /// Absent in the output of older programs.
    #[serde(default)]
    bin_bytes: u32,
    #[serde(default)]
    bins: u32,
    #[serde(default)]
    category_features: u32,
    #[serde(default)]
    class_features: u32,
    /// Absent in the output of older programs.
    #[serde(default)]
    oblivious: Vec<bool>,
    /// Absent in the output of older programs.
    #[serde(default)]
    stages: Vec<InspectedStage>,
}

/// A stage in the output of `schedc inspect --facts`.
#[derive(serde::Deserialize)]
struct InspectedStage {
    name: String,
    /// Absent in the output of older programs.
    #[serde(default)]
    steps: Vec<String>,
    kind: String,
    units: u32,
    terms: u32,
    /// Absent in the output of older programs.
    #[serde(default)]
    ordered: bool,
    /// Absent in the output of older programs.
    #[serde(default)]
    doubles: bool,
}

impl InspectedStage {
    fn info(self) -> Option<StageInfo> {
        let InspectedStage { name, steps, kind, units, terms, ordered, doubles } = self;
        let kind = StageKind::of(&kind)?;
        Some(StageInfo { name, steps, kind, units, terms, is_ordered: ordered, in_doubles: doubles })
    }
}

/// Reads the output of `schedc inspect --facts`.
pub fn parse(text: &str) -> Option<InspectedModel> {
    let facts: InspectedFacts = serde_json::from_str(text).ok()?;
    let info = ModelInfo {
        num_trees: facts.num_trees,
        num_features: facts.num_features,
        tested_features: facts.tested_features,
        num_classes: facts.num_classes,
        depths: facts.depths.into(),
        leaves: facts.leaves,
        has_leaf_vectors: facts.leaf_vectors,
        takes_margins_in_turn: facts.margins_in_turn,
        value_bytes: facts.value_bytes,
        sum_bytes: facts.sum_bytes,
        bin_bytes: facts.bin_bytes,
        bins_per_row: facts.bins,
        category_features: facts.category_features,
        class_features: facts.class_features,
        oblivious: facts.oblivious,
        stages: facts.stages.into_iter().filter_map(InspectedStage::info).collect(),
        ..ModelInfo::default()
    };
    Some(InspectedModel { info: Arc::new(info), fingerprint: facts.fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(trees: u32) -> InspectedModel {
        let info =
            ModelInfo { num_trees: trees, depths: vec![3; trees as usize].into(), ..ModelInfo::default() };
        InspectedModel { info: info.into(), fingerprint: format!("sha256:{trees}") }
    }

    fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, content).expect("a file can be written");
        path
    }

    #[test]
    fn a_model_is_read_once_until_it_changes() {
        let folder = std::env::temp_dir().join(format!("schedc-models-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = file(&folder, "m.json", "one");
        let mut models = Models::default();
        let (_, stamp) = models.look_up(&path);
        let stamp = stamp.expect("the first time it is read");
        assert!(models.look_up(&path).1.is_none(), "it is being read");
        assert!(models.store(&path, stamp, Ok(model(2))));
        assert_eq!(models.look_up(&path).0.model().map(|model| model.info.num_trees), Some(2));

        file(&folder, "m.json", "another");
        let (status, again) = models.look_up(&path);
        assert_eq!(status.model().map(|model| model.info.num_trees), Some(2), "the last good answer");
        let again = again.expect("a changed file is read again");
        assert!(!models.store(&path, stamp, Ok(model(5))), "what was read before the change is late");
        assert!(!models.store(&path, again, Ok(model(2))), "the same properties change nothing");

        let copy = file(&folder, "copy.json", "another");
        let stamp = models.look_up(&copy).1.expect("a new path");
        models.store(&copy, stamp, Ok(model(2)));
        let (a, b) = (models.look_up(&path).0, models.look_up(&copy).0);
        assert!(matches!((a.model(), b.model()), (Some(a), Some(b)) if Arc::ptr_eq(a, b)));

        std::fs::remove_dir_all(&folder).expect("the folder was there");
        assert!(matches!(models.look_up(&path).0, ModelStatus::Missing));
    }

    #[test]
    fn the_cache_has_a_maximum_size() {
        let folder = std::env::temp_dir().join(format!("schedc-many-models-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut models = Models::default();
        for number in 0..3 * MAX_CACHED_MODELS {
            models.look_up(&file(&folder, &number.to_string(), ""));
        }
        assert_eq!(models.entries.len(), MAX_CACHED_MODELS);
        std::fs::remove_dir_all(&folder).expect("the folder was there");
    }
}
