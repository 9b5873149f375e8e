//! Storage of a layout as data: tables, their records and the records' fields.
//!
//! A layout builds its [`Schema`] once and keeps a [`Field`] for each number that it stores. The
//! footprint, the list of tables, the blank bytes and the prefetches follow from the schema. A field
//! writes itself into the bytes and emits the code that reads it, so writer and reader share one
//! definition of every offset.

use super::test::TestOperand;
use super::tree::{Buffers, FieldPosition, TreeState};
use crate::bytes::{write_float, write_int};
use crate::lir::{Address, BufferId, BuildStmts, Builder, Scalar, Table, Ty, Value};
use std::fmt::{self, Display, Formatter};

/// Bytes of a cache line.
const LINE: i64 = 64;

/// The tables of a layout.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    tables: Vec<TableSpec>,
}

/// One table.
#[derive(Clone, Debug)]
struct TableSpec {
    name: &'static str,
    /// Declared element type of the table.
    element: Scalar,
    /// Bytes of a record.
    stride: u32,
    records: u64,
    /// Bytes behind the last record, which allow wider loads of it.
    tail: u64,
    /// Whether prefetching a tree covers its records in this table.
    prefetched: bool,
    /// Whether records belong to trees. All such tables of a layout share one record index.
    belongs_to_trees: bool,
    /// Name, type and offset of each field, if records have more than one number.
    fields: Vec<(&'static str, Field)>,
}

/// A table of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(usize);

/// A number that is stored in each record of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    table: TableId,
    /// Type of the number.
    pub scalar: Scalar,
    at: FieldPosition,
}

/// The bytes of a schema's tables while they are written.
#[derive(Debug)]
pub struct TableBytes(Vec<Vec<u8>>);

impl Schema {
    /// Adds a table of `records` records of `stride` bytes.
    pub fn add_table(&mut self, name: &'static str, element: Scalar, stride: u32, records: u64) -> TableId {
        self.tables.push(TableSpec {
            name,
            element,
            stride,
            records,
            tail: 0,
            prefetched: false,
            belongs_to_trees: false,
            fields: Vec::new(),
        });
        TableId(self.tables.len() - 1)
    }

    /// Adds a table whose records are one number each.
    pub fn add_number_table(&mut self, name: &'static str, element: Scalar, records: u64) -> Field {
        let table = self.add_table(name, element, element.bytes(), records);
        Field { table, scalar: element, at: FieldPosition::start(element.bytes()) }
    }

    /// Adds a field to a table's records.
    pub fn add_field(&mut self, table: TableId, name: &'static str, scalar: Scalar, offset: u32) -> Field {
        let spec = &mut self.tables[table.0];
        let field = Field { table, scalar, at: FieldPosition { stride: spec.stride, offset } };
        spec.fields.push((name, field));
        field
    }

    /// Includes a table's records in the prefetch of a tree.
    pub fn prefetch_with_trees(&mut self, table: TableId) {
        self.tables[table.0].prefetched = true;
        self.declare_records_of_trees(table);
    }

    /// Declares that each tree has its own records in a table, with the same indices in all such
    /// tables.
    pub fn declare_records_of_trees(&mut self, table: TableId) {
        self.tables[table.0].belongs_to_trees = true;
    }

    /// Tables with records of trees: number, name, element, and bytes of a record.
    pub fn tables_of_trees(&self) -> impl Iterator<Item = (usize, &'static str, Scalar, u32)> + '_ {
        let tables =
            self.tables.iter().enumerate().filter(|(_, table)| table.belongs_to_trees && table.records > 0);
        tables.map(|(number, table)| (number, table.name, table.element, table.stride))
    }

    /// Number, name, element, and bytes of a record of a table.
    pub fn table_info(&self, table: TableId) -> (usize, &'static str, Scalar, u32) {
        let TableSpec { name, element, stride, .. } = self.tables[table.0];
        (table.0, name, element, stride)
    }

    /// Adds bytes behind the last record of a table.
    pub fn add_tail(&mut self, table: TableId, bytes: u64) {
        self.tables[table.0].tail = bytes;
    }

    /// Bytes of all tables together.
    pub fn footprint(&self) -> u64 {
        self.tables.iter().map(TableSpec::bytes).fold(0, u64::saturating_add)
    }

    /// Names and elements of the tables.
    pub fn names(&self) -> Vec<(&'static str, Scalar)> {
        self.tables.iter().map(|table| (table.name, table.element)).collect()
    }

    /// The tables, filled with zeros.
    pub fn zeroed_bytes(&self) -> TableBytes {
        TableBytes(self.tables.iter().map(|table| vec![0; table.bytes() as usize]).collect())
    }

    /// Tables with their final bytes.
    pub fn tables(&self, bytes: TableBytes) -> Vec<Table> {
        let named = self.tables.iter().zip(bytes.0);
        named.map(|(table, bytes)| Table { name: table.name.to_string(), bytes: bytes.into() }).collect()
    }

    /// Prefetches the records `from..to` of all tables that are included in the prefetch of trees.
    pub fn prefetch(&self, b: &mut Builder, buffers: &Buffers, from: Value, to: Value) {
        for (number, table) in self.tables.iter().enumerate().filter(|(_, table)| table.prefetched) {
            let stride = i64::from(table.stride);
            let (from, to) = (b.mul_int(from, stride), b.mul_int(to, stride));
            prefetch(b, buffers[number], from, to);
        }
    }
}

/// Prefetches the bytes `from..to` of a buffer, a cache line at a time.
pub fn prefetch(b: &mut Builder, buffer: BufferId, from: Value, to: Value) {
    b.for_loop((from, to, LINE), &[], |b, index, _| {
        b.prefetch(Address::element(buffer, index, Scalar::I8));
        Vec::new()
    });
}

impl Display for Schema {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.tables.iter().filter(|table| table.records > 0).try_for_each(|table| writeln!(f, "{table}"))
    }
}

impl Display for TableSpec {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{} x {}: ", self.name, self.records)?;
        if self.fields.is_empty() {
            return write!(f, "{}", self.element);
        }
        let field = |(name, field): &(&str, Field)| format!("{name} {} at {}", field.scalar, field.at.offset);
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        write!(f, "{} in {} bytes", fields.join(", "), self.stride)
    }
}

impl TableSpec {
    fn bytes(&self) -> u64 {
        self.records.saturating_mul(self.stride.into()).saturating_add(self.tail)
    }
}

impl Field {
    /// Table of the field.
    pub fn table(self) -> TableId {
        self.table
    }

    /// Offset in the record, in bytes.
    pub fn offset(self) -> u32 {
        self.at.offset
    }

    /// The field with another type at the same offset: for example, a word that contains a narrow number, or
    /// one with both halves of a node.
    pub fn with_scalar(self, scalar: Scalar) -> Field {
        Field { scalar, ..self }
    }

    /// Bytes of a record.
    pub fn stride(self) -> u32 {
        self.at.stride
    }

    /// The field for record indices that count bytes.
    pub fn by_bytes(self) -> Field {
        Field { at: FieldPosition { stride: 1, ..self.at }, ..self }
    }

    /// The field `bytes` further in the record.
    pub fn offset_by(self, bytes: u32) -> Field {
        Field { at: FieldPosition { offset: self.at.offset + bytes, ..self.at }, ..self }
    }

    /// The aligned 32-bit word that contains the field, and the field's first bit in it.
    pub fn word(self) -> (Field, u32) {
        let offset = self.at.offset & !3;
        (
            Field { scalar: Scalar::I32, at: FieldPosition { offset, ..self.at }, ..self },
            8 * (self.at.offset & 3),
        )
    }

    /// Buffer of the field's table.
    pub fn buffer(self, buffers: &Buffers) -> BufferId {
        buffers[self.table.0]
    }

    /// Address in a record.
    pub fn address(self, buffers: &Buffers, record: Value) -> Address {
        let FieldPosition { stride, offset } = self.at;
        Address { buffer: self.buffer(buffers), index: record, stride, offset }
    }

    /// Loads the field of `count` records from `first` on.
    pub fn load_records(self, b: &mut Builder, buffers: &Buffers, first: Value, count: u64) -> Value {
        b.load(Ty::vector(self.scalar, count as u16), self.address(buffers, first))
    }

    /// Loads `count` contiguous numbers of one record.
    pub fn load_array(self, b: &mut Builder, buffers: &Buffers, record: Value, count: u16) -> Value {
        b.load(Ty::vector(self.scalar, count), self.address(buffers, record))
    }

    /// Loads the field of a node of a tree, or of a vector of nodes.
    pub fn load(self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        state.load(b, self.buffer(buffers), self.scalar, node, self.at)
    }

    /// Bytes of the field's table, from this field of a record on.
    pub fn bytes_from_record(self, bytes: &mut TableBytes, record: usize) -> &mut [u8] {
        let at = record * self.at.stride as usize + self.at.offset as usize;
        &mut bytes.0[self.table.0][at..]
    }

    /// Writes an integer.
    pub fn write(self, bytes: &mut TableBytes, record: usize, n: u64) {
        write_int(self.bytes_from_record(bytes, record), self.scalar, n);
    }

    /// Writes the operand of a node's comparison.
    pub fn write_operand(self, bytes: &mut TableBytes, record: usize, operand: TestOperand) {
        match operand {
            TestOperand::Threshold(x) => write_float(self.bytes_from_record(bytes, record), self.scalar, x),
            TestOperand::Bin(threshold_bin) => self.write(bytes, record, threshold_bin),
        }
    }

    /// Fills the whole table with a byte.
    pub fn fill(self, bytes: &mut TableBytes, byte: u8) {
        bytes.0[self.table.0].fill(byte);
    }
}
