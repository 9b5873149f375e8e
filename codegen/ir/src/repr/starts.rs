//! First records of trees, in layouts that store trees one after the other.

use super::schema::{Field, Schema, TableBytes};
use super::tree::{Buffers, TreeLanes, TreeState};
use crate::codes;
use crate::error::CompileError;
use crate::lir::{Builder, Gather, Scalar, Value};

/// First record of each tree, and the end of the last. Unused trees have no records.
#[derive(Clone, Debug)]
pub struct TreeStarts(Vec<u64>);

/// Largest number of bytes that one copy instruction of a thread moves.
const LARGEST_PIECE: u32 = 16;

/// Largest power of two of bytes that divides `bytes`; at most [`LARGEST_PIECE`].
pub fn largest_piece(bytes: u64) -> u32 {
    1 << bytes.trailing_zeros().min(LARGEST_PIECE.ilog2())
}

/// Table of first records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartField(Field);

impl TreeStarts {
    /// Reserves `sizes[t]` records for tree `t`.
    pub fn new(sizes: impl IntoIterator<Item = u64>) -> TreeStarts {
        let mut starts = vec![0u64];
        let mut next = 0u64;
        for size in sizes {
            next = next.saturating_add(size);
            starts.push(next);
        }
        TreeStarts(starts)
    }

    /// Largest number of records in any run of `trees` consecutive trees.
    pub fn most_records(&self, trees: u64) -> u64 {
        let last = self.0.len() - 1;
        let trees = usize::try_from(trees).unwrap_or(last).min(last);
        (0..=last - trees).map(|from| self.0[from + trees] - self.0[from]).max().unwrap_or(0)
    }

    /// Largest power of two of bytes that divides the offsets of all trees, for records of `stride`
    /// bytes; at most [`LARGEST_PIECE`].
    pub fn piece_bytes(&self, stride: u32) -> u32 {
        largest_piece(self.0.iter().fold(0, |all, start| all | start.saturating_mul(stride.into())))
    }

    /// Number of records of all trees.
    pub fn count(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// First record of a tree; `None` for an unused tree, which has no records.
    pub fn first_record(&self, tree: usize) -> Option<usize> {
        let (start, end) = (self.0[tree], self.0[tree + 1]);
        (start < end).then_some(start as usize)
    }

    /// First record of a tree and the end of its records.
    pub fn record_range(&self, tree: usize) -> (usize, usize) {
        (self.0[tree] as usize, self.0[tree + 1] as usize)
    }

    /// Fails if 31 bits cannot number the records, which `what` names.
    pub fn check_count(self, what: &str) -> Result<TreeStarts, CompileError> {
        if i32::try_from(self.count()).is_ok() { Ok(self) } else { Err(too_many_records(self.count(), what)) }
    }

    /// Adds the table of first records to a schema.
    pub fn declare(&self, schema: &mut Schema, name: &'static str) -> StartField {
        StartField(schema.add_number_table(name, Scalar::I32, self.0.len() as u64))
    }

    /// Writes the table of first records.
    pub fn write(&self, field: StartField, bytes: &mut TableBytes) {
        self.0.iter().enumerate().for_each(|(tree, start)| field.0.write(bytes, tree, *start));
    }
}

/// Error for a layout with too many records, which `what` names.
pub fn too_many_records(count: u64, what: &str) -> CompileError {
    CompileError::new(
        codes::LAYOUT_BUDGET,
        format!("the layout needs {count} {what}; the limit is {}", i32::MAX),
        "use representation(sparse), which stores only nodes that exist",
    )
}

impl StartField {
    /// Loads the first record of a tree, counted from the first one in the buffers.
    pub fn load(self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        let start = b.load_index(Scalar::I32, self.0.address(buffers, tree));
        buffers.first_record().map_or(start, |first| b.sub(start, first))
    }

    /// Loads the index after the last record of a tree.
    pub fn end(self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        let next = b.add_int(tree, 1);
        self.load(b, buffers, next)
    }

    /// Loads the state of a tree.
    pub fn load_tree_state(self, b: &mut Builder, buffers: &Buffers, tree: Value) -> TreeState {
        TreeState::at(self.load(b, buffers, tree))
    }

    /// Loads the state of a vector of trees.
    pub fn load_tree_states(
        self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        lanes: TreeLanes,
    ) -> TreeState {
        let (buffer, index) = (self.0.buffer(buffers), lanes.distance);
        let starts = Gather { buffer, base: tree, index, stride: Scalar::I32.bytes(), offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        let state = TreeState::of_lanes(b, lanes);
        let zero = b.int(0);
        TreeState { base: buffers.first_record().map_or(state.base, |first| b.sub(zero, first)), ..state }
    }

    /// Prefetches a tree.
    pub fn prefetch(self, b: &mut Builder, buffers: &Buffers, schema: &Schema, tree: Value) {
        let start = self.load(b, buffers, tree);
        let end = self.end(b, buffers, tree);
        schema.prefetch(b, buffers, start, end);
    }
}
