//! Test masks: all tests of a tree made side by side for one row, whose path is a matter of bits then.

use crate::lir::{Bin, Builder, Cast, Ty, Value};
use crate::repr::test::bin_goes_right;
use crate::repr::tree::{Buffers, TreeState};

/// A layout whose tests are made all at once.
pub trait TestMask {
    /// The node that a row ends at, of which `bins` is a table to look up. `steps` is the number of steps to
    /// the leaf, where all walks take the same number.
    fn leaf_of(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        bins: Value,
        steps: u32,
    ) -> Value;
}

/// Nodes of a word.
pub const WORD: u64 = 64;

/// The tests of some nodes.
#[derive(Clone, Copy, Debug)]
pub struct Tests {
    /// The columns of the bins that they compare with.
    pub columns: Value,
    /// The bins of their thresholds.
    pub threshold_bins: Value,
}

/// Which of these nodes lead to the right, for a row of bins.
pub fn decisions(b: &mut Builder, bins: Value, tests: Tests) -> Value {
    let bins = b.lookup(bins, tests.columns);
    bin_goes_right(b, bins, tests.threshold_bins)
}

/// The decisions at [`WORD`] nodes at most, as the bits of a word.
pub fn mask(b: &mut Builder, bins: Value, tests: Tests) -> Value {
    let right = decisions(b, bins, tests);
    b.mask_bits(right)
}

/// The child of a node that its bit in a word says: `2 * node`, or the one after it.
fn child(b: &mut Builder, word: Value, node: Value) -> Value {
    let (distance, one) = (b.cast(Cast::ZExt, node, Ty::I64), b.int_of(Ty::I64, 1));
    let (first, bit) = (b.add(node, node), b.bin(Bin::Shr, word, distance));
    let bit = b.bin(Bin::And, bit, one);
    let bit = b.to_index(bit);
    b.add(first, bit)
}

/// The decisions at all nodes of a complete tree: bit `n mod 64` of word `n / 64` says whether node `n` leads
/// to the right. The root is 1, the children of `n` are `2n` and `2n + 1`.
pub struct TestBits(pub Vec<Value>);

impl TestBits {
    /// The node that `steps` steps lead to, an index.
    pub fn follow(&self, b: &mut Builder, steps: u32) -> Value {
        let mut node = b.int(1);
        for level in 0..steps {
            let word = self.word(b, node, level);
            node = child(b, word, node);
        }
        node
    }

    /// The word with the bit of a node of a level.
    fn word(&self, b: &mut Builder, node: Value, level: u32) -> Value {
        let above = level.saturating_sub(WORD.ilog2() - 1);
        let words = if above == 0 { 0..1 } else { 1 << (above - 1)..1 << above };
        let mut words = self.0[words].to_vec();
        for bit in 0..above.saturating_sub(1) {
            // Of two words by logic: a choice would become a branch, which cannot be foretold.
            let (second, none) = (b.bits(node, WORD.ilog2() + bit, 1), b.int(0));
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
