//! Memory that a caller passes to a call, and the regions of the function's buffers.

use super::error::InterpreterError;
use super::memory::Region;
use super::options::InterpreterOptions;
use crate::lir::{Function, Space, Table};

/// Memory of a call. Input and output do not overlap.
#[derive(Debug)]
pub struct CallMemory<'m> {
    /// Value of [`Op::RowCount`](crate::lir::Op::RowCount).
    pub rows: i64,
    /// The bytes of [`Space::Input`].
    pub input: &'m [u8],
    /// Bytes of [`Space::Output`], all of which the function must write before it reads them, unless
    /// [`InterpreterOptions::adds_to_output`].
    pub output: &'m mut [u8],
    /// The tables, by the number in [`Space::ModelTable`].
    pub tables: &'m [Table],
}

/// Content of [`Space::InputOrder`]. If the input is columns, they are in descending order of features, so
/// that a kernel that ignores the order reads wrong features.
fn order_content(function: &Function, memory: &CallMemory, columns: bool) -> Vec<u8> {
    let input = function.buffers.iter().find(|buffer| buffer.space == Space::Input);
    let element = input.map_or(1, |buffer| buffer.element.bytes() as usize);
    let rows = usize::try_from(memory.rows).unwrap_or(0);
    let features = if columns && rows > 0 { memory.input.len() / (element * rows) } else { 0 };
    let starts = (0..features).rev().map(|column| (column * rows) as i64);
    std::iter::once(i64::from(columns)).chain(starts).flat_map(i64::to_le_bytes).collect()
}

/// Regions of a function's buffers; private ones are empty until they are allocated.
pub(super) fn regions<'m>(
    function: &Function,
    memory: CallMemory<'m>,
    options: &InterpreterOptions,
) -> Result<Vec<Region<'m>>, InterpreterError> {
    let order = order_content(function, &memory, options.input_is_columns);
    let mut output = Some(memory.output);
    let mut regions = Vec::with_capacity(function.buffers.len());
    for buffer in &function.buffers {
        regions.push(match buffer.space {
            Space::Input => Region::constant(memory.input),
            Space::InputOrder => Region::read_only(order.clone()),
            Space::Output => Region::borrowed(output.take().unwrap_or_default(), options.adds_to_output),
            Space::Private | Space::Shared | Space::Counters => Region::constant(&[]),
            Space::ModelTable(n) => match memory.tables.get(n as usize) {
                Some(table) => Region::constant(&table.bytes),
                None => return Err(InterpreterError::NoTable { buffer: buffer.name.clone(), table: n }),
            },
        });
    }
    Ok(regions)
}
