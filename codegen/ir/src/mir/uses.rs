//! What leaf loops use of rows and trees, collected once while the nest is built.
//!
//! Leaf loops are numbered in the order of the nest, so that what is inside a loop or a copy is a range of
//! numbers. The passes that ask which rows a part of the nest touches, or who reads a copy, look there.

use super::{Affine, Rows, Var, WalkId};
use sched_nest::Axis;
use std::ops::Range;

/// The leaf loops of a part of a nest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkRange(pub Range<u32>);

/// What a leaf loop uses.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafUse {
    /// Whether it counts rows or trees.
    pub over: Axis,
    /// Its variable.
    pub var: Var,
    /// The variable's first value.
    pub start: i64,
    /// The distance between its values.
    pub step: i64,
    /// Iterations in one vector; 1 for none.
    pub lanes: u32,
    /// Vectors that are walked together.
    pub group: u32,
    /// Neighbouring rows of a group whose bins share a word; 1 if there are none.
    pub packed: u32,
    /// The row walked.
    pub row: Affine,
    /// The tree walked.
    pub tree: Affine,
    /// Where rows are read from.
    pub rows: Rows,
    /// The variables of specialised loops around it, which are constants in the sums.
    pub fixed: Vec<(Var, i64)>,
}

/// What all leaf loops of a nest use, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Uses(Vec<LeafUse>);

impl WalkRange {
    /// The leaf loops.
    pub fn ids(&self) -> impl Iterator<Item = WalkId> + use<> {
        self.0.clone().map(WalkId)
    }
}

impl Uses {
    /// How many leaf loops there are so far.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Adds a leaf loop, and numbers it.
    pub fn add(&mut self, leaf: LeafUse) -> WalkId {
        self.0.push(leaf);
        WalkId(self.count() - 1)
    }

    /// The leaf loops from a number on, which are those so far of the part of the nest that began there.
    pub fn since(&self, first: u32) -> WalkRange {
        WalkRange(first..self.count())
    }

    /// What some leaf loops use.
    pub fn of(&self, walks: &WalkRange) -> &[LeafUse] {
        self.0.get(walks.0.start as usize..walks.0.end as usize).unwrap_or_default()
    }
}

impl LeafUse {
    /// A part of its sums as it is for this leaf loop: variables of specialised loops are constants.
    pub fn fixed(&self, base: &Affine) -> Affine {
        self.fixed.iter().fold(base.clone(), |base, (var, value)| base.fixed(*var, *value))
    }
}
