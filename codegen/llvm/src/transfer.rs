//! Transfer of rows to a device as bins: its description for the runtime.

use crate::runtime::{KernelFn, TransferDescriptor};
use sched_ir::lir::{BinTransfer, KernelKind};
use sched_machines::Level;

/// Fewest threads of the host that quantize rows as fast as the bus would transfer their values. With fewer
/// threads, transferring the values is faster.
pub(crate) fn least_threads(transfer: &BinTransfer, cpu_needs: u64) -> i64 {
    let level = Level::of(cpu_needs).unwrap_or(Level::V2);
    let per_value = level.bin_picoseconds();
    let bytes = u64::from(transfer.bus) * u64::from(transfer.row_bytes) * per_value;
    bytes.div_ceil(1000 * u64::from(transfer.value_bytes).max(1)) as i64
}

/// Describes a transfer for code in this process; none if its kernels were not compiled.
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
        block: transfer.block_rows.into(),
        row_bytes: transfer.row_bytes.into(),
        least_rows: transfer.least_rows,
        least_threads: least_threads(transfer, cpu_needs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_up_with_the_bus() {
        let transfer =
            BinTransfer { block_rows: 64, row_bytes: 28, value_bytes: 112, least_rows: 1, bus: 25 };
        let needs = [Level::V4.needs(), Level::V3.needs(), Level::V2.needs(), 0];
        assert_eq!(needs.map(|needs| least_threads(&transfer, needs)), [5, 9, 22, 22]);
        assert_eq!(least_threads(&BinTransfer { bus: 0, ..transfer }, 0), 0);
    }
}
