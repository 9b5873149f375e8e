//! Where the rows of a leaf loop are read from.

use crate::lir::{Address, Bin, BufferId, Builder, Cmp, Scalar, Ty, Value};
use crate::plan::RowTable;
use crate::rows::{Places, Row, RowLanes};

/// Rows in scope: the call's, or a copy of some of them.
#[derive(Clone, Copy, Debug)]
pub struct RowCopy {
    /// The buffer.
    pub buffer: BufferId,
    /// The first row that it holds.
    pub first_row: Value,
    /// Rows per block, if a block lies feature by feature.
    pub blocks: Option<u32>,
    /// What it holds of a row: values of features, or bins.
    pub element: Scalar,
    /// How many of them.
    pub columns: i64,
    /// Whether all rows are in one block.
    pub single_block: bool,
    /// Where in the block a row's elements are.
    pub places: Places,
}

/// The row that all lanes read, as a table to look up.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    /// There is none.
    None,
    /// It is loaded once, before the loop. Vectors look it up.
    Loaded(Value),
    /// Each walk loads that of its row.
    OfRow(RowTable),
}

/// The rows that a leaf loop reads.
#[derive(Clone, Copy, Debug)]
pub struct RowSource {
    /// Where they lie.
    pub copy: RowCopy,
    /// Rows from one iteration to the next, if the loop counts rows.
    pub step: Option<i64>,
    /// The row as a table.
    pub table: Table,
}

/// The rows of one vector of walks, or the row of a single one.
#[derive(Clone, Copy, Debug)]
pub struct RowsWanted {
    /// The first row of the group.
    pub first: Value,
    /// How many rows further this vector begins.
    pub ahead: i64,
    /// Lanes.
    pub width: u16,
    /// Which lanes have a row; all, if there is none.
    pub mask: Option<Value>,
}

/// A row relative to the first one of a copy in blocks, and bytes to add.
#[derive(Clone, Copy)]
struct InBlocks {
    relative: Value,
    offset: u32,
    block: u32,
}

impl RowCopy {
    /// A row as a table to look up.
    pub fn table(&self, b: &mut Builder, table: RowTable, at: Address) -> Value {
        let ty = Ty::vector(self.element, table.length);
        if !table.masked {
            return b.load(ty, at);
        }
        let numbers = b.iota(ty.with(Scalar::I32));
        let end = b.int_of(ty.with(Scalar::I32), self.columns);
        let mask = b.cmp(Cmp::Lt, numbers, end);
        b.load_masked(ty, at, mask)
    }

    /// The table of the row with a number.
    pub fn table_of(&self, b: &mut Builder, table: RowTable, row: Value) -> Value {
        let row = b.sub(row, self.first_row);
        let index = b.mul_int(row, self.columns);
        self.table(b, table, Address::element(self.buffer, index, self.element))
    }
}

impl RowSource {
    /// The table that traversals look up themselves.
    pub fn loaded_table(&self) -> Option<Value> {
        match self.table {
            Table::Loaded(table) => Some(table),
            Table::None | Table::OfRow(_) => None,
        }
    }

    /// Where rows are. Constant distances become offsets, so that the lanes of a group share one base
    /// address.
    pub fn row(&self, b: &mut Builder, wanted: RowsWanted) -> Row {
        let RowsWanted { first, ahead, width, mask } = wanted;
        let RowCopy { buffer, first_row, blocks, element, columns, single_block, .. } = self.copy;
        let bytes = ahead.checked_mul(columns).and_then(|n| n.checked_mul(i64::from(element.bytes())));
        let offset = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let mut relative = b.sub(first, first_row);
        let block = blocks.filter(|_| self.step.is_some() || single_block);
        if offset.is_none() || block.is_some_and(|block| block != u32::from(width)) {
            relative = b.add_int(relative, ahead);
        }
        let offset = offset.unwrap_or(0);
        if let Some(block) = block {
            return self.row_of_block(b, InBlocks { relative, offset, block }, width);
        }
        let index = b.mul_int(relative, columns);
        let lanes = (width > 1).then(|| {
            let distance = self.step.map(|step| distances(b, step * columns, width));
            RowLanes { distance, adjacent: false, mask }
        });
        let table = match self.table {
            Table::None => None,
            Table::Loaded(table) => Some(table).filter(|_| width > 1),
            Table::OfRow(table) => {
                let stride = element.bytes();
                Some(self.copy.table(b, table, Address { buffer, index, stride, offset }))
            }
        };
        Row { buffer, index, offset, element, stride: 1, lanes, table }
    }

    /// A row of a copy in blocks. A vector of walks is one block; a single walk finds its block and its place
    /// in it.
    fn row_of_block(&self, b: &mut Builder, at: InBlocks, width: u16) -> Row {
        let InBlocks { relative, offset, block } = at;
        let RowCopy { buffer, element, columns, .. } = self.copy;
        let row =
            Row { buffer, index: relative, offset: 0, element, stride: block, lanes: None, table: None };
        if width > 1 && u32::from(width) == block {
            let index = b.mul_int(relative, columns);
            let lanes = RowLanes { distance: Some(distances(b, 1, width)), adjacent: true, mask: None };
            return Row { index, offset, lanes: Some(lanes), ..row };
        }
        if self.copy.single_block {
            return Row { index: self.copy.places.of(b, relative), ..row };
        }
        let size = b.int(i64::from(block));
        let number = b.bin(Bin::IDiv, relative, size);
        let start = b.mul(number, size);
        let place = b.sub(relative, start);
        let start = b.mul_int(start, columns);
        Row { index: b.add(start, place), ..row }
    }
}

/// `0, step, 2 * step` and so on, a vector of `i32`.
pub(super) fn distances(b: &mut Builder, step: i64, width: u16) -> Value {
    let ty = Ty::vector(Scalar::I32, width);
    let numbers = b.iota(ty);
    let step = b.int_of(ty, step);
    b.mul(numbers, step)
}
