//! Targets of sums in memory.

use super::ports::{SumRounding, TreeMargins};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Builder, Cast, Cmp, Scalar, Ty, Value};
use crate::mir::{Accumulator, SlotMargins, Var};

/// Target of leaf values: sums of rows.
#[derive(Clone, Copy, Debug)]
pub struct SumTarget {
    /// The buffer.
    pub buffer: BufferId,
    /// Index of row 0's first margin; the buffer may begin with a later row.
    pub origin: Value,
    /// Whether additions are atomic.
    pub atomic: bool,
    /// Rows per block, if sums are stored in blocks, margin by margin within a block.
    pub block_rows: Option<u32>,
    /// Element type of sums.
    pub element: Scalar,
    /// Sums of a row: one for each margin, or one, if all trees that add to the target have one margin.
    pub margins: i64,
    /// Elements from a row's sum to the next row's.
    pub row_distance: i64,
    /// Elements from a margin's sum of a row to the next margin's.
    pub margin_distance: i64,
    /// Sums of adjacent rows that a thread accesses with one instruction, if the target has a place for each
    /// row of the threads' loops, although the call may have fewer rows. `None` if it has no such places.
    pub rows_together: Option<i64>,
    /// Table of each tree's margin, if there are several margins.
    pub tree_margins: Option<TreeMargins>,
    /// The sums that are rounded to single precision after each addition.
    pub rounding: SumRounding,
}

/// The margins of the sums that an addition changes.
#[derive(Clone, Copy, Debug)]
pub enum SummedMargins {
    /// The margin of the tree with this number: of one row, or of each row of a vector.
    OfTree(Value),
    /// The margin with this number: of one row, or of each row of a vector.
    Margin(Value),
    /// Adjacent margins of one row, from this margin on.
    AdjacentFrom(Value),
    /// The margin of the sum at this index of the target.
    OfIndex(Value),
}

/// Places of sums in the slots of a private buffer.
#[derive(Clone, Copy, Debug)]
pub struct SlotLayout {
    /// The margins of a slot.
    pub margins: SlotMargins,
    /// Elements from a slot to the next one.
    pub slot_distance: Value,
    /// Elements from a row's sum to the next row's.
    pub row_distance: i64,
    /// Elements from a margin's sum of a row to the next margin's, if slots have all margins.
    pub margin_distance: i64,
}

/// A private buffer in scope.
#[derive(Clone, Debug)]
pub struct PrivateBuffer {
    /// The buffer.
    pub buffer: BufferId,
    /// Number of slots.
    pub slots: Value,
    /// Loops whose iterations have a slot each, outermost first, with their numbers of iterations.
    pub loops: Vec<(Var, Value)>,
    /// First row of the buffer.
    pub first_row: Value,
    /// Places of the sums.
    pub layout: SlotLayout,
    /// Number of sums that a fold adds to: those of all margins of the buffer's rows, as far as the call has
    /// these rows.
    pub sums: Value,
    /// In shared memory, sums of adjacent rows that a thread accesses with one instruction. The buffer then
    /// has a place for each row of the threads' loops, although the call may have fewer rows.
    pub rows_together: Option<i64>,
}

/// Copied sums in scope: those of the rows of a copy, in blocks of as many rows.
#[derive(Clone, Copy, Debug)]
pub struct CopiedSums {
    /// The buffer.
    pub buffer: BufferId,
    /// First row of the buffer.
    pub first_row: Value,
    /// Rows per block, which is stored margin by margin.
    pub block_rows: u32,
}

/// Sums that a thread keeps in registers: `[margins][rows]`.
#[derive(Clone, Debug)]
pub struct KeptSums {
    /// Accumulator that the sums are stored to at the end.
    pub of: Accumulator,
    /// The buffer.
    pub buffer: BufferId,
    /// Margins of a row.
    pub margins: i64,
    /// Number of rows. The sums of a margin are adjacent.
    pub rows: i64,
    /// First row of the thread.
    pub first_row: Value,
    /// Row loops of the thread, with their first values.
    pub loops: Vec<(Var, i64)>,
}

impl SumTarget {
    /// Index of a row's first margin. `kept_row` is the row's index among the rows whose sums the thread
    /// keeps, if known.
    pub fn first_margin(&self, b: &mut Builder, row: Value, kept_row: Option<i64>) -> Value {
        if let Some(kept_row) = kept_row {
            return b.int(kept_row * self.row_distance);
        }
        let row = b.mul_int(row, self.row_distance);
        b.add(self.origin, row)
    }

    /// Index of a margin of the row whose first margin is at `first`.
    pub fn margin_after(&self, b: &mut Builder, first: Value, margin: Value) -> Value {
        let after = b.mul_int(margin, self.margin_distance);
        b.add(first, after)
    }

    /// The margin of a tree, if it is known at compile time, as in unrolled loops over the trees of all
    /// classes.
    fn known_margin(b: &Builder, tree_margins: TreeMargins, tree: Value) -> Option<i64> {
        b.remainder(tree, tree_margins.margins).filter(|_| tree_margins.are_in_turn)
    }

    /// The margin of a tree.
    fn margin_of(b: &mut Builder, tree_margins: TreeMargins, tree: Value) -> Value {
        let TreeMargins { buffer, element, .. } = tree_margins;
        match SumTarget::known_margin(b, tree_margins, tree) {
            Some(margin) => b.int(margin),
            None => b.load_index(element, Address::element(buffer, tree, element)),
        }
    }

    /// Index of the margin of a row that a tree adds to.
    pub fn margin(&self, b: &mut Builder, row: Value, tree: Value, kept_row: Option<i64>) -> Value {
        let first = self.first_margin(b, row, kept_row);
        let Some(tree_margins) = self.tree_margins.filter(|_| self.margins > 1) else { return first };
        if kept_row.is_some() && SumTarget::known_margin(b, tree_margins, tree).is_some() {
            // All indices of the kept sums are constants, so that they are in registers.
            b.keep_sums_in_registers(self.margins.saturating_mul(self.margin_distance));
        }
        let margin = SumTarget::margin_of(b, tree_margins, tree);
        self.margin_after(b, first, margin)
    }

    /// Index of the sums that a tree adds to, for a vector of rows that begins with `row`.
    pub fn margin_of_rows(&self, b: &mut Builder, row: Value, tree: Value) -> Value {
        let first = self.first_margin(b, row, None);
        let (Some(block), Some(tree_margins)) = (self.block_rows, self.tree_margins) else { return first };
        let margin = SumTarget::margin_of(b, tree_margins, tree);
        let column = b.mul_int(margin, i64::from(block));
        b.add(first, column)
    }

    /// Adds a value to memory, atomically if the target is atomic.
    pub fn add(&self, b: &mut Builder, index: Value, value: Value, summed: SummedMargins) {
        let at = Address::element(self.buffer, index, self.element);
        if self.atomic {
            b.atomic_add(at, value);
        } else {
            let old = b.load(b.ty(value), at);
            let sum = self.sum(b, old, value, summed);
            b.store(at, sum);
        }
    }

    /// Sum of two numbers, or of two vectors, rounded to single precision if the sum's margin requires it.
    pub fn sum(&self, b: &mut Builder, x: Value, y: Value, summed: SummedMargins) -> Value {
        let sum = b.add(x, y);
        if self.element == Scalar::F32 || seeded(Fault::SinglesNotRounded) {
            return sum;
        }
        let rounding = if seeded(Fault::SumsRounded) { SumRounding::All } else { self.rounding };
        match rounding {
            SumRounding::None => sum,
            SumRounding::All => rounded(b, sum),
            SumRounding::ByMargin(table) => {
                let is_single = self.are_single(b, table, summed, b.ty(sum).lanes);
                let rounded = rounded(b, sum);
                b.select(is_single, rounded, sum)
            }
        }
    }

    /// For each of `lanes` lanes, whether the sum is rounded to single precision, from the table of margins.
    fn are_single(&self, b: &mut Builder, table: BufferId, summed: SummedMargins, lanes: u16) -> Value {
        let (margin, count) = match summed {
            SummedMargins::OfTree(tree) => match self.tree_margins {
                Some(tree_margins) => (SumTarget::margin_of(b, tree_margins, tree), 1),
                None => (b.int(0), 1),
            },
            SummedMargins::Margin(margin) => (margin, 1),
            SummedMargins::AdjacentFrom(margin) => (margin, lanes),
            SummedMargins::OfIndex(index) => {
                let margins = b.int(self.margins);
                let row = b.bin(Bin::IDiv, index, margins);
                let first = b.mul_int(row, self.margins);
                (b.sub(index, first), 1)
            }
        };
        let flags = b.load(Ty::vector(Scalar::I8, count), Address::element(table, margin, Scalar::I8));
        let zero = b.int_of(b.ty(flags), 0);
        let is_single = b.cmp(Cmp::Ne, flags, zero);
        if count == lanes { is_single } else { b.splat(is_single, lanes) }
    }

    /// Adds a vector to contiguous sums, in the lanes that the mask selects.
    pub fn add_vector(
        &self,
        b: &mut Builder,
        (index, summed): (Value, SummedMargins),
        value: Value,
        mask: Option<Value>,
    ) {
        let at = Address::element(self.buffer, index, self.element);
        let ty = b.ty(value);
        match mask {
            None => {
                let old = b.load(ty, at);
                let sum = self.sum(b, old, value, summed);
                b.store(at, sum);
            }
            Some(mask) => {
                let old = b.load_masked(ty, at, mask);
                let sum = self.sum(b, old, value, summed);
                b.store_masked(at, sum, mask);
            }
        }
    }
}

/// Numbers rounded to single precision.
fn rounded(b: &mut Builder, sum: Value) -> Value {
    let narrow = b.cast(Cast::Float, sum, b.ty(sum).with(Scalar::F32));
    b.cast(Cast::Float, narrow, b.ty(sum))
}
