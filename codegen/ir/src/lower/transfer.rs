//! Transfer of rows to a device as bins: the host's code that makes them.

use super::lowering::Lowering;
use crate::bytes::scalar;
use crate::lir::{Bin, Builder, Function, Scalar, Space};
use crate::quantize::encode::Quantizer;
use crate::rows::CopiedRows;
use crate::rows::transpose::Transpose;
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
