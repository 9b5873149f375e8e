//! What a layout stores, as data: tables, their records and the fields of these.
//!
//! A layout builds its [`Schema`] once and keeps a [`Field`] for each number that it stores. From the schema
//! follow the footprint, the list of tables, the blank bytes and what is prefetched; a field writes itself
//! into the bytes and reads itself in code, so that writer and reader have one definition of every offset.

use super::test::Operand;
use super::tree::{At, Buffers, TreeState};
use crate::bytes::{write_float, write_int};
use crate::lir::{Address, BufferId, Build, Builder, Scalar, Table, Ty, Value};
use std::fmt::{self, Display, Formatter};

/// Bytes that are brought near at once.
const LINE: i64 = 64;

/// The tables of a layout.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    tables: Vec<Spec>,
}

/// One table.
#[derive(Clone, Debug)]
struct Spec {
    name: &'static str,
    /// What it is declared to hold.
    element: Scalar,
    /// Bytes of a record.
    stride: u32,
    records: u64,
    /// Bytes behind the last record, so that a wider load of it stays inside.
    tail: u64,
    /// Whether a tree's records are brought near with it.
    near: bool,
    /// Whether each tree has records of its own, at the same places as in the other tables of which this is so.
    of_trees: bool,
    /// Of records that are more than one number: what these are called, their types and where they lie.
    fields: Vec<(&'static str, Field)>,
}

/// A table of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(usize);

/// A number that is stored in each record of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    table: TableId,
    /// Its type.
    pub scalar: Scalar,
    at: At,
}

/// The bytes of a schema's tables while they are written.
#[derive(Debug)]
pub struct Bytes(Vec<Vec<u8>>);

impl Schema {
    /// Adds a table of `records` records of `stride` bytes.
    pub fn table(&mut self, name: &'static str, element: Scalar, stride: u32, records: u64) -> TableId {
        self.tables.push(Spec {
            name,
            element,
            stride,
            records,
            tail: 0,
            near: false,
            of_trees: false,
            fields: Vec::new(),
        });
        TableId(self.tables.len() - 1)
    }

    /// Adds a table whose records are one number each.
    pub fn column(&mut self, name: &'static str, element: Scalar, records: u64) -> Field {
        let table = self.table(name, element, element.bytes(), records);
        Field { table, scalar: element, at: At::start(element.bytes()) }
    }

    /// Adds a number to a table's records.
    pub fn field(&mut self, table: TableId, name: &'static str, scalar: Scalar, offset: u32) -> Field {
        let spec = &mut self.tables[table.0];
        let field = Field { table, scalar, at: At { stride: spec.stride, offset } };
        spec.fields.push((name, field));
        field
    }

    /// Has a tree's records of a table brought near with it.
    pub fn near(&mut self, table: TableId) {
        self.tables[table.0].near = true;
        self.of_trees(table);
    }

    /// Says that each tree has records of its own in a table, at the same places as in others of which that is said.
    pub fn of_trees(&mut self, table: TableId) {
        self.tables[table.0].of_trees = true;
    }

    /// The tables that have records of trees: their number, what they hold, and the bytes of a record.
    pub fn tables_of_trees(&self) -> impl Iterator<Item = (usize, &'static str, Scalar, u32)> + '_ {
        let tables = self.tables.iter().enumerate().filter(|(_, table)| table.of_trees && table.records > 0);
        tables.map(|(number, table)| (number, table.name, table.element, table.stride))
    }

    /// Adds bytes behind the last record of a table.
    pub fn tail(&mut self, table: TableId, bytes: u64) {
        self.tables[table.0].tail = bytes;
    }

    /// Bytes of all tables together.
    pub fn footprint(&self) -> u64 {
        self.tables.iter().map(Spec::bytes).fold(0, u64::saturating_add)
    }

    /// Names and elements of the tables.
    pub fn names(&self) -> Vec<(&'static str, Scalar)> {
        self.tables.iter().map(|table| (table.name, table.element)).collect()
    }

    /// The tables, filled with zeros.
    pub fn blank(&self) -> Bytes {
        Bytes(self.tables.iter().map(|table| vec![0; table.bytes() as usize]).collect())
    }

    /// The tables, filled.
    pub fn tables(&self, bytes: Bytes) -> Vec<Table> {
        let named = self.tables.iter().zip(bytes.0);
        named.map(|(table, bytes)| Table { name: table.name.to_string(), bytes }).collect()
    }

    /// Brings the records `from..to` near, of all tables that have a tree's records at the same places.
    pub fn prefetch(&self, b: &mut Builder, buffers: &Buffers, from: Value, to: Value) {
        for (number, table) in self.tables.iter().enumerate().filter(|(_, table)| table.near) {
            let stride = i64::from(table.stride);
            let (from, to) = (b.mul_int(from, stride), b.mul_int(to, stride));
            prefetch(b, buffers[number], from, to);
        }
    }
}

/// Brings the bytes `from..to` of a buffer near, a cache line at a time.
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

impl Display for Spec {
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

impl Spec {
    fn bytes(&self) -> u64 {
        self.records.saturating_mul(self.stride.into()).saturating_add(self.tail)
    }
}

impl Field {
    /// The table that it is stored in.
    pub fn table(self) -> TableId {
        self.table
    }

    /// Bytes from the start of its record.
    pub fn offset(self) -> u32 {
        self.at.offset
    }

    /// The same place in the record, seen as another type: a word around a narrow number, or both halves of a
    /// node.
    pub fn seen_as(self, scalar: Scalar) -> Field {
        Field { scalar, ..self }
    }

    /// Bytes of its record.
    pub fn stride(self) -> u32 {
        self.at.stride
    }

    /// The same for records that are counted in bytes.
    pub fn by_bytes(self) -> Field {
        Field { at: At { stride: 1, ..self.at }, ..self }
    }

    /// The number `bytes` further in the record.
    pub fn behind(self, bytes: u32) -> Field {
        Field { at: At { offset: self.at.offset + bytes, ..self.at }, ..self }
    }

    /// The aligned word that it lies in, and its first bit there.
    pub fn word(self) -> (Field, u32) {
        let offset = self.at.offset & !3;
        (Field { scalar: Scalar::I32, at: At { offset, ..self.at }, ..self }, 8 * (self.at.offset & 3))
    }

    /// The buffer that it is read from.
    pub fn buffer(self, buffers: &Buffers) -> BufferId {
        buffers[self.table.0]
    }

    /// Its address in a record.
    pub fn address(self, buffers: &Buffers, record: Value) -> Address {
        let At { stride, offset } = self.at;
        Address { buffer: self.buffer(buffers), index: record, stride, offset }
    }

    /// The numbers of `count` records from `first` on.
    pub fn load_run(self, b: &mut Builder, buffers: &Buffers, first: Value, count: u64) -> Value {
        b.load(Ty::vector(self.scalar, count as u16), self.address(buffers, first))
    }

    /// `count` numbers that stand side by side in one record.
    pub fn load_run_of(self, b: &mut Builder, buffers: &Buffers, record: Value, count: u16) -> Value {
        b.load(Ty::vector(self.scalar, count), self.address(buffers, record))
    }

    /// The number of a node of a tree, or the numbers of a vector of nodes.
    pub fn load(self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        state.load(b, self.buffer(buffers), self.scalar, node, self.at)
    }

    /// The bytes of a record from this field on.
    pub fn of_record(self, bytes: &mut Bytes, record: usize) -> &mut [u8] {
        let at = record * self.at.stride as usize + self.at.offset as usize;
        &mut bytes.0[self.table.0][at..]
    }

    /// Writes an integer.
    pub fn write(self, bytes: &mut Bytes, record: usize, n: u64) {
        write_int(self.of_record(bytes, record), self.scalar, n);
    }

    /// Writes what a node compares with.
    pub fn write_operand(self, bytes: &mut Bytes, record: usize, operand: Operand) {
        match operand {
            Operand::Threshold(x) => write_float(self.of_record(bytes, record), self.scalar, x),
            Operand::Bin(threshold_bin) => self.write(bytes, record, threshold_bin),
        }
    }

    /// Fills its whole table with a byte.
    pub fn fill(self, bytes: &mut Bytes, byte: u8) {
        bytes.0[self.table.0].fill(byte);
    }
}
