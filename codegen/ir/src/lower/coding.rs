//! Rows as codes: for each feature value, how many of the feature's thresholds it is right of ([`Codes`]).
//!
//! Where codes lie in blocks, the rows of a block are turned first; they are side by side in vectors then, and the
//! thresholds of a feature are tables that all of them look up. Else the thresholds of one feature are side by side; if they
//! are too many, the features of a row are, and thresholds are gathered.

use super::nest::address;
use super::scope::Kernel;
use super::table;
use super::turn::Block;
use crate::lir::{Address, BufferId, Build, Builder, Cast, Cmp, Gather, Scalar, Ty, Value};
use crate::repr::codes::{AT_ONCE, Class, Codes};

/// Bytes behind the last code, so that the register that begins with it can be read.
pub(super) const CODES_END: i64 = 64;
/// Features of a row that are coded side by side.
const SIDE_BY_SIDE: u16 = 16;
/// Rows of a block that are coded side by side: values are wider than codes, and machine code is not.
const ROWS: u32 = 16;
/// Entries of the first table of thresholds that vectors look up.
const FIRST: u32 = 16;
/// Levels with more thresholds are gathered.
const LARGEST: u32 = 128;

/// The tables that rows are coded by.
#[derive(Clone, Copy, Debug)]
pub struct Coding {
    thresholds: BufferId,
    ordered: BufferId,
    features: BufferId,
    columns: BufferId,
}

impl Coding {
    /// Declares the tables with these numbers.
    pub fn declare(b: &mut Builder, codes: &Codes, tables: [u32; 4]) -> Coding {
        let [thresholds, ordered, features, columns] = tables;
        Coding {
            thresholds: b.buffer("code_thresholds", table(thresholds), codes.compared()),
            ordered: b.buffer("ordered_thresholds", table(ordered), codes.compared()),
            features: b.buffer("code_features", table(features), Scalar::I32),
            columns: b.buffer("code_columns", table(columns), Scalar::I32),
        }
    }
}

/// Rows of blocks that are coded together.
struct Part<'a> {
    codes: &'a Codes,
    coding: Coding,
    /// Their values, feature by feature.
    turned: BufferId,
    /// Where codes go.
    buffer: BufferId,
    /// How many they are: a divisor of those of a block.
    rows: u32,
    /// Rows of a block.
    width: u32,
}

impl Kernel<'_> {
    /// Stores the codes of `count` rows, and of as many as fill the last block.
    pub(super) fn code_rows(
        &mut self,
        codes: &Codes,
        buffer: BufferId,
        first_row: Value,
        (count, held): (Value, Value),
        blocks: Option<u32>,
    ) {
        let Some(coding) = self.coding else { return };
        match blocks {
            Some(width) => {
                let rows = width.min(ROWS);
                let values = self.b.int(i64::from(rows) * self.columns() * i64::from(self.input.bytes()));
                self.alloc("turned_rows", self.input, values, |k, turned| {
                    k.each_row((first_row, held), width, codes, |k, (block, from, to)| {
                        let left = k.b.sub(count, block);
                        let part = Part { codes, coding, turned, buffer, rows, width };
                        k.code_block(&part, left, (from, to));
                    });
                });
            }
            None => self.each_row((first_row, held), 1, codes, |k, (_, from, to)| {
                for class in codes.classes() {
                    match class.ordered() {
                        Some(each) => k.count_row((codes, class, each), coding, from, (buffer, to)),
                        None => k.code_row((codes, class), coding, from, (buffer, to)),
                    }
                }
            }),
        }
        let columns = i64::from(codes.columns());
        let end = self.b.mul_int(held, columns * i64::from(codes.element().bytes()));
        let nothing = self.b.int_of(Ty::vector(Scalar::I8, CODES_END as u16), 0);
        self.b.store(Address { buffer, index: end, stride: 1, offset: 0 }, nothing);
    }

    /// Calls `body` for each so many-th of `held` rows: with its number, its first element, and that of its codes.
    fn each_row(
        &mut self,
        (first_row, held): (Value, Value),
        step: u32,
        codes: &Codes,
        mut body: impl FnMut(&mut Self, (Value, Value, Value)),
    ) {
        let zero = self.b.int(0);
        self.for_loop((zero, held, i64::from(step)), &[], |k, number, _| {
            let row = k.b.add(first_row, number);
            let from = k.b.mul_int(row, k.features());
            let to = k.b.mul_int(number, i64::from(codes.columns()));
            body(k, (number, from, to));
            Vec::new()
        });
    }

    /// Codes a block, of which so many rows exist, some rows at a time.
    fn code_block(&mut self, part: &Part, left: Value, (from, to): (Value, Value)) {
        let (zero, width) = (self.b.int(0), self.b.int(part.width.into()));
        self.for_loop((zero, width, i64::from(part.rows)), &[], |k, first, _| {
            let (features, left) = (k.features(), k.b.sub(left, first));
            let ahead = k.b.mul_int(first, features);
            let (from, to) = (k.b.add(from, ahead), k.b.add(to, first));
            let some = k.b.cmp(Cmp::Lt, zero, left);
            k.if_else(
                some,
                |k| {
                    k.turn(&Block { from, to: zero, copy: part.turned, rows: part.rows }, left);
                    part.codes.classes().iter().for_each(|class| k.code_part(part, class, to));
                    Vec::new()
                },
                |k| {
                    k.clear_part(part, to);
                    Vec::new()
                },
            );
            Vec::new()
        });
    }

    /// Codes the features of a class for rows that are turned.
    fn code_part(&mut self, part: &Part, class: &Class, to: Value) {
        let Part { codes, coding, turned, buffer, rows, width } = *part;
        let input = self.input;
        let range = (self.b.int(class.features.start as i64), self.b.int(class.features.end as i64), 1);
        self.for_loop(range, &[], |k, feature, _| {
            let b = &mut k.b;
            let column = b.load_index(Scalar::I32, address(coding.columns, feature, 4));
            let column = b.mul_int(column, i64::from(rows));
            let x = b.load(Ty::vector(input, rows as u16), address(turned, column, input.bytes()));
            let nth = b.add_int(feature, -(class.features.start as i64));
            let first = b.mul_int(nth, 1 << class.depth);
            let first = b.add_int(first, class.first_threshold as i64);
            let code = search(b, codes, class.depth, x, |b, node, level| {
                side_by_side(b, codes, coding, first, (node, level, class.depth))
            });
            for (column, code) in sides(b, codes, class, x, code) {
                let column = b.add_int(nth, column);
                let column = b.mul_int(column, i64::from(width));
                let index = b.add(to, column);
                b.store(address(buffer, index, codes.element().bytes()), code);
            }
            Vec::new()
        });
    }

    /// Rows that do not exist have codes all the same, because whole blocks are read.
    fn clear_part(&mut self, part: &Part, to: Value) {
        let element = part.codes.element();
        let nothing = self.b.int_of(Ty::vector(element, part.rows as u16), 0);
        let range = (self.b.int(0), self.b.int(part.codes.columns().into()), 1);
        self.for_loop(range, &[], |k, column, _| {
            let column = k.b.mul_int(column, i64::from(part.width));
            let index = k.b.add(to, column);
            k.b.store(address(part.buffer, index, element.bytes()), nothing);
            Vec::new()
        });
    }

    /// Codes the features of a class for one row, one after the other. Each has so many entries among the ordered
    /// thresholds.
    fn count_row(
        &mut self,
        (codes, class, each): (&Codes, &Class, u32),
        coding: Coding,
        from: Value,
        (buffer, to): (BufferId, Value),
    ) {
        let (rows, input) = (self.rows, self.input);
        let range = (self.b.int(class.features.start as i64), self.b.int(class.features.end as i64), 1);
        self.for_loop(range, &[], |k, feature, _| {
            let b = &mut k.b;
            let number = b.load_index(Scalar::I32, address(coding.features, feature, 4));
            let index = b.add(from, number);
            let x = b.load(Ty::of(input), address(rows, index, input.bytes()));
            let nth = b.add_int(feature, -(class.features.start as i64));
            let first = b.mul_int(nth, each.into());
            let first = b.add_int(first, class.first_ordered as i64);
            let code = count(b, codes, class, x, (coding.ordered, first));
            for (column, code) in sides(b, codes, class, x, code) {
                let column = b.add_int(nth, column);
                let index = b.add(to, column);
                b.store(address(buffer, index, codes.element().bytes()), code);
            }
            Vec::new()
        });
    }

    /// Codes the features of a class for one row, some at a time.
    fn code_row(
        &mut self,
        (codes, class): (&Codes, &Class),
        coding: Coding,
        from: Value,
        (buffer, to): (BufferId, Value),
    ) {
        let (rows, input) = (self.rows, self.input);
        let ty = Ty::vector(Scalar::I32, SIDE_BY_SIDE);
        let trees = self.b.iota(ty);
        let size = self.b.int_of(ty, 1 << class.depth);
        let trees = self.b.mul(trees, size);
        let end = self.b.int(class.features.end as i64);
        let range = (self.b.int(class.features.start as i64), end, i64::from(SIDE_BY_SIDE));
        self.for_loop(range, &[], |k, feature, _| {
            let left = k.b.sub(end, feature);
            let mask = k.lanes_below(left, SIDE_BY_SIDE);
            let b = &mut k.b;
            let index = b.load_masked(ty, address(coding.features, feature, 4), mask);
            let (stride, offset, mask) = (input.bytes(), 0, Some(mask));
            let x = b.gather(input, Gather { buffer: rows, base: from, index, stride, offset, mask });
            let nth = b.add_int(feature, -(class.features.start as i64));
            let base = b.mul_int(nth, 1 << class.depth);
            let base = b.add_int(base, class.first_threshold as i64);
            let stride = codes.compared().bytes();
            let code = search(b, codes, class.depth, x, |b, node, _| {
                let index = b.add(trees, node);
                let gather = Gather { buffer: coding.thresholds, base, index, stride, offset, mask };
                b.gather(codes.compared(), gather)
            });
            for (column, code) in sides(b, codes, class, x, code) {
                let column = b.add_int(nth, column);
                let index = b.add(to, column);
                let at = address(buffer, index, codes.element().bytes());
                mask.into_iter().for_each(|mask| b.store_masked(at, code, mask));
            }
            Vec::new()
        });
    }
}

/// The thresholds of one feature that vectors of rows are compared with, for nodes of a level: from a table of the first
/// levels, the level's own, or gathered where it is too long.
fn side_by_side(
    b: &mut Builder,
    codes: &Codes,
    coding: Coding,
    first: Value,
    (node, level, depth): (Value, u32, u32),
) -> Value {
    let (element, size) = (codes.compared(), 1u32 << level);
    let stride = element.bytes();
    if size > LARGEST {
        let gather =
            Gather { buffer: coding.thresholds, base: first, index: node, stride, offset: 0, mask: None };
        return b.gather(element, gather);
    }
    if size == 1 {
        let root = Address { buffer: coding.thresholds, index: first, stride, offset: stride };
        let root = b.load(Ty::of(element), root);
        return b.splat(root, b.ty(node).lanes);
    }
    let (start, length) = if size < FIRST { (0, FIRST.min(1 << depth)) } else { (size, size) };
    let at = b.beyond(Address { buffer: coding.thresholds, index: first, stride, offset: 0 }, start.into());
    let table = b.load(Ty::vector(element, length as u16), at);
    b.lookup(table, node)
}

/// The number of a feature's ordered thresholds, from `first` on, that a value is right of, an `i64`.
fn count(
    b: &mut Builder,
    codes: &Codes,
    class: &Class,
    x: Value,
    (buffer, first): (BufferId, Value),
) -> Value {
    let among = |b: &mut Builder, index: Value, size: u32| {
        let ty = Ty::vector(codes.compared(), size as u16);
        let thresholds = b.load(ty, address(buffer, index, codes.compared().bytes()));
        let x = b.splat(x, ty.lanes);
        let right = b.cmp(codes.counts(), thresholds, x);
        let bits = b.mask_bits(right);
        b.pop_count(bits)
    };
    let whole = among(b, first, AT_ONCE);
    let Some(block) = class.block() else { return whole };
    let before = b.mul_int(whole, block.into());
    let index = b.add(first, before);
    let index = b.add_int(index, AT_ONCE.into());
    let rest = among(b, index, block);
    b.add(before, rest)
}

/// The number of thresholds that each value is right of: a walk down the complete tree of a feature's thresholds.
fn search(
    b: &mut Builder,
    codes: &Codes,
    depth: u32,
    x: Value,
    mut threshold: impl FnMut(&mut Builder, Value, u32) -> Value,
) -> Value {
    let ty = b.ty(x).with(Scalar::I32);
    let mut node = b.int_of(ty, 1);
    for level in 0..depth {
        let threshold = threshold(b, node, level);
        let right = b.cmp(codes.counts(), threshold, x);
        let right = b.cast(Cast::ZExt, right, ty);
        let left = b.add(node, node);
        node = b.add(left, right);
    }
    b.bits(node, 0, depth)
}

/// The first columns that a class's codes go to, each with the codes. No comparison holds for missing values, so that
/// they have come out with the lowest code.
fn sides(b: &mut Builder, codes: &Codes, class: &Class, x: Value, code: Value) -> Vec<(i64, Value)> {
    let ty = b.ty(code);
    let narrow = ty.with(codes.element());
    let mut sides = Vec::new();
    if let Some(column) = class.left {
        sides.push((i64::from(column), b.cast(Cast::Trunc, code, narrow)));
    }
    if let Some(column) = class.right {
        let missing = b.cmp(Cmp::Uno, x, x);
        let highest = b.int_of(ty, (1 << (8 * codes.element().bytes())) - 1);
        let code = b.select(missing, highest, code);
        sides.push((i64::from(column), b.cast(Cast::Trunc, code, narrow)));
    }
    sides
}
