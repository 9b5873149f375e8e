//! Offsets of columns: how far into a block of rows lie the bins that the first nodes of a tree compare with.
//!
//! Vectors of rows read whole columns for the nodes of the first levels, the same columns for all rows. From its number, a
//! column's address takes a multiplication for each tree and block, or a register to be kept in, of which there are too few.
//! An offset is the number multiplied by as much as all blocks have in common; addresses multiply by the rest themselves.

use crate::bytes::write_int;
use crate::lir::{Address, BufferId, Builder, Scalar, Value};
use crate::rows::Row;

/// What the numbers of columns are multiplied by: the rows of a block are a multiple.
const UNIT: u32 = 8;

/// The offsets for so many nodes of each tree.
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

    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        self.trees.saturating_mul(self.nodes).saturating_mul(Offsets::ELEMENT.bytes().into())
    }

    /// Writes the offset of a node's column, if the table has the node.
    pub fn write(&self, table: &mut [u8], (tree, node): (usize, u64), column: u64) {
        if node < self.nodes {
            let at = (tree as u64 * self.nodes + node) * u64::from(Offsets::ELEMENT.bytes());
            write_int(&mut table[at as usize..], Offsets::ELEMENT, column * u64::from(UNIT));
        }
    }

    /// The first offset of a tree.
    pub fn first(&self, b: &mut Builder, tree: Value) -> Value {
        b.mul_int(tree, self.nodes as i64)
    }

    /// The bins of adjacent rows in the column of a node, if the table has the node.
    pub fn load(
        &self,
        b: &mut Builder,
        row: &Row,
        (buffer, first): (BufferId, Value),
        (node, width): (u64, u16),
    ) -> Option<Value> {
        if node >= self.nodes || !row.stride.is_multiple_of(UNIT) {
            return None;
        }
        let at = Address { buffer, index: first, stride: Offsets::ELEMENT.bytes(), offset: 0 };
        let at = b.beyond(at, node as i64);
        let offset = b.load_index(Offsets::ELEMENT, at);
        let distance = b.mul_int(offset, i64::from(row.stride / UNIT));
        Some(row.load_rows(b, distance, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_there_if_sixteen_bits_hold_them() {
        let bytes = |columns| Offsets::new(3, 32, columns).bytes();
        assert_eq!((bytes(28), bytes(8192), bytes(8193)), (3 * 32 * 2, 3 * 32 * 2, 0));
        let mut table = vec![0; 3 * 32 * 2];
        let offsets = Offsets::new(3, 32, 8192);
        offsets.write(&mut table, (1, 2), 8191);
        offsets.write(&mut table, (1, 32), 1);
        assert_eq!(table[(32 + 2) * 2..][..2], 65528u16.to_le_bytes());
        assert_eq!(table.iter().filter(|byte| **byte != 0).count(), 2);
    }
}
