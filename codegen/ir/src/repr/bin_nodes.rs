//! Nodes of complete levels as one number each: the threshold bin in the high bits, the column in the low
//! ones. A node has 16 bits if bins and columns are bytes, else 32.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`.
//! All banks of shared memory together deliver 64 nodes of 16 bits, so threads read the first seven levels
//! without bank conflicts.
//!
//! A step over 16-bit nodes needs no select. The row's bin, shifted to the position of the threshold bin, is
//! subtracted from the node. The sign of the difference is 1 if the row goes right, and is the lowest bit of
//! the child's number.

use super::complete::LEAST_ENTRIES;
use super::cursor::Cursor;
use super::request::LayoutRequest;
use super::schema::{Field, Schema, TableBytes};
use super::test::{Test, TestOperand, bin_goes_right};
use super::traverse::speculate::NodeTest;
use super::tree::{Buffers, TreeState};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Scalar, Ty, Value};
use crate::rows::RowAddress;
use sched_forest::Inner;

/// Table of nodes that are one number each.
#[derive(Clone, Copy, Debug)]
pub struct BinNodes {
    node: Field,
    /// Bits of a node that hold the column. As many bits above hold the threshold bin.
    column_bits: u32,
}

/// Whether threshold bins and columns of a forest fit a byte each.
pub fn bins_fit_bytes(request: &LayoutRequest) -> bool {
    request.bins.is_some_and(|bins| bins.element() == Scalar::I8 && bins.columns() <= 1 << u8::BITS)
}

impl BinNodes {
    /// Adds a table of `count` nodes to a schema.
    pub fn declare(schema: &mut Schema, name: &'static str, request: &LayoutRequest, count: u64) -> BinNodes {
        let (scalar, column_bits) =
            if bins_fit_bytes(request) { (Scalar::I16, u8::BITS) } else { (Scalar::I32, u16::BITS) };
        let node = schema.add_number_table(name, scalar, count);
        if scalar == Scalar::I16 {
            // Vectors load 32-bit words, which at the last node reach beyond the table.
            schema.add_tail(node.table(), 2);
        }
        BinNodes { node, column_bits }
    }

    /// The table's field.
    pub fn field(&self) -> Field {
        self.node
    }

    /// Writes a node.
    pub fn write(&self, bytes: &mut TableBytes, entry: usize, test: &Test, inner: &Inner) {
        let test = test.encode(inner, self.column_bits);
        if let TestOperand::Bin(threshold_bin) = test.operand {
            self.node.write(bytes, entry, threshold_bin << self.column_bits | test.feature);
        }
    }

    /// Loads a node, or a vector of nodes, as the low bits of integers.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        if b.ty(node).lanes > 1 {
            let word = self.node.with_scalar(Scalar::I32).load(b, buffers, state, node);
            return b.extract_bits(word, 0, 2 * self.column_bits);
        }
        let node = self.node.load(b, buffers, state, node);
        b.to_index(node)
    }

    /// Emits a step of a walk. `state` is that of the tree in this table.
    pub fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &RowAddress,
        at: &Cursor,
    ) -> Cursor {
        let node = self.load(b, buffers, state, at.node);
        let ty = b.ty(node);
        let column = b.extract_bits(node, 0, self.column_bits);
        let bin = row.load(b, column);
        if self.node.scalar != Scalar::I16 {
            let threshold_bin = b.extract_bits(node, self.column_bits, self.column_bits);
            let right = bin_goes_right(b, bin, threshold_bin);
            return at.descend(b, right);
        }
        let place = b.int_of(ty, 1 << self.column_bits);
        let bin = b.mul(bin, place);
        let (first, second) = if seeded(Fault::PairsSwapSides) { (bin, node) } else { (node, bin) };
        let difference = b.sub(first, second);
        let sign = b.int_of(ty, i64::from(8 * ty.scalar.bytes()) - 1);
        let right = b.bin(Bin::Shr, difference, sign);
        let left = b.add(at.node, at.node);
        Cursor::of(b.add(left, right))
    }

    /// Loads the test of the node with a constant number, the same for all walks.
    pub fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let bits = self.column_bits;
        if state.lanes.is_some() || self.node.scalar != Scalar::I16 {
            let number = state.number(b, number);
            let node = self.load(b, buffers, state, number);
            let operand = b.extract_bits(node, bits, bits);
            return NodeTest { operand, feature: b.extract_bits(node, 0, bits), missing_left: None };
        }
        // Trees begin at multiples of [`LEAST_ENTRIES`] entries, so that one word loads two nodes.
        let smallest = b.int(LEAST_ENTRIES.ilog2().into());
        let index = b.bin(Bin::Shr, state.base, smallest);
        let stride = LEAST_ENTRIES as u32 * self.node.stride();
        let first = Address { buffer: self.node.buffer(buffers), index, stride, offset: 0 };
        let word = b.load(Ty::of(Scalar::I32), Address { offset: 4 * (number as u32 / 2), ..first });
        let at = 2 * bits * (number as u32 % 2);
        let (column, bin) = (b.extract_bits(word, at, bits), b.extract_bits(word, at + bits, bits));
        NodeTest { operand: b.to_index(bin), feature: b.to_index(column), missing_left: None }
    }
}
