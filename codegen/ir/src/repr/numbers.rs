//! The leaves' numbers in the model, as narrow as they are.

use super::request::Request;
use super::tree::{At, TreeState};
use crate::bytes::{narrowest, write_int};
use crate::lir::{BufferId, Builder, Cast, Scalar, Ty, Value};
use sched_forest::Leaf;

/// A table of leaf numbers, or none where nobody asks for them.
#[derive(Clone, Copy, Debug)]
pub struct LeafNumbers(Option<Scalar>);

impl LeafNumbers {
    /// The table's elements for a forest. They do not depend on which trees are used, so that layouts whose leaves have
    /// one order share one table.
    pub fn of(request: &Request) -> LeafNumbers {
        LeafNumbers(request.leaf_numbers.then(|| {
            let leaves = request.forest.trees.iter().flat_map(|tree| &tree.leaves);
            let largest = leaves.map(|leaf| u64::from(leaf.source)).max().unwrap_or(0);
            narrowest(largest).unwrap_or(Scalar::I32)
        }))
    }

    /// Whether there is a table.
    pub fn wanted(self) -> bool {
        self.0.is_some()
    }

    /// The element of the table.
    pub fn element(self) -> Scalar {
        self.0.unwrap_or(Scalar::I8)
    }

    /// Bytes of a table with so many entries. Vectors read whole words, the last one beyond its entry.
    pub fn bytes(self, entries: u64) -> u64 {
        let width = self.0.map(|width| u64::from(width.bytes()));
        width.map_or(0, |width| entries.saturating_mul(width).saturating_add(4 - width))
    }

    /// Writes a leaf's number.
    pub fn write(self, table: &mut [u8], entry: usize, leaf: &Leaf) {
        if let Some(width) = self.0 {
            write_int(&mut table[entry * width.bytes() as usize..], width, u64::from(leaf.source));
        }
    }

    /// The number of the leaf that is entry `node` of its tree, an `i32`.
    pub fn load(self, b: &mut Builder, table: BufferId, state: &TreeState, node: Value) -> Value {
        let (width, ty) = (self.element(), b.ty(node).with(Scalar::I32));
        if ty.lanes == 1 {
            let number = state.load(b, table, width, node, At::start(width.bytes()));
            return if width == Scalar::I32 {
                number
            } else {
                b.cast(Cast::ZExt, number, Ty::of(Scalar::I32))
            };
        }
        let word = state.load(b, table, Scalar::I32, node, At::start(width.bytes()));
        b.bits(word, 0, 8 * width.bytes())
    }
}
