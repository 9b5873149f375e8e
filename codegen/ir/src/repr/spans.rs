//! Bytes that consecutive trees occupy in the tables.

use super::schema::{Schema, TableId};
use super::starts::{StartField, TreeStarts, largest_piece};
use crate::lir::Scalar;

/// The range of records of each tree of a layout. The range is the same in all tables that store one record
/// for each node.
#[derive(Clone, Copy)]
pub struct TreeSpans<'s> {
    /// All tables.
    pub schema: &'s Schema,
    /// First record of each tree.
    pub starts: &'s TreeStarts,
    /// Table of first records.
    pub start_field: StartField,
}

/// Records of consecutive trees in a table.
#[derive(Clone, Copy, Debug)]
pub struct RecordSpan {
    /// Index of the table in the schema.
    pub table: usize,
    /// Name of the table.
    pub name: &'static str,
    /// Element type of the table.
    pub element: Scalar,
    /// Bytes of a record.
    pub stride: u32,
    /// Largest number of bytes of the records.
    pub most_bytes: u64,
    /// Bytes that one copy instruction moves. The offsets of all trees are multiples of this number.
    pub piece_bytes: u32,
    /// Positions of the records in the table.
    pub records: TreeRecords,
}

/// Positions of trees' records in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeRecords {
    /// Trees are one after the other, and a table lists their first records.
    Listed(StartField),
    /// Trees are one after the other, each with this number of records.
    Equal(i64),
    /// Each tree has a record in each of `rows` rows of `trees` records.
    SideBySide {
        /// Number of rows.
        rows: i64,
        /// Records of a row, one for each tree of the forest.
        trees: i64,
    },
}

impl TreeSpans<'_> {
    /// Records of at most `trees` consecutive trees.
    pub fn of(&self, trees: u64) -> Vec<RecordSpan> {
        let records = self.starts.most_records(trees);
        let span = |(table, name, element, stride)| {
            let most_bytes = records.saturating_mul(u64::from(stride));
            let (piece_bytes, records) =
                (self.starts.piece_bytes(stride), TreeRecords::Listed(self.start_field));
            RecordSpan { table, name, element, stride, most_bytes, piece_bytes, records }
        };
        self.schema.tables_of_trees().map(span).collect()
    }
}

impl RecordSpan {
    /// Records of at most `trees` trees in a table with `each` records for each tree; `None` if `each` is 0.
    pub fn of_equal(schema: &Schema, table: TableId, each: u64, trees: u64) -> Option<RecordSpan> {
        let (table, name, element, stride) = schema.table_info(table);
        let bytes = each.saturating_mul(stride.into());
        let (most_bytes, piece_bytes) = (bytes.saturating_mul(trees), largest_piece(bytes));
        let records = TreeRecords::Equal(i64::try_from(each).ok()?);
        (each > 0).then_some(RecordSpan { table, name, element, stride, most_bytes, piece_bytes, records })
    }

    /// Records of `trees` trees in all tables of a schema with records of trees. Each of these tables has
    /// `rows` rows, with one record for each of the `all` trees.
    pub fn side_by_side(schema: &Schema, (rows, all): (u64, u64), trees: u64) -> Vec<RecordSpan> {
        let records = TreeRecords::SideBySide { rows: rows as i64, trees: all as i64 };
        let span = |(table, name, element, stride)| {
            let most_bytes = rows.saturating_mul(trees).saturating_mul(u64::from(stride));
            RecordSpan {
                table,
                name,
                element,
                stride,
                most_bytes,
                piece_bytes: largest_piece(stride.into()),
                records,
            }
        };
        schema.tables_of_trees().map(span).collect()
    }
}
