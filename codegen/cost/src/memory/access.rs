//! Accesses to memory, and the bytes that they touch in iterations of the loops around them.

use crate::value::{DEPTHS, Dependences, StaticValue};
use sched_ir::lir::{Address, Function, Gather, Value};

/// Bytes of a cache line.
pub const LINE: f64 = 64.0;

/// The identity of an access in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The value that it loads, or the index at which it stores.
    pub value: Value,
    /// Buffer and offset of a store, mixed into one number. `None` for loads.
    pub store: Option<u32>,
}

/// A loop around an access.
#[derive(Clone, Copy, Debug)]
pub struct LoopAround {
    /// The loop's counter, or its first carried value.
    pub name: Value,
    /// Number of iterations.
    pub trips: f64,
}

/// The memory operand of an operation.
#[derive(Clone, Copy, Debug)]
pub struct MemoryOperand {
    /// The access.
    pub site: Site,
    /// Number of the buffer.
    pub buffer: usize,
    /// Bytes that it moves; for a gather, the distance between elements.
    pub bytes: f64,
    /// Index of the element.
    pub index: Value,
    /// Bytes between elements.
    pub stride: u32,
    /// Lanes of a gather.
    pub lanes: Option<f64>,
}

impl MemoryOperand {
    /// The operand of a load that defines `value`.
    pub fn load(function: &Function, value: Value, at: &Address) -> MemoryOperand {
        let bytes = f64::from(function.ty(value).bytes());
        let site = Site { value, store: None };
        let buffer = at.buffer.0 as usize;
        MemoryOperand { site, buffer, bytes, index: at.index, stride: at.stride, lanes: None }
    }

    /// The operand of a gather that defines `value`.
    pub fn gather(function: &Function, value: Value, gather: &Gather) -> MemoryOperand {
        let lanes = Some(f64::from(function.ty(gather.index).lanes));
        let site = Site { value, store: None };
        let (buffer, bytes) = (gather.buffer.0 as usize, f64::from(gather.stride));
        MemoryOperand { site, buffer, bytes, index: gather.base, stride: gather.stride, lanes }
    }

    /// The operand of a store of `bytes` bytes.
    pub fn store(at: &Address, bytes: u32) -> MemoryOperand {
        let site = Site { value: at.index, store: Some(at.offset ^ (at.buffer.0 << 24)) };
        let (buffer, bytes) = (at.buffer.0 as usize, f64::from(bytes));
        MemoryOperand { site, buffer, bytes, index: at.index, stride: at.stride, lanes: None }
    }
}

/// An access in one iteration of the loops around it.
#[derive(Clone, Debug)]
pub struct LoopAccess {
    pub(super) site: Site,
    /// Number of the buffer.
    pub(super) buffer: usize,
    /// Bytes of one access.
    pub(super) bytes: f64,
    /// Distance that the address moves in each iteration of the loop at each depth, in bytes.
    strides: [f64; DEPTHS],
    /// Lines that one access touches if data decides its address; `None` if no data is needed for it.
    pub(super) data_decided_lines: Option<f64>,
    /// Loops around it, outermost first.
    pub(super) around: Vec<LoopAround>,
}

/// A key shared by accesses whose addresses move in the same way: the buffer, the innermost loop and the bits
/// of the strides.
pub(super) type Motion = (usize, Option<Value>, [u64; DEPTHS]);

impl LoopAccess {
    /// The access of an operand whose index has the content `index`.
    pub fn new(operand: &MemoryOperand, index: &StaticValue, around: &[LoopAround]) -> LoopAccess {
        let mut strides = [0.0; DEPTHS];
        for (depth, bytes) in strides.iter_mut().enumerate() {
            *bytes = index.slope(depth).abs() * f64::from(operand.stride);
        }
        let data_decided_lines =
            operand.lanes.or(index.dependences.intersects(Dependences::DATA).then_some(1.0));
        let MemoryOperand { site, buffer, bytes, .. } = *operand;
        LoopAccess { site, buffer, bytes, strides, data_decided_lines, around: around.to_vec() }
    }

    /// Returns the bytes that the access touches in one iteration of the `depth` outermost loops. Also
    /// returns the bytes of the part of its buffer that belongs to that iteration. The buffer has `size`
    /// bytes.
    pub(super) fn touched_bytes(&self, depth: usize, size: f64) -> (f64, f64) {
        let inner = self.around.get(depth..).unwrap_or_default();
        let trips = || inner.iter().enumerate().map(|(n, around)| (around.trips, self.stride(depth + n)));
        // If each iteration of an outer loop has its own part of the table, only one part counts.
        let outer = self.around.iter().take(depth).enumerate();
        let parts: f64 = outer
            .filter(|(depth, _)| self.stride(*depth) > 0.0)
            .map(|(_, around)| around.trips.max(1.0))
            .product();
        let region = (size / parts).max(self.bytes);
        match self.data_decided_lines {
            Some(lines) => {
                let times: f64 = trips().map(|(trips, _)| trips.max(1.0)).product();
                ((times * lines * LINE).min(region.max(LINE)), region.max(LINE))
            }
            None => {
                let mut bytes = self.bytes;
                for (trips, stride) in trips().filter(|(_, stride)| *stride > 0.0) {
                    bytes = if stride <= bytes {
                        bytes + (trips - 1.0) * stride
                    } else {
                        trips * bytes.max(LINE)
                    };
                }
                (bytes.min(size.max(self.bytes)), region.max(bytes))
            }
        }
    }

    /// Number of accesses in all iterations of the loop at a depth, and of the loops inside it.
    pub(super) fn executions(&self, depth: usize) -> f64 {
        let inner = self.around.get(depth..).unwrap_or_default().iter();
        inner.map(|around| around.trips.max(1.0)).product()
    }

    /// The name of the loop around the loop at a depth; `None` for the call.
    pub(super) fn enclosing_loop(&self, depth: usize) -> Option<Value> {
        let outside = depth.checked_sub(1).and_then(|outside| self.around.get(outside));
        outside.map(|around| around.name)
    }

    /// The key of the accesses that move in the same way.
    pub(super) fn motion(&self) -> Motion {
        (self.buffer, self.around.last().map(|around| around.name), self.strides.map(f64::to_bits))
    }

    fn stride(&self, depth: usize) -> f64 {
        self.strides.get(depth).copied().unwrap_or(0.0)
    }

    /// Share of the accesses that touch another line than in the previous iteration of the loop at a depth.
    pub(super) fn new_lines(&self, depth: usize) -> f64 {
        (self.stride(depth) / LINE).min(1.0)
    }
}
