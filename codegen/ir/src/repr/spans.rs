//! Bytes that consecutive trees occupy in the tables.

use super::schema::Schema;
use super::starts::{StartField, TreeStarts};
use super::tree::Buffers;
use crate::lir::{Builder, Scalar, Value};

/// The range of records of each tree of a layout. The range is the same in all tables that store one record
/// for each node.
#[derive(Clone, Copy)]
pub struct Spans<'s> {
    /// All tables.
    pub schema: &'s Schema,
    /// First record of each tree.
    pub starts: &'s TreeStarts,
    /// Table of first records.
    pub start: StartField,
}

/// Range of a table that consecutive trees occupy.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Index of the table in the schema.
    pub table: usize,
    /// Name of the table.
    pub name: &'static str,
    /// Element of the table.
    pub element: Scalar,
    /// Bytes of a record.
    pub stride: u32,
    /// Most bytes of the range.
    pub most: u64,
    /// Bytes that one copy instruction can move, of which all trees' offsets are multiples.
    pub piece: u32,
}

impl Spans<'_> {
    /// Ranges of at most `trees` consecutive trees.
    pub fn of(&self, trees: u64) -> Vec<Span> {
        let records = self.starts.most(trees);
        let span = |(table, name, element, stride)| {
            let most = records.saturating_mul(u64::from(stride));
            Span { table, name, element, stride, most, piece: self.starts.piece(stride) }
        };
        self.schema.tables_of_trees().map(span).collect()
    }

    /// Loads the first record of a tree, or the end for the number behind the last tree.
    pub fn first(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        self.start.load(b, buffers, tree)
    }
}
