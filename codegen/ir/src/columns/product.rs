//! Layers as products of matrices, which the warps of a GPU's block compute.

use super::layers::OperandPlaces;
use super::share::Share;
use super::sums::SumCode;
use crate::lir::{BlockProduct, Builder, ProductElements, Scalar, TILE, Value};
use crate::rows::BlockThreads;

impl SumCode<'_> {
    /// Stores the sums of adjacent rows, of which there are `rows`.
    pub(super) fn multiply(&self, b: &mut Builder, threads: BlockThreads, rows: Value) {
        self.each_layer(b, Share::Whole, |b, layer| {
            let (run, pool) = (self.run, self.pools.buffer(self.run.element));
            let zero = b.int(0);
            let (first, places) = match run.operands {
                OperandPlaces::Consecutive(_) => (layer.operands, None),
                OperandPlaces::Listed(_) => {
                    let buffer = self.pools.buffer(Scalar::I32);
                    (zero, Some(ProductElements { buffer, first: layer.operands }))
                }
            };
            let stored = self.stored.buffer(run.element);
            let mut column = |place| ProductElements { buffer: stored, first: self.stored.index(b, place) };
            let (operands, sums) = (column(first), column(layer.to));
            let distance = self.stored.distance(b);
            b.product(BlockProduct {
                thread: threads.thread,
                threads: u32::try_from(threads.count).unwrap_or(0),
                constants: ProductElements { buffer: pool, first: layer.constants },
                starts: run.starts.map(|_| ProductElements { buffer: pool, first: layer.starts }),
                operands,
                places,
                sums,
                distance,
                rows,
                terms: run.terms,
                panels: run.padded_units() / TILE,
            });
        });
    }
}
