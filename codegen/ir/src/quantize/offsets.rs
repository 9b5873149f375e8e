//! Offsets of columns: how far into a block of rows lie the bins that the first nodes of a tree compare with.
//!
//! Vectors of rows read whole columns for the nodes of the first levels, the same columns for all rows. From
//! its number, a column's address takes a multiplication for each tree and block, or a register to be kept
//! in, of which there are too few. An offset is the number multiplied by as much as all blocks have in
//! common; addresses multiply by the rest themselves.

use crate::lir::{Address, Builder, Cast, Keep, Scalar, Ty, Value};
use crate::rows::Row;

/// What the numbers of columns are multiplied by: the rows of a block are a multiple.
const UNIT: u32 = 8;

/// The offsets of the columns that the first nodes of each tree test.
pub struct Offsets {
    trees: u64,
    nodes: u64,
}

impl Offsets {
    /// The type of an offset.
    pub const ELEMENT: Scalar = Scalar::I16;

    /// The offsets for the nodes with numbers below `nodes`; for none, if they are too large.
    pub fn new(trees: usize, nodes: u64, columns: u32) -> Offsets {
        let fit = u64::from(columns) * u64::from(UNIT) <= 1 << (8 * Offsets::ELEMENT.bytes());
        Offsets { trees: trees as u64, nodes: if fit { nodes } else { 0 } }
    }

    /// Entries of the table.
    pub fn count(&self) -> u64 {
        self.trees.saturating_mul(self.nodes)
    }

    /// The entry of a node of a tree, if the table has the node.
    pub fn entry(&self, tree: usize, node: u64) -> Option<usize> {
        (node < self.nodes).then(|| tree * self.nodes as usize + node as usize)
    }

    /// The offset of a column.
    pub fn of_column(&self, column: u64) -> u64 {
        column * u64::from(UNIT)
    }

    /// The first offset of a tree.
    pub fn first(&self, b: &mut Builder, tree: Value) -> Value {
        b.mul_int(tree, self.nodes as i64)
    }

    /// The bins of adjacent rows in the column of a node, if the table has the node. `first` is the tree's
    /// first offset.
    pub fn load(
        &self,
        b: &mut Builder,
        row: &Row,
        first: Address,
        node: u64,
        width: u16,
        keep: Keep,
    ) -> Option<Value> {
        if node >= self.nodes || !row.stride.is_multiple_of(UNIT) {
            return None;
        }
        let at = b.beyond(first, node as i64);
        let offset = b.load_and(keep, Ty::of(Offsets::ELEMENT), at);
        let offset = b.cast(Cast::ZExt, offset, b.index());
        let distance = b.mul_int(offset, i64::from(row.stride / UNIT));
        Some(row.load_rows(b, Keep::Invariant, distance, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_there_if_sixteen_bits_hold_them() {
        let count = |columns| Offsets::new(3, 32, columns).count();
        assert_eq!((count(28), count(8192), count(8193)), (3 * 32, 3 * 32, 0));
        let offsets = Offsets::new(3, 32, 8192);
        assert_eq!((offsets.entry(1, 2), offsets.entry(1, 32)), (Some(32 + 2), None));
        assert_eq!(offsets.of_column(8191), 65528);
    }
}
