//! The memory of a call during the two passes over its code.

use super::access::{LoopAccess, LoopAround, MemoryOperand};
use super::residency::{PlacedAccess, PlacedAccesses, place};
use crate::call::KernelCall;
use crate::machine::Machine;
use crate::value::StaticValue;
use sched_ir::lir::{BufferId, Function, Module, Scalar, Space};

/// Bytes of a word of the input's layout ([`Space::InputOrder`]).
const ORDER_WORD: f64 = 8.0;

/// The buffers of a call, and its accesses: recorded in the first pass, and given their costs in the second
/// one.
pub struct MemoryModel {
    /// Bytes of each buffer.
    sizes: Vec<f64>,
    phase: Phase,
}

/// The passes, which treat accesses differently.
enum Phase {
    /// The first pass records accesses.
    Recording(Vec<LoopAccess>),
    /// The second pass knows the level of memory that serves each access.
    Placed(PlacedAccesses),
}

impl MemoryModel {
    /// The memory of a call before the first pass.
    pub fn new(module: &Module, function: &Function, call: KernelCall<'_>) -> MemoryModel {
        let rows = call.rows as f64;
        let bytes = |element: Scalar| f64::from(element.bytes());
        let sizes = function.buffers.iter().map(|buffer| match buffer.space {
            Space::Input => rows * call.shape.features * bytes(buffer.element),
            Space::Output => rows * call.shape.margins * bytes(buffer.element),
            Space::InputOrder => ORDER_WORD,
            Space::ModelTable(number) => {
                module.tables.get(number as usize).map_or(0.0, |table| table.bytes.len() as f64)
            }
            Space::Private | Space::Shared | Space::Counters => f64::INFINITY,
        });
        MemoryModel { sizes: sizes.collect(), phase: Phase::Recording(Vec::new()) }
    }

    /// The memory for the second pass, from what the first one recorded.
    pub fn place_accesses(self, function: &Function, machine: &Machine) -> MemoryModel {
        let phase = match self.phase {
            Phase::Recording(accesses) => Phase::Placed(place(&accesses, function, &self.sizes, machine)),
            placed => placed,
        };
        MemoryModel { phase, ..self }
    }

    /// Sets the bytes of a temporary buffer.
    pub fn allocate(&mut self, buffer: BufferId, bytes: f64) {
        if let Some(size) = self.sizes.get_mut(buffer.0 as usize) {
            *size = bytes;
        }
    }

    /// Whether this is the first pass.
    pub fn is_recording(&self) -> bool {
        matches!(self.phase, Phase::Recording(_))
    }

    /// Records an access in the first pass; `index` is its evaluated index. Returns its residency in the
    /// second one.
    pub fn access(
        &mut self,
        operand: &MemoryOperand,
        index: &StaticValue,
        around: &[LoopAround],
    ) -> Option<&PlacedAccess> {
        match &mut self.phase {
            Phase::Recording(accesses) => {
                accesses.push(LoopAccess::new(operand, index, around));
                None
            }
            Phase::Placed(placed) => placed.get(operand.site),
        }
    }
}
