//! Test masks: all tests of a tree are made at once for one row. The row's leaf follows from the bits of the
//! results.

use crate::lir::{Bin, Builder, Cast, Ty, Value};
use crate::repr::test::bin_goes_right;
use crate::repr::tree::{Buffers, TreeState};

/// A layout with tables for all tests of a tree at once.
pub trait TestMask {
    /// Number of the leaf's node at which a row ends. `bins` are the row's bins as a look-up table. `steps`
    /// is the number of straight-line steps to the leaf, in layouts of complete trees.
    fn leaf_of(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        bins: Value,
        steps: u32,
    ) -> Value;
}

/// Nodes per word of bits.
pub const WORD: u64 = 64;

/// Tests of several nodes, as vectors.
#[derive(Clone, Copy, Debug)]
pub struct TestVectors {
    /// Columns of the bins that are compared.
    pub columns: Value,
    /// Threshold bins.
    pub threshold_bins: Value,
}

/// Whether each of these nodes leads right, for a row's bins.
pub fn decisions(b: &mut Builder, bins: Value, tests: TestVectors) -> Value {
    let bins = b.lookup(bins, tests.columns);
    bin_goes_right(b, bins, tests.threshold_bins)
}

/// Decisions of at most [`WORD`] nodes as the bits of a word.
pub fn mask(b: &mut Builder, bins: Value, tests: TestVectors) -> Value {
    let right = decisions(b, bins, tests);
    b.mask_bits(right)
}

/// Child of a node by its bit in a word: `2 * node` plus the bit.
fn child(b: &mut Builder, word: Value, node: Value) -> Value {
    let (distance, one) = (b.cast(Cast::ZExt, node, Ty::I64), b.int_of(Ty::I64, 1));
    let (first, bit) = (b.add(node, node), b.bin(Bin::Shr, word, distance));
    let bit = b.bin(Bin::And, bit, one);
    let bit = b.to_index(bit);
    b.add(first, bit)
}

/// Decisions of all nodes of a complete tree: bit `n mod 64` of word `n / 64` says whether node `n`
/// leads right. The root is 1, the children of `n` are `2n` and `2n + 1`.
pub struct TestBits(pub Vec<Value>);

impl TestBits {
    /// Node after `steps` steps, an index.
    pub fn follow(&self, b: &mut Builder, steps: u32) -> Value {
        let mut node = b.int(1);
        for level in 0..steps {
            let word = self.word(b, node, level);
            node = child(b, word, node);
        }
        node
    }

    /// Selects the word with the bit of a node of a level.
    fn word(&self, b: &mut Builder, node: Value, level: u32) -> Value {
        let above = level.saturating_sub(WORD.ilog2() - 1);
        let words = if above == 0 { 0..1 } else { 1 << (above - 1)..1 << above };
        let mut words = self.0[words].to_vec();
        for bit in 0..above.saturating_sub(1) {
            // Selects by logic: LLVM would make a select a branch, which mispredicts.
            let (second, none) = (b.extract_bits(node, WORD.ilog2() + bit, 1), b.int(0));
            let second = b.bin(Bin::Sub, none, second);
            let second = b.cast(Cast::SExt, second, Ty::I64);
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
