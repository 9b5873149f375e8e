//! Model formats, the validated [`Forest`], and the reference walker.

mod forest;

pub use forest::{
    Comparison, Float, Forest, Inner, Leaf, NodeRef, Predicate, Target, Transform, Tree, Types,
};

/// The deepest tree that is accepted, in edges.
pub const MAX_DEPTH: u32 = 4096;
