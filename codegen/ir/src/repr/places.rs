//! Places of columns: how far into a block of rows lie the codes that the first nodes of a tree compare with.
//!
//! Vectors of rows read whole columns for the nodes of the first levels, the same columns for all rows. From its number, a
//! column's address takes a multiplication for each tree and block, or a register to be kept in, of which there are too few.
//! A place is the number multiplied by as much as all blocks have in common; addresses multiply by the rest themselves.

use super::Row;
use super::record::write_int;
use crate::lir::{Address, BufferId, Builder, Scalar, Ty, Value};

/// What the numbers of columns are multiplied by: the rows of a block are a multiple.
const UNIT: u32 = 8;

/// The places of so many nodes of each tree.
pub struct Places {
    trees: u64,
    nodes: u64,
}

impl Places {
    /// The type of a place.
    pub const ELEMENT: Scalar = Scalar::I16;

    /// The places of the nodes with numbers below `nodes`; of none, if they are too large.
    pub fn new(trees: usize, nodes: u64, columns: u32) -> Places {
        let fit = u64::from(columns) * u64::from(UNIT) <= 1 << (8 * Places::ELEMENT.bytes());
        Places { trees: trees as u64, nodes: if fit { nodes } else { 0 } }
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        self.trees.saturating_mul(self.nodes).saturating_mul(Places::ELEMENT.bytes().into())
    }

    /// Writes the place of a node's column, if the node has one.
    pub fn write(&self, table: &mut [u8], (tree, node): (usize, u64), column: u64) {
        if node < self.nodes {
            let at = (tree as u64 * self.nodes + node) * u64::from(Places::ELEMENT.bytes());
            write_int(&mut table[at as usize..], Places::ELEMENT, column * u64::from(UNIT));
        }
    }

    /// The first place of a tree.
    pub fn first(&self, b: &mut Builder, tree: Value) -> Value {
        b.mul_int(tree, self.nodes as i64)
    }

    /// The codes of adjacent rows in the column of a node, if it has a place there.
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
        let at = Address { buffer, index: first, stride: Places::ELEMENT.bytes(), offset: 0 };
        let at = b.beyond(at, node as i64);
        let place = b.load_index(Places::ELEMENT, at);
        let distance = b.mul_int(place, i64::from(row.stride / UNIT));
        let index = b.add(row.index, distance);
        let at = Address { buffer: row.buffer, index, stride: row.element.bytes(), offset: row.offset };
        Some(b.load(Ty::vector(row.element, width), at))
    }
}
