//! Transfer of rows to a device as bins: the host's code that makes them, and the copy to shared
//! memory.

use super::kernel_builder::KernelBuilder;
use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BinTransfer, Build, Builder, Cmp, Function, Scalar, Space, Ty};
use crate::quantize::encode::{Quantizer, SharedBlock};
use crate::rows::transpose::Transpose;
use crate::rows::{CopiedRows, Team};
use sched_nest::{Bounded, Variants};

/// Variants of runs that transfer bins; shorter runs transfer values. These variants are the last ones.
pub(super) fn of_bins<'v, 'a>(variants: &'v Variants<Lowering<'a>>) -> &'v [Bounded<Lowering<'a>>] {
    let bounded = variants.bounded();
    &bounded[bounded.partition_point(|variant| variant.value.plan.transfer.is_none())..]
}

/// The host's function from rows to bins.
pub(super) fn quantize(lowering: &Lowering) -> Option<Function> {
    let transfer = lowering.plan.transfer?;
    let (bins, subset) = (lowering.hir.bins.as_deref()?, lowering.plan.subset.as_ref()?);
    let (tables, pieces) = (lowering.numbers.shared.quantizer?, lowering.numbers.shared.pieces?);
    let forest = &lowering.hir.forest;
    let (features, input) = (forest.num_features as i64, scalar(forest.types.input));
    let mut b = Builder::with_index("quantize", Scalar::I64);
    let rows = b.buffer("rows", Space::Input, input);
    let out = b.buffer("bins", Space::Output, bins.element());
    let pieces = b.buffer("feature_pieces", Space::Model(pieces), Scalar::I32);
    let tables = tables.declare(&mut b, bins);
    let transpose = Transpose { rows, input, features, subset, pieces };
    let quantizer = Quantizer { bins, tables, rows, input, features, transpose: Some(transpose) };
    let (first, count, width) = (b.int(0), b.rows(), b.int(transfer.block.into()));
    let more = b.add_int(count, i64::from(transfer.block) - 1);
    let blocks = b.bin(Bin::IDiv, more, width);
    let held = b.mul(blocks, width);
    quantizer.blocks(&mut b, out, CopiedRows { first, count, held }, (transfer.block, transpose));
    Some(b.finish())
}

impl KernelBuilder<'_> {
    /// Copies bins from device memory to that of a block. Neighbouring threads have neighbouring rows,
    /// which are contiguous in both.
    pub(super) fn share_bins(&mut self, transfer: BinTransfer, block: SharedBlock, team: Team) {
        let SharedBlock { copy, first, count, most, held, places } = block;
        let columns = i64::from(transfer.row_bytes);
        let mut all = self.b.int(columns * most);
        if seeded(Fault::CopyStopsShort) {
            all = self.b.add_int(all, -most);
        }
        self.for_loop((team.thread, all, team.count), &[], |k, number, _| {
            let per_column = k.b.int(most);
            let column = k.b.bin(Bin::IDiv, number, per_column);
            let before = k.b.mul(column, per_column);
            let row = k.b.sub(number, before);
            let exists = k.b.cmp(Cmp::Lt, row, count);
            k.when(exists, |k| {
                let from = k.b.add(first, row);
                let width = k.b.int(transfer.block.into());
                let of_block = k.b.bin(Bin::IDiv, from, width);
                let start = k.b.mul(of_block, width);
                let in_block = k.b.sub(from, start);
                let start = k.b.mul_int(start, columns);
                let before = k.b.mul_int(column, transfer.block.into());
                let index = k.b.add(start, before);
                let index = k.b.add(index, in_block);
                let bin = k.b.load(Ty::of(Scalar::I8), Address::element(k.ports.rows, index, Scalar::I8));
                let place = places.of(&mut k.b, row);
                let before = k.b.mul_int(column, held);
                let index = k.b.add(before, place);
                k.b.store(Address::element(copy, index, Scalar::I8), bin);
            });
            Vec::new()
        });
    }
}
