//! Offsets of columns: distances from the start of a block of rows to the bins that the first nodes of each
//! tree compare with.
//!
//! Vectors of rows read whole columns for the nodes of the first levels. The address of a column is its
//! number times the rows of a block. Computing it for each tree and block takes a multiplication, or a
//! register for each column, of which there are too few. So a table holds the number times `UNIT`, and the
//! constant remainder of the factor is part of the address.

use crate::lir::{Address, Builder, Cast, Keep, Scalar, Ty, Value};
use crate::rows::RowAddress;

/// Factor of the stored offsets, in rows; the rows of a block must be a multiple of it.
const UNIT: u32 = 8;

/// Offsets of the columns that the first nodes of each tree test.
pub struct ColumnOffsets {
    trees: u64,
    nodes: u64,
}

impl ColumnOffsets {
    /// The type of an offset.
    pub const ELEMENT: Scalar = Scalar::I16;

    /// Offsets for the nodes with numbers below `nodes`; an empty table if 16 bits cannot hold them.
    pub fn new(trees: usize, nodes: u64, columns: u32) -> ColumnOffsets {
        let fit = u64::from(columns) * u64::from(UNIT) <= 1 << (8 * ColumnOffsets::ELEMENT.bytes());
        ColumnOffsets { trees: trees as u64, nodes: if fit { nodes } else { 0 } }
    }

    /// Number of entries of the table.
    pub fn count(&self) -> u64 {
        self.trees.saturating_mul(self.nodes)
    }

    /// Index of a node's entry, if the table has the node.
    pub fn entry(&self, tree: usize, node: u64) -> Option<usize> {
        (node < self.nodes).then(|| tree * self.nodes as usize + node as usize)
    }

    /// The offset of a column.
    pub fn of_column(&self, column: u64) -> u64 {
        column * u64::from(UNIT)
    }

    /// Index of a tree's first offset.
    pub fn first(&self, b: &mut Builder, tree: Value) -> Value {
        b.mul_int(tree, self.nodes as i64)
    }

    /// Loads the bins of adjacent rows in the column of a node, if the table has the node. `first` is
    /// the address of the tree's first offset.
    pub fn load(
        &self,
        b: &mut Builder,
        row: &RowAddress,
        first: Address,
        node: u64,
        width: u16,
        keep: Keep,
    ) -> Option<Value> {
        if node >= self.nodes || !row.stride.is_multiple_of(UNIT) {
            return None;
        }
        let at = b.address_after(first, node as i64);
        let offset = b.load_with_reuse(keep, Ty::of(ColumnOffsets::ELEMENT), at);
        let offset = b.cast(Cast::ZExt, offset, b.index());
        let distance = b.mul_int(offset, i64::from(row.stride / UNIT));
        Some(row.load_rows(b, Keep::Invariant, distance, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_offsets_if_sixteen_bits_hold_them() {
        let count = |columns| ColumnOffsets::new(3, 32, columns).count();
        assert_eq!((count(28), count(8192), count(8193)), (3 * 32, 3 * 32, 0));
        let offsets = ColumnOffsets::new(3, 32, 8192);
        assert_eq!((offsets.entry(1, 2), offsets.entry(1, 32)), (Some(32 + 2), None));
        assert_eq!(offsets.of_column(8191), 65528);
    }
}
