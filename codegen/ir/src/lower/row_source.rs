//! Source of the rows of a leaf loop.

use crate::lir::{Address, Bin, BufferId, Builder, Cmp, Scalar, Ty, Value};
use crate::plan::RowTable;
use crate::rows::{RowAddress, RowLanes, RowPlacement};

/// Rows in scope: the rows of the call, or a copy of some of them.
#[derive(Clone, Copy, Debug)]
pub struct RowBuffer {
    /// The buffer that holds the rows.
    pub buffer: BufferId,
    /// First row of the buffer.
    pub first_row: Value,
    /// Rows per block, if blocks are stored feature by feature.
    pub block_rows: Option<u32>,
    /// Element type of the rows, which are values of features, or bins.
    pub element: Scalar,
    /// Elements per row.
    pub columns: i64,
    /// Whether all rows are in one block.
    pub single_block: bool,
    /// Order of the rows in the block.
    pub placement: RowPlacement,
}

/// Look-up table in registers with the row that all lanes read.
#[derive(Clone, Copy, Debug)]
pub enum RowTableSource {
    /// No table.
    None,
    /// Loaded once before the loop, for vectors.
    Loaded(Value),
    /// Loaded from its row by each walk.
    OfRow(RowTable),
}

/// Rows that a leaf loop reads.
#[derive(Clone, Copy, Debug)]
pub struct RowSource {
    /// Buffer of the rows.
    pub buffer: RowBuffer,
    /// Distance between the rows of consecutive iterations, if the loop counts rows.
    pub step: Option<i64>,
    /// Look-up table of the row.
    pub table: RowTableSource,
}

/// Rows that one vector of walks reads, or the row of a single walk.
#[derive(Clone, Copy, Debug)]
pub struct RowRequest {
    /// First row of the group.
    pub first: Value,
    /// Number of rows between `first` and the first row of this vector.
    pub ahead: i64,
    /// Lanes of the vector; 1 for a single walk.
    pub width: u16,
    /// Mask of the lanes that have a row; `None` if all have one.
    pub mask: Option<Value>,
}

/// A row of a copy in blocks: its number relative to the copy's first row, and an offset in bytes.
#[derive(Clone, Copy)]
struct BlockRow {
    relative: Value,
    offset: u32,
    block: u32,
}

impl RowBuffer {
    /// Loads the look-up table at an address.
    pub fn table(&self, b: &mut Builder, table: RowTable, at: Address) -> Value {
        let ty = Ty::vector(self.element, table.length);
        if !table.needs_mask {
            return b.load(ty, at);
        }
        let numbers = b.iota(ty.with(Scalar::I32));
        let end = b.int_of(ty.with(Scalar::I32), self.columns);
        let mask = b.cmp(Cmp::Lt, numbers, end);
        b.load_masked(ty, at, mask)
    }

    /// Loads the look-up table of a row.
    pub fn table_of(&self, b: &mut Builder, table: RowTable, row: Value) -> Value {
        let row = b.sub(row, self.first_row);
        let index = b.mul_int(row, self.columns);
        self.table(b, table, Address::element(self.buffer, index, self.element))
    }
}

impl RowSource {
    /// The table that was loaded before the loop.
    pub fn loaded_table(&self) -> Option<Value> {
        match self.table {
            RowTableSource::Loaded(table) => Some(table),
            RowTableSource::None | RowTableSource::OfRow(_) => None,
        }
    }

    /// Address of the rows. The constant distance from the group's first row becomes an offset, so that all
    /// vectors of a group share one base address.
    pub fn row(&self, b: &mut Builder, request: RowRequest) -> RowAddress {
        let RowRequest { first, ahead, width, mask } = request;
        let RowBuffer { buffer, first_row, block_rows, element, columns, single_block, .. } = self.buffer;
        let bytes = ahead.checked_mul(columns).and_then(|n| n.checked_mul(i64::from(element.bytes())));
        let offset = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let mut relative = b.sub(first, first_row);
        let block = block_rows.filter(|_| self.step.is_some() || single_block);
        if offset.is_none() || block.is_some_and(|block| block != u32::from(width)) {
            relative = b.add_int(relative, ahead);
        }
        let offset = offset.unwrap_or(0);
        if let Some(block) = block {
            return self.row_of_block(b, BlockRow { relative, offset, block }, width);
        }
        let index = b.mul_int(relative, columns);
        let lanes = (width > 1).then(|| {
            let distance = self.step.map(|step| distances(b, step * columns, width));
            RowLanes { distance, adjacent: false, mask }
        });
        let table = match self.table {
            RowTableSource::None => None,
            RowTableSource::Loaded(table) => Some(table).filter(|_| width > 1),
            RowTableSource::OfRow(table) => {
                let stride = element.bytes();
                Some(self.buffer.table(b, table, Address { buffer, index, stride, offset }))
            }
        };
        RowAddress { buffer, index, offset, element, stride: 1, lanes, table }
    }

    /// Address of rows in a copy with blocks. A vector of walks reads one block; a single walk computes its
    /// row's block and position in the block.
    fn row_of_block(&self, b: &mut Builder, at: BlockRow, width: u16) -> RowAddress {
        let BlockRow { relative, offset, block } = at;
        let RowBuffer { buffer, element, columns, .. } = self.buffer;
        let row = RowAddress {
            buffer,
            index: relative,
            offset: 0,
            element,
            stride: block,
            lanes: None,
            table: None,
        };
        if width > 1 && u32::from(width) == block {
            let index = b.mul_int(relative, columns);
            let lanes = RowLanes { distance: Some(distances(b, 1, width)), adjacent: true, mask: None };
            return RowAddress { index, offset, lanes: Some(lanes), ..row };
        }
        if self.buffer.single_block {
            return RowAddress { index: self.buffer.placement.position(b, relative), ..row };
        }
        let size = b.int(i64::from(block));
        let number = b.bin(Bin::IDiv, relative, size);
        let start = b.mul(number, size);
        let place = b.sub(relative, start);
        let start = b.mul_int(start, columns);
        RowAddress { index: b.add(start, place), ..row }
    }
}

/// `0, step, 2 * step` and so on, a vector of `i32`.
pub(super) fn distances(b: &mut Builder, step: i64, width: u16) -> Value {
    let ty = Ty::vector(Scalar::I32, width);
    let numbers = b.iota(ty);
    let step = b.int_of(ty, step);
    b.mul(numbers, step)
}
