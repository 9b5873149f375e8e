//! Limit of the shared memory of a block.

use crate::codes;
use crate::error::CompileError;
use crate::lir::{Function, Stmt};

/// `bytes`, limited to the largest 31-bit number, which still exceeds the shared memory of any block.
pub(super) fn limit_shared_bytes(bytes: i64) -> i64 {
    bytes.min(i64::from(i32::MAX))
}

/// Refuses launches with more than `most_bytes` bytes of shared memory.
pub(crate) fn check_shared(function: &Function, most_bytes: u64) -> Result<(), CompileError> {
    let mut result = Ok(());
    Stmt::visit_all(&function.body, |stmt| {
        let Stmt::Launch(launch) = stmt else { return };
        let shared = launch.shared_buffers(function);
        let total = shared.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
        if total <= most_bytes || result.is_err() {
            return;
        }
        let each: Vec<String> =
            shared.iter().map(|(id, bytes)| format!("{} {bytes}", function.buffer(*id).name)).collect();
        result = Err(CompileError::new(
            codes::SHARED_MEMORY,
            format!(
                "the launch of `{}` needs {total} bytes of shared memory for one block ({}), and the \
                 GPU has {most_bytes}",
                launch.name,
                each.join(", ")
            ),
            "use smaller tiles in the loops that cache or sum in shared memory, or a layout with \
             smaller nodes",
        ));
    });
    result
}
