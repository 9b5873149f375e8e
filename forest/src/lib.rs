//! Model formats, the validated [`Forest`], and the reference walker.
//!
//! [`read`] turns the bytes of a model file into a [`Forest`], on whose promises all later stages rely.
//! [`predict_margins`] and similar functions compute the trainer's predictions; compiled code is compared
//! with them. [`summarize`] and [`fingerprint`] describe a model.
//!
//! ```
//! use sched_forest::{predict, read};
//!
//! # let bytes = br#"{"version":[3,2,0],"learner":{
//! #   "learner_model_param":{"base_score":"[5E-1]","num_class":"0","num_feature":"2"},
//! #   "objective":{"name":"reg:squarederror"},
//! #   "gradient_booster":{"name":"gbtree","model":{"tree_info":[0],"trees":[{
//! #     "left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[1,0,0],
//! #     "split_conditions":[3.0,10,20],"default_left":[0,0,0]}]}}}}"#;
//! let forest = read(bytes)?; // the bytes of a model.json: feature 1 below 3 gives 10, otherwise 20
//! let rows = [0.0f32, 2.5, 0.0, 3.0, 0.0, f32::NAN];
//! let mut predictions = [0.0f32; 3];
//! predict(&forest, &rows, &mut predictions)?;
//! assert_eq!(predictions, [10.5, 20.5, 20.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod boundary;
mod category;
mod check;
pub mod codes;
mod compare;
mod computed;
mod definition;
mod definitions;
mod detect;
mod encoded;
mod error;
mod fingerprint;
mod forest;
mod format;
mod formats;
pub mod grow;
mod json;
mod loaded;
mod magnitudes;
mod narrow;
mod output;
mod profile;
mod read;
mod real;
mod release;
mod row_values;
mod summary;
mod types;
mod ubjson;
mod walk;
mod widen;

pub use boundary::{Boundary, BoundaryOptions, Coverage};
pub use category::{CategorySet, NEARLY_ZERO, is_nearly_zero};
pub use computed::ComputedColumns;
pub use definition::{LeafResult, OutputDefinition};
pub use detect::may_be_model;
pub use encoded::{EncodedCategories, EncodedFeature};
pub use error::ModelError;
pub use fingerprint::fingerprint;
pub use forest::{
    Comparison, Forest, ForestParts, Inner, Leaf, LeafValues, LinearLeaf, LinearMissing, NodeRef, Predicate,
    Tree, TreeTarget, Types,
};
pub use format::{ModelFormat, Quirk};
pub use formats::*;
pub use loaded::{Iterations, LoadedForest, ModelSource, Note, ParseIterationsError, ReadOptions};
pub use magnitudes::RowMagnitudes;
pub use output::{
    ClassRule, ClassValue, Classes, DecisionValues, EXPECTILE_GAP, Output, OutputColumns, Sigmoid, Softmax,
    Transform, apply_steps,
};
pub use profile::Profile;
pub use read::{load, read, read_with};
pub use real::Real;
pub use release::{ParseReleaseError, Release, ReleaseRule};
pub use row_values::RowValues;
pub use sched_categories::{Label, Names, Naming};
pub use sched_columns::{CategoryRule, Float};
pub use summary::{FeatureUse, LeafValueRange, MissingDirections, MissingValues, ModelSummary, summarize};
pub use walk::{
    WalkError, predict, predict_classes, predict_leaves, predict_margins, predict_output, predict_tree_values,
};

/// The deepest tree that is accepted, in edges.
pub const MAX_DEPTH: u32 = 4096;

/// The most features that a model may have.
pub const MAX_FEATURES: usize = 1 << 24;

/// The most margins, that is classes or targets, that a model may have.
pub const MAX_MARGINS: usize = 1 << 16;
