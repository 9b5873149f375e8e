//! Plans of look-ups in registers: the shuffle of a processor that suits a table and its indices.

use super::permute::Permute;
use sched_ir::lir::{Scalar, Ty};
use sched_machines::Level;

/// Registers of the largest table that is looked up in registers. Beyond it, a look-up in memory is faster.
const MAX_REGISTERS: u32 = 16;

/// Fewest bytes of a table that AVX-512 without VBMI shuffles as 16-bit elements. At this size, two registers
/// then take the place of eight, which repeat 16 bytes each.
const LONG_TABLE_BYTES: u16 = 128;

/// Elements of the longest table of 64-bit elements that is looked up as a whole. Longer ones are looked up
/// in halves: a register holds the halves of twice as many elements, and serves twice as many indices.
const SHORT_TABLE_ELEMENTS: u16 = 16;

/// The instructions of one look-up in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LookupPlan {
    /// The shuffle.
    pub(super) permute: Permute,
    /// Element type of the table in registers.
    pub(super) element: Scalar,
    /// Element type of the index in registers: as wide as the table's, or wider.
    pub(super) index: Scalar,
}

impl LookupPlan {
    /// The fastest plan for a processor with these `CPU_*` bits, if there is one in registers.
    pub(super) fn of(cpu_needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let is_float = table.scalar.is_float();
        if (table.scalar, index.scalar) == (Scalar::I8, Scalar::I8) && cpu_needs & Level::Vbmi.bit() == 0 {
            return LookupPlan::in_parts(cpu_needs, table, index);
        }
        let (register_bits, element) = match table.scalar {
            Scalar::I1 => return None,
            Scalar::I8 if cpu_needs & Level::Vbmi.bit() != 0 => (512, Scalar::I8),
            // A shuffle of 16-bit elements costs more than one of 32-bit elements, which in turn take twice
            // the registers.
            Scalar::I16
                if cpu_needs & Level::V4.bit() != 0 && (table.lanes > 32 || index.scalar == Scalar::I16) =>
            {
                (512, Scalar::I16)
            }
            Scalar::I8 | Scalar::I16 if cpu_needs & Level::V4.bit() != 0 => (512, Scalar::I32),
            other if cpu_needs & Level::V4.bit() != 0 => (512, other),
            Scalar::F32 => (256, Scalar::F32),
            Scalar::I8 | Scalar::I16 | Scalar::I32 => (256, Scalar::I32),
            Scalar::I64 | Scalar::F64 => return None,
        };
        let same_size = if is_float { int_of(element) } else { wider(index.scalar, element) };
        // Registers of 256 bits have shuffles for elements of 32 bits only.
        let by = if cpu_needs & Level::V4.bit() == 0 { Scalar::I32 } else { same_size };
        let register_bits =
            if element.bytes() > 2 { register_bits } else { shortest_register_bits(table, index.with(by)) };
        let permute = Permute { register_bits, element_bits: element.bytes() * 8, is_float, in_parts: false };
        let parts = u32::from(table.lanes).div_ceil(permute.entries());
        let available = cpu_needs & (Level::V3.bit() | Level::V4.bit()) != 0;
        // Without shuffles of two registers, selecting among many registers takes longer than memory.
        let limit = if permute.has_two_register_form() { MAX_REGISTERS } else { 4 };
        (available && parts <= limit).then_some(LookupPlan { permute, element, index: by })
    }

    /// The plan for the halves of 64-bit elements, if it takes fewer shuffles than whole elements. For 16
    /// indices it takes two shuffles and one to join their results, where whole elements take as many for 8
    /// indices.
    pub(super) fn of_halves(cpu_needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let fits = table.lanes > SHORT_TABLE_ELEMENTS && u32::from(table.lanes) <= 8 * MAX_REGISTERS;
        let wide = matches!(table.scalar, Scalar::F64 | Scalar::I64) && index.lanes >= SHORT_TABLE_ELEMENTS;
        let plan = || LookupPlan::of(cpu_needs, table.with(Scalar::I32), index);
        if cpu_needs & Level::V4.bit() != 0 && fits && wide { plan() } else { None }
    }

    /// The plan for processors that shuffle bytes within parts of registers only: all parts of a register
    /// hold one part of the table.
    fn in_parts(cpu_needs: u64, table: Ty, index: Ty) -> Option<LookupPlan> {
        let (element, index_bits) = (Scalar::I8, u32::from(index.lanes) * 8);
        if cpu_needs & Level::V4.bit() != 0 && table.lanes >= LONG_TABLE_BYTES && index_bits >= 512 {
            let permute = Permute { register_bits: 512, element_bits: 16, is_float: false, in_parts: false };
            return Some(LookupPlan { permute, element, index: element });
        }
        let widest = match cpu_needs {
            cpu_needs if cpu_needs & Level::V4.bit() != 0 => 512,
            cpu_needs if cpu_needs & Level::V3.bit() != 0 => 256,
            cpu_needs if cpu_needs & Level::V2.bit() != 0 => 128,
            _ => return None,
        };
        let register_bits = index_bits.next_power_of_two().clamp(128, widest);
        let permute = Permute { register_bits, element_bits: 8, is_float: false, in_parts: true };
        let parts = u32::from(table.lanes).div_ceil(permute.entries());
        (parts <= MAX_REGISTERS).then_some(LookupPlan { permute, element, index: element })
    }

    /// Whether each shuffled word holds two elements.
    pub(super) fn has_element_pairs(self) -> bool {
        self.permute.element_bits == 2 * 8 * self.element.bytes()
    }

    /// Number of elements of one register that an index selects from.
    pub(super) fn entries(self) -> u32 {
        if self.has_element_pairs() { 2 * self.permute.entries() } else { self.permute.entries() }
    }

    /// Number of indices that fit in a register.
    pub(super) fn lanes(self) -> u16 {
        (self.permute.register_bits / (self.index.bytes() * 8)) as u16
    }
}

/// The integer of a scalar's width.
fn int_of(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::F32 => Scalar::I32,
        Scalar::F64 => Scalar::I64,
        other => other,
    }
}

/// Bits of the shortest register that holds a table, and all indices. Shuffles of shorter registers have a
/// shorter latency.
fn shortest_register_bits(table: Ty, index: Ty) -> u32 {
    let bits = 8 * table.bytes().max(index.bytes());
    bits.next_power_of_two().clamp(128, 512)
}

/// The wider one of two scalars.
fn wider(a: Scalar, b: Scalar) -> Scalar {
    if a.bytes() > b.bytes() { a } else { b }
}
