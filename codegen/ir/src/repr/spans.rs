//! The bytes that trees occupy which stand next to each other.

use super::schema::Schema;
use super::starts::{StartField, TreeStarts};
use super::tree::Buffers;
use crate::lir::{Builder, Scalar, Value};

/// Where the trees of a layout lie: each in one piece of some tables, at the same records of all of them.
#[derive(Clone, Copy)]
pub struct Spans<'s> {
    /// The tables.
    pub schema: &'s Schema,
    /// Where trees begin.
    pub starts: &'s TreeStarts,
    /// The table of that.
    pub start: StartField,
}

/// The piece of a table that trees occupy.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The table's number in the schema.
    pub table: usize,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub element: Scalar,
    /// Bytes of a record.
    pub stride: u32,
    /// The most bytes of the piece.
    pub most: u64,
    /// Bytes that can be copied at once: all trees begin and end at multiples of so many.
    pub piece: u32,
}

impl Spans<'_> {
    /// The pieces of at most so many trees.
    pub fn of(&self, trees: u64) -> Vec<Span> {
        let records = self.starts.most(trees);
        let span = |(table, name, element, stride)| {
            let most = records.saturating_mul(u64::from(stride));
            Span { table, name, element, stride, most, piece: self.starts.piece(stride) }
        };
        self.schema.tables_of_trees().map(span).collect()
    }

    /// The first record of a tree, or behind the last one.
    pub fn first(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        self.start.load(b, buffers, tree)
    }
}
