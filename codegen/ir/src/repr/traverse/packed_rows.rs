//! Packed rows: four rows in the bytes of a register take the first levels of a tree together.
//!
//! In a copy that is stored feature by feature, the bins of four neighbouring rows are one word. An
//! addition and some logic on that word test all four rows at a node. The decisions of the levels above
//! select the tests that count for each row. Deeper levels are walked row by row.

use super::Lane;
use super::speculate::NodeTest;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Cast, Scalar, Ty, Value};
use crate::repr::cursor::Cursor;
use crate::rows::RowAddress;

/// Number of rows whose bins share a word.
pub const ROWS_PER_WORD: usize = 4;
/// Largest number of top levels that packed rows walk together. After these, node numbers still fit a byte.
pub const MOST_PACKED_LEVELS: u32 = 7;

/// A word of four bytes.
const WORD: Ty = Ty::of(Scalar::I32);
/// Factor that copies a byte to all four bytes of a word.
const REPEAT_BYTE: i64 = 0x0101_0101;
/// Mask of the low seven bits of each byte.
const LOW_BITS: i64 = 0x7f7f_7f7f;

/// Cursors of neighbouring rows after all levels of `nodes`, which are in level order from the root.
/// The first row is at the start of a word.
pub fn descend(b: &mut Builder, rows: &[&Lane], nodes: &[NodeTest]) -> Vec<Cursor> {
    let Some(first) = rows.first() else { return Vec::new() };
    let tests: Vec<Value> = nodes.iter().map(|node| goes_right(b, &first.row, node)).collect();
    let mut decisions: Vec<Value> = Vec::new();
    let mut rest = tests.as_slice();
    while !rest.is_empty() {
        let (level, below) = rest.split_at(rest.len().min(1 << decisions.len()));
        let decision = choose(b, level.to_vec(), &decisions);
        decisions.push(decision);
        rest = below;
    }
    let numbers = numbers(b, &decisions);
    (0..rows.len() as u32)
        .map(|row| {
            let row = if seeded(Fault::WordReversesRows) { ROWS_PER_WORD as u32 - 1 - row } else { row };
            let number = b.extract_bits(numbers, 8 * row, 8);
            let number = b.to_index(number);
            Cursor::of(number)
        })
        .collect()
}

/// Whether each row goes right at a node, in the highest bit of its byte. The other bits are arbitrary.
///
/// A row goes right if its bin exceeds the threshold bin. Then the sum of the bin and 255 minus the
/// threshold bin carries out of the byte.
fn goes_right(b: &mut Builder, row: &RowAddress, node: &NodeTest) -> Value {
    let column = b.mul_int(node.feature, i64::from(row.stride));
    let index = b.add(row.index, column);
    let bins = b.load(WORD, Address { buffer: row.buffer, index, stride: 1, offset: row.offset });
    let threshold_bin = b.cast(Cast::Trunc, node.operand, WORD);
    let [each, low, all] = [REPEAT_BYTE, LOW_BITS, -1].map(|n| b.int_of(WORD, n));
    let threshold_bins = b.mul(threshold_bin, each);
    let lacking = b.bin(Bin::Xor, threshold_bins, all);
    // Sums of the low seven bits do not overflow their byte; their carry is in the highest bit.
    let (of_bins, of_lacking) = (b.bin(Bin::And, bins, low), b.bin(Bin::And, lacking, low));
    let carry = b.add(of_bins, of_lacking);
    let both = b.bin(Bin::And, bins, lacking);
    let either = b.bin(Bin::Or, bins, lacking);
    let carried = b.bin(Bin::And, either, carry);
    b.bin(Bin::Or, both, carried)
}

/// Selects for each row the decision of the node that it reached, among all nodes of a level.
fn choose(b: &mut Builder, mut tests: Vec<Value>, decisions: &[Value]) -> Value {
    for decision in decisions.iter().rev() {
        let mut of_pair = |pair: &[Value]| {
            let differ = b.bin(Bin::Xor, pair[0], pair[1]);
            let differ = b.bin(Bin::And, differ, *decision);
            b.bin(Bin::Xor, pair[0], differ)
        };
        tests = tests.chunks_exact(2).map(&mut of_pair).collect();
    }
    tests[0]
}

/// Node numbers that the decisions lead to, as bytes.
fn numbers(b: &mut Builder, decisions: &[Value]) -> Value {
    let levels = decisions.len() as u32;
    let mut places = b.int_of(WORD, 0);
    for (level, decision) in (0..).zip(decisions) {
        let bit = REPEAT_BYTE << (7 - level);
        let bit = b.int_of(WORD, i64::from(bit as u32 as i32));
        let distance = b.int_of(WORD, level);
        let place = if level == 0 { *decision } else { b.bin(Bin::Shr, *decision, distance) };
        let place = b.bin(Bin::And, place, bit);
        places = if level == 0 { place } else { b.bin(Bin::Or, places, place) };
    }
    let distance = b.int_of(WORD, i64::from(8 - levels));
    let places = b.bin(Bin::Shr, places, distance);
    let first = b.int_of(WORD, REPEAT_BYTE << levels);
    b.bin(Bin::Or, places, first)
}
