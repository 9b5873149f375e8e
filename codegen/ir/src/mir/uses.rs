//! Rows and trees that leaf loops use, collected once while the nest is built.
//!
//! Leaf loops are numbered in nest order, so the leaf loops inside a loop or a copy are a range of
//! numbers. Passes find the rows that a part of the nest touches, and the readers of a copy, by such
//! ranges.

use super::{Affine, Var, WalkId, WalkedRows};
use sched_nest::Axis;
use std::ops::Range;

/// The leaf loops of a part of a nest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkRange(pub Range<u32>);

/// Rows and trees that a leaf loop uses.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafUse {
    /// Whether the leaf loop counts rows or trees.
    pub over: Axis,
    /// Variable of the leaf loop.
    pub var: Var,
    /// The variable's first value.
    pub start: i64,
    /// Distance between consecutive values of the variable.
    pub step: i64,
    /// Iterations in one vector; 1 for none.
    pub lanes: u32,
    /// Vectors whose walks are interleaved.
    pub group: u32,
    /// Number of neighbouring rows of a group whose bins share a word; 1 if each row has words for itself.
    pub packed_rows: u32,
    /// Number of the walked row, as a sum of variables.
    pub row: Affine,
    /// Number of the walked tree, as a sum of variables.
    pub tree: Affine,
    /// Source of the rows.
    pub rows: WalkedRows,
    /// Variables of the enclosing specialised loops, with their values, which `row` and `tree` have as
    /// constants.
    pub case_values: Vec<(Var, i64)>,
}

/// The [`LeafUse`] of each leaf loop of a nest, by its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeafUses(Vec<LeafUse>);

impl WalkRange {
    /// Numbers of the leaf loops.
    pub fn ids(&self) -> impl Iterator<Item = WalkId> + use<> {
        self.0.clone().map(WalkId)
    }
}

impl LeafUses {
    /// Number of leaf loops so far.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Adds a leaf loop and returns its number.
    pub fn add(&mut self, leaf: LeafUse) -> WalkId {
        self.0.push(leaf);
        WalkId(self.count() - 1)
    }

    /// The leaf loops numbered `first` or later.
    pub fn since(&self, first: u32) -> WalkRange {
        WalkRange(first..self.count())
    }

    /// The uses of some leaf loops.
    pub fn of(&self, walks: &WalkRange) -> &[LeafUse] {
        self.0.get(walks.0.start as usize..walks.0.end as usize).unwrap_or_default()
    }
}

impl LeafUse {
    /// `base`, a part of `row` or `tree`, with the variables of the enclosing specialised loops replaced by
    /// their values.
    pub fn in_case(&self, base: &Affine) -> Affine {
        self.case_values.iter().fold(base.clone(), |base, (var, value)| base.with_value(*var, *value))
    }
}
