//! Transfer of rows to a device as bins: the host's code that quantizes the rows.

use super::lowering::{Lowering, transposed};
use crate::bytes::scalar;
use crate::columns::blocks::{BlockSource, RowBlocks};
use crate::columns::code::ColumnCode;
use crate::lir::{Bin, Builder, Function, Scalar, Space};
use crate::quantize::encode::Quantizer;
use crate::rows::CopiedRows;
use crate::rows::transpose::Transpose;
use sched_nest::{Bounded, Variants};

/// The bounded variants that transfer bins. They follow the variants for fewer rows, which transfer values.
pub(super) fn variants_with_bins<'v, 'a>(
    variants: &'v Variants<Lowering<'a>>,
) -> &'v [Bounded<Lowering<'a>>] {
    let bounded = variants.bounded();
    &bounded[bounded.partition_point(|variant| variant.value.plan.transfer.is_none())..]
}

/// The function by which the host quantizes rows for the device; `None` if the plan transfers no bins.
pub(super) fn quantize(lowering: &Lowering) -> Option<Function> {
    let transfer = lowering.plan.transfer?;
    let (bins, subset) = (lowering.hir.bins.as_deref()?, transposed(lowering.hir, lowering.plan)?);
    let (tables, pieces) = (lowering.numbers.shared.quantizer?, lowering.numbers.shared.pieces?);
    let forest = &lowering.hir.forest;
    let (features, input) = (lowering.hir.row_features() as i64, scalar(forest.types.input));
    let mut b = Builder::with_index("quantize", Scalar::I64);
    let rows = b.buffer("rows", Space::Input, input);
    let out = b.buffer("bins", Space::Output, bins.element());
    let pieces = b.buffer("feature_pieces", Space::ModelTable(pieces), Scalar::I32);
    let tables = tables.declare(&mut b, bins);
    let pools = lowering.numbers.shared.columns.map(|numbers| numbers.declare(&mut b));
    let code = lowering.hir.columns.as_deref().zip(pools);
    let register_bytes = Some(lowering.plan.register_bytes);
    let code = code.map(|(runs, pools)| ColumnCode { runs, pools, register_bytes, stages: None });
    let row_blocks = RowBlocks { transpose: Transpose { rows, input, features, subset, pieces }, code };
    let quantizer = Quantizer { bins, tables, rows, input, features, blocks: Some(row_blocks), code };
    let (first, count, width) = (b.int(0), b.n_rows(), b.int(transfer.block_rows.into()));
    let more = b.add_int(count, i64::from(transfer.block_rows) - 1);
    let blocks = b.bin(Bin::IDiv, more, width);
    let capacity = b.mul(blocks, width);
    quantizer.quantize_blocks(
        &mut b,
        out,
        CopiedRows { first, count, capacity },
        (transfer.block_rows, row_blocks, BlockSource::Rows),
    );
    Some(b.finish())
}
