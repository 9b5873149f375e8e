//! Outcomes: all tests of a tree made side by side for one row, whose path is a matter of bits then.

use crate::lir::{Bin, Builder, Cmp, Value};

/// Nodes of a word.
pub const WORD: u64 = 64;

/// Which of the nodes with these columns and ranks lead to the right, for a row of codes.
pub fn turns(b: &mut Builder, codes: Value, (columns, ranks): (Value, Value)) -> Value {
    let codes = b.lookup(codes, columns);
    b.cmp(Cmp::UnsignedLt, ranks, codes)
}

/// The outcomes of so many nodes at most as a word has bits, as these.
pub fn outcomes(b: &mut Builder, codes: Value, tests: (Value, Value)) -> Value {
    let right = turns(b, codes, tests);
    b.mask_bits(right)
}

/// The child of a node that its bit in a word says: `2 * node`, or the one after it.
fn child(b: &mut Builder, word: Value, node: Value) -> Value {
    let one = b.int(1);
    let (first, bit) = (b.add(node, node), b.bin(Bin::Shr, word, node));
    let bit = b.bin(Bin::And, bit, one);
    b.add(first, bit)
}

/// The outcomes of all tests of a complete tree: bit `n mod 64` of word `n / 64` says whether node `n` leads to the right.
/// The root is 1, the children of `n` are `2n` and `2n + 1`.
pub struct Outcomes(pub Vec<Value>);

impl Outcomes {
    /// The node that so many hops lead to, an `i64`.
    pub fn follow(&self, b: &mut Builder, hops: u32) -> Value {
        let mut node = b.int(1);
        for level in 0..hops {
            let word = self.word(b, node, level);
            node = child(b, word, node);
        }
        node
    }

    /// The word with the outcome of a node of a level.
    fn word(&self, b: &mut Builder, node: Value, level: u32) -> Value {
        let above = level.saturating_sub(WORD.ilog2() - 1);
        let words = if above == 0 { 0..1 } else { 1 << (above - 1)..1 << above };
        let mut words = self.0[words].to_vec();
        for bit in 0..above.saturating_sub(1) {
            // Of two words by logic: a choice would become a branch, which cannot be foretold.
            let (second, none) = (b.bits(node, WORD.ilog2() + bit, 1), b.int(0));
            let second = b.bin(Bin::Sub, none, second);
            let mut choose = |pair: &[Value]| {
                let differ = b.bin(Bin::Xor, pair[0], pair[1]);
                let differ = b.bin(Bin::And, differ, second);
                b.bin(Bin::Xor, pair[0], differ)
            };
            words = words.chunks_exact(2).map(&mut choose).collect();
        }
        words[0]
    }
}
