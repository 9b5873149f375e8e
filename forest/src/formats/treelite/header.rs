//! The fields of a checkpoint before its trees.

use super::bytes::Bytes;
use crate::codes;
use crate::error::ModelError;
use crate::forest::Float;
use crate::{MAX_FEATURES, MAX_MARGINS};

/// The major release whose checkpoints can be read.
const MAJOR_RELEASE: i32 = 4;

/// Smallest size of a tree in bytes: its numbers and the lengths of its arrays.
const LEAST_TREE_BYTES: usize = 4 + 1 + 21 * 8 + 8;

/// Tasks, in the order of their numbers.
const TASKS: [&str; 5] = ["binary_clf", "regressor", "multi_clf", "learning_to_rank", "isolation_forest"];

pub(super) struct CheckpointHeader {
    pub version: [i32; 3],
    pub float: Float,
    pub num_tree: usize,
    pub num_feature: usize,
    pub task: &'static str,
    pub average: bool,
    pub num_class: Vec<usize>,
    pub leaf_shape: [usize; 2],
    pub target_id: Vec<i32>,
    pub class_id: Vec<i32>,
    pub postprocessor: String,
    pub sigmoid_alpha: f32,
    pub ratio_c: f32,
    pub base_scores: Vec<f64>,
}

/// Whether bytes begin as a checkpoint of any release does: three version numbers, two types, and plausible
/// counts.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    let read = || -> Result<bool, ModelError> {
        let mut bytes = Bytes::new(bytes);
        let version = [bytes.i32()?, bytes.i32()?, bytes.i32()?];
        let types = [bytes.u8()?, bytes.u8()?];
        let trees = bytes.u64()?;
        let features = bytes.i32()?;
        let small = version.iter().all(|part| (0..1000).contains(part));
        Ok((1..10).contains(&version[0])
            && small
            && types.iter().all(|kind| (1..=3).contains(kind))
            && trees < 1 << 40
            && features >= 0)
    };
    read().unwrap_or(false)
}

impl CheckpointHeader {
    pub fn read(bytes: &mut Bytes) -> Result<CheckpointHeader, ModelError> {
        let version = [bytes.i32()?, bytes.i32()?, bytes.i32()?];
        if version[0] != MAJOR_RELEASE {
            let [major, minor, patch] = version;
            let message = format!(
                "the checkpoint was written by Treelite {major}.{minor}.{patch}, and schedc reads \
                 {MAJOR_RELEASE}.x"
            );
            return Err(ModelError::new(codes::TREELITE_VERSION, message).at("major_ver").help(
                "load the model with Treelite 4, or import it there again from its trainer, and save it with \
                 model.serialize(\"model.tl\")",
            ));
        }
        let types = [bytes.u8()?, bytes.u8()?];
        let float = match types {
            [2, 2] => Float::F32,
            [3, 3] => Float::F64,
            _ => {
                let message = format!(
                    "thresholds of type {} with leaves of type {} are not supported",
                    types[0], types[1]
                );
                return Err(bad("threshold_type", message).help(
                    "schedc reads models whose thresholds and leaves both have single precision (type 2) or \
                     both double precision (type 3); leaves of whole numbers are not supported",
                ));
            }
        };
        let num_tree = bytes.u64()?;
        let num_feature = count(bytes.i32()?, "num_feature", MAX_FEATURES)?;
        let task = bytes.u8()?;
        let task = TASKS.get(usize::from(task)).copied();
        let task = task.ok_or_else(|| bad("task_type", "Treelite 4 has no task with this number".into()))?;
        let average = bytes.u8()? != 0;
        let num_target = count(bytes.i32()?, "num_target", MAX_MARGINS)?;
        let num_class = bytes.array()?.i32s();
        let leaf_shape = bytes.array()?.i32s();
        let (target_id, class_id) = (bytes.array()?.i32s(), bytes.array()?.i32s());
        let postprocessor = String::from_utf8_lossy(bytes.array::<1>()?.bytes()).into_owned();
        let (sigmoid_alpha, ratio_c) = (bytes.f32()?, bytes.f32()?);
        let scores = bytes.array::<8>()?;
        let base_scores: Vec<f64> = (0..scores.len()).filter_map(|index| scores.f64(index)).collect();
        bytes.array::<1>()?;
        bytes.skip_fields()?;

        let num_class = num_class
            .into_iter()
            .map(|it| count(it, "num_class", MAX_MARGINS))
            .collect::<Result<Vec<_>, _>>()?;
        let leaf_shape = match leaf_shape[..] {
            [targets, classes] => [
                count(targets, "leaf_vector_shape", MAX_MARGINS)?,
                count(classes, "leaf_vector_shape", MAX_MARGINS)?,
            ],
            _ => return Err(bad("leaf_vector_shape", format!("it has {} numbers, not 2", leaf_shape.len()))),
        };
        same("num_class", num_class.len(), "targets", num_target)?;
        let num_tree = usize::try_from(num_tree).unwrap_or(usize::MAX);
        if num_tree > bytes.remaining() / LEAST_TREE_BYTES {
            bytes.take(num_tree.saturating_mul(LEAST_TREE_BYTES))?;
        }
        same("target_id", target_id.len(), "trees", num_tree)?;
        same("class_id", class_id.len(), "trees", num_tree)?;
        let header = CheckpointHeader {
            version,
            float,
            num_tree,
            num_feature,
            task,
            average,
            num_class,
            leaf_shape,
            target_id,
            class_id,
            postprocessor,
            sigmoid_alpha,
            ratio_c,
            base_scores,
        };
        if header.num_margins() > MAX_MARGINS {
            let message = format!(
                "the model has {} outputs; at most {MAX_MARGINS} are supported",
                header.num_margins()
            );
            return Err(ModelError::new(codes::TOO_LARGE, message).at("num_class"));
        }
        same("base_scores", header.base_scores.len(), "outputs", header.num_margins())?;
        Ok(header)
    }

    /// The largest number of classes of a target.
    pub fn most_classes(&self) -> usize {
        self.num_class.iter().copied().max().unwrap_or(1)
    }

    /// The number of outputs: targets times the largest number of classes of a target. Some outputs may be
    /// unused.
    pub fn num_margins(&self) -> usize {
        self.num_class.len().saturating_mul(self.most_classes())
    }

    /// Whether the class of an output exists: its target may have fewer classes than others.
    pub fn is_used(&self, margin: usize) -> bool {
        let classes = self.most_classes();
        margin % classes < self.num_class[margin / classes]
    }

    /// Whether all targets have the same number of classes.
    pub fn has_equal_class_counts(&self) -> bool {
        self.num_class.iter().all(|&classes| classes == self.most_classes())
    }
}

pub(super) fn bad(place: &str, message: String) -> ModelError {
    ModelError::new(codes::BAD_PARAMETER, message).at(place)
}

fn count(count: i32, place: &str, most: usize) -> Result<usize, ModelError> {
    match usize::try_from(count) {
        Ok(count) if count > most => {
            let message = format!("`{place}` is {count}; at most {most} are supported");
            Err(ModelError::new(codes::TOO_LARGE, message).at(place))
        }
        Ok(count) if count > 0 => Ok(count),
        _ => Err(bad(place, format!("`{place}` is {count}; it must be at least 1"))),
    }
}

fn same(place: &str, length: usize, what: &str, count: usize) -> Result<(), ModelError> {
    if length == count {
        return Ok(());
    }
    let message = format!("`{place}` has {length} entries for {count} {what}");
    Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place))
}
