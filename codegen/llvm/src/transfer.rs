//! Rows that travel to a device as bins: what the runtime wants to know of it.

use crate::runtime::{CPU_V3, CPU_V4, KernelFn, TransferDescriptor};
use sched_ir::lir::{BinTransfer, KernelKind};

/// Picoseconds in which one thread quantizes a value, by what its processor needs: measured on an EPYC with AVX-512, for
/// models of 8 to 28 features and up to 255 thresholds of each.
const PER_VALUE: [(u64, u64); 3] = [(CPU_V4, 700), (CPU_V3, 1400), (0, 3400)];

/// The fewest threads that quantize rows as fast as the bus would deliver their values. With fewer, to copy values takes
/// less time.
pub(crate) fn least_threads(transfer: &BinTransfer, cpu_needs: u64) -> i64 {
    let found = PER_VALUE.iter().find(|(needs, _)| cpu_needs & needs == *needs);
    let per_value = found.map_or(0, |(_, picoseconds)| *picoseconds);
    let bytes = u64::from(transfer.bus) * u64::from(transfer.row_bytes) * per_value;
    bytes.div_ceil(1000 * u64::from(transfer.value_bytes).max(1)) as i64
}

/// The description of a transfer for code in this process; none if its kernels are not wanted.
pub(crate) fn descriptor(
    transfer: &BinTransfer,
    cpu_needs: u64,
    kernel: impl Fn(KernelKind) -> Option<KernelFn>,
) -> Option<TransferDescriptor> {
    let (quantize, raw) = (kernel(KernelKind::Quantize), kernel(KernelKind::RawOfBins));
    (quantize.is_some() && raw.is_some()).then(|| TransferDescriptor {
        quantize,
        raw,
        direct: kernel(KernelKind::DirectOfBins),
        block: transfer.block.into(),
        row_bytes: transfer.row_bytes.into(),
        least_rows: transfer.least_rows,
        least_threads: least_threads(transfer, cpu_needs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::CPU_V2;

    #[test]
    fn threads_keep_up_with_the_bus() {
        let transfer = BinTransfer { block: 64, row_bytes: 28, value_bytes: 112, least_rows: 1, bus: 25 };
        let needs = [CPU_V2 | CPU_V3 | CPU_V4, CPU_V2 | CPU_V3, CPU_V2, 0];
        assert_eq!(needs.map(|needs| least_threads(&transfer, needs)), [5, 9, 22, 22]);
        assert_eq!(least_threads(&BinTransfer { bus: 0, ..transfer }, 0), 0);
    }
}
