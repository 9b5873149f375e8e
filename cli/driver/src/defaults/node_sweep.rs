//! Node sweeps: vectors of quantized rows test all nodes of a tree.

use super::vectors::Vectors;
use super::{
    Chosen, CodeDestination, FEW, MAX_BINS, Processor, RowVectors, SHORT_LIMIT, SHORT_REGISTER, blocks,
    pays_to_unroll_and_jam, scalar, single_rows, text,
};
use sched_ir::quantize::QuantizedRows;
use sched_nest::ModelInfo;

/// Most bins of a row that trees in lanes look up in registers.
const LONGEST_LOOKED_UP: u32 = 128;
/// Leaves of the largest tree whose tests are all made at once for single rows.
const LARGEST_TEST_MASK: u64 = 64;
/// Testing every node beats level look-ups once a complete tree would have at least this many times the leaves that
/// there are.
const SPARSELY: u64 = 4;
/// Largest tree, in leaves, for which one sweep of a vector is as fast as walking a small batch row by row.
const SMALL_TREE: u64 = 128;

/// Bits of registers of which there are enough for the leaves of eight vectors.
const LONG_REGISTER: u32 = 512;
/// Largest tree, in leaves, of which a vector of rows tests all nodes where the only other way is to walk row by row.
const LARGEST_SWEPT: u64 = 1024;

/// Walks of quantized rows, of which vectors test all nodes of a tree one after the other.
pub(super) struct NodeSweep {
    /// Rows of a vector.
    lanes: u32,
    /// Leaves of a tree, on average.
    leaves: u64,
    /// Whether single rows make all tests of a tree at once.
    test_mask: bool,
    /// Whether trees in lanes look a row's bins up in registers.
    looked_up: bool,
}

/// What is chosen for a model with many sets of categories, whatever its trees are: in other layouts each set would be a
/// column of rows, which costs more than walks. None if the layout does not hold the model.
pub(super) fn with_sets(
    model: &ModelInfo,
    bins: &QuantizedRows,
    (processor, destination): (Processor, CodeDestination),
) -> Option<Chosen> {
    if !bins.in_bytes || !NodeSweep::numbers_leaves(model) {
        return None;
    }
    let one_by_one = || text(single_rows("preorder", 4));
    let Some(sweep) = NodeSweep::of(model, bins, processor) else { return Some(Chosen::only(one_by_one())) };
    let few = match processor.lookup_bits {
        ..=SHORT_REGISTER => one_by_one(),
        _ => text(sweep.over_trees(processor)),
    };
    if sweep.leaves > LARGEST_SWEPT {
        return Some(Chosen::only(few));
    }
    // A node that asks for a set is more to load, and a branch: eight vectors that share it are a tenth faster than four.
    let vectors = if processor.lookup_bits >= LONG_REGISTER { 8 } else { 4 };
    let many = text(sweep.vectors_of_rows(vectors, pays_to_unroll_and_jam(model, destination)));
    Some(Chosen::only(many).up_to(sweep.few(), few))
}

/// Leaves of each tree.
fn sizes(model: &ModelInfo) -> impl Iterator<Item = u64> {
    model.leaves.iter().map(|tree| tree.iter().map(|leaves| u64::from(*leaves)).sum())
}

impl NodeSweep {
    /// Whether 16 bits can number the leaves of each tree.
    pub(super) fn numbers_leaves(model: &ModelInfo) -> bool {
        sizes(model).all(|leaves| leaves <= u16::MAX.into())
    }

    /// The sweep that suits a model, if 16 bits can number the leaves of its trees.
    pub(super) fn of(model: &ModelInfo, bins: &QuantizedRows, processor: Processor) -> Option<NodeSweep> {
        let leaves = sizes(model).sum::<u64>().checked_div(model.num_trees.into())?;
        let largest = sizes(model).max()?;
        if leaves < 2 || !NodeSweep::numbers_leaves(model) || processor.lookup_bits < SHORT_REGISTER {
            return None;
        }
        let test_mask = largest <= LARGEST_TEST_MASK && bins.columns <= MAX_BINS;
        let looked_up = bins.columns <= LONGEST_LOOKED_UP;
        Some(NodeSweep { lanes: processor.lookup_bits / u8::BITS, leaves, test_mask, looked_up })
    }

    /// Whether testing all nodes pays for all calls: for trees that are small though deep, or that would be far from full
    /// as complete trees.
    pub(super) fn pays(&self, model: &ModelInfo, complete: bool, processor: Processor) -> bool {
        let bits = u64::from(processor.lookup_bits);
        let most = if processor.gathers_slowly { 2 * bits } else { bits };
        if complete { self.leaves * SPARSELY <= 1 << model.max_depth() } else { self.leaves <= most }
    }

    /// Single rows or trees in lanes for few rows, else vectors of rows.
    pub(super) fn chosen(
        &self,
        model: &ModelInfo,
        complete: bool,
        (processor, destination): (Processor, CodeDestination),
    ) -> Chosen {
        let few = match processor.lookup_bits {
            ..=SHORT_REGISTER => text(scalar(model)),
            _ if self.test_mask => text(single_rows("preorder", 2)),
            _ if self.looked_up => text(self.over_trees(processor)),
            _ if complete => text(Vectors::of_levels(model, processor, destination).over_trees()),
            _ => text(Vectors::of_nodes(processor, FEW).over_trees()),
        };
        Chosen::only(text(self.rows(pays_to_unroll_and_jam(model, destination)))).up_to(self.few(), few)
    }

    /// From how many rows on it pays where complete trees would be half empty: a node is loaded once for all vectors that
    /// advance together. A file has room for both where nodes fill no more than a third.
    pub(super) fn pays_from(&self, model: &ModelInfo, destination: CodeDestination) -> Option<u32> {
        let fills = |part: u64| self.leaves * part <= 1 << model.max_depth().min(32);
        let vectors = match self.lanes {
            _ if model.max_depth() <= SHORT_LIMIT => return None,
            64.. if destination == CodeDestination::Memory || fills(3) => 4,
            64.. => return None,
            _ => 2,
        };
        fills(2).then_some(vectors * self.lanes)
    }

    /// Rows of the largest call whose rows are better walked one by one.
    fn few(&self) -> u32 {
        if self.leaves <= SMALL_TREE { FEW } else { 2 * FEW }
    }

    /// Trees in lanes, each on its own path.
    fn over_trees(&self, processor: Processor) -> Vec<String> {
        let Vectors { lanes, trees, .. } = Vectors::of_nodes(processor, FEW);
        let mut lines = single_rows("preorder", trees);
        lines.push(format!("vectorize(tree, {lanes})"));
        lines
    }

    /// Vectors of rows. Where there are few, those of several trees advance together if it `unroll_and_jam`.
    pub(super) fn rows(&self, unroll_and_jam: bool) -> Vec<String> {
        self.vectors_of_rows(4, unroll_and_jam)
    }

    /// So many vectors of rows together.
    fn vectors_of_rows(&self, vectors: u32, unroll_and_jam: bool) -> Vec<String> {
        let mut lines = blocks(64 * vectors);
        lines.extend(["cache(b0)", "representation(preorder)"].map(str::to_string));
        lines.extend(RowVectors { lanes: self.lanes, vectors, unroll_and_jam }.lines());
        lines
    }
}
