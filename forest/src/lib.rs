//! Model formats, the validated [`Forest`], and the reference walker.
//!
//! [`read`] turns the bytes of a model file into a [`Forest`], whose promises everything later relies on;
//! [`predict_margins`] and its siblings compute what the trainer would, and are what every faster way to predict is
//! compared with; [`summarize`] and [`fingerprint`] describe a model.

mod check;
mod detect;
mod error;
mod fingerprint;
mod forest;
mod json;
mod read;
mod summary;
mod transform;
mod ubjson;
mod walk;
mod xgboost;

pub use check::ForestParts;
pub use error::{Code, ModelError};
pub use fingerprint::fingerprint;
pub use forest::{
    Comparison, Float, Forest, Inner, Leaf, NodeRef, Predicate, Target, Transform, Tree, Types,
};
pub use read::{Iterations, Loaded, Note, ParseIterationsError, ReadOptions, load, read, read_with};
pub use summary::{FeatureUse, LeafRange, MissingDirections, ModelSummary, summarize};
pub use walk::{Real, WalkError, predict, predict_classes, predict_leaves, predict_margins};

/// The deepest tree that is accepted, in edges.
pub const MAX_DEPTH: u32 = 4096;

/// The most features that a model may have.
pub const MAX_FEATURES: usize = 1 << 24;

/// The most margins, that is classes or targets, that a model may have.
pub const MAX_MARGINS: usize = 1 << 16;
