//! Shuffles whose indices are variables.

use crate::emit::intrinsics::vector_of;
use crate::emit::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, VectorValue};

/// Bits of a part of a register: shuffles of bytes reach no other part.
const PART_BITS: u32 = 128;

/// A shuffle of the elements of one or two registers by indices in another. The hardware takes the indices
/// modulo the number of elements, except for a shuffle within parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permute {
    /// Bits of a register: 128, 256 or 512.
    pub(super) register_bits: u32,
    /// Bits of an element.
    pub(super) element_bits: u32,
    /// Whether elements are floats.
    pub(super) is_float: bool,
    /// Whether each part of 128 bits is shuffled by itself. Indices must be less than the elements of a part.
    pub(super) in_parts: bool,
}

impl Permute {
    /// Number of elements of one register that an index selects from.
    pub(super) fn entries(self) -> u32 {
        if self.in_parts { PART_BITS / self.element_bits } else { self.register_bits / self.element_bits }
    }

    /// The intrinsic that shuffles one register.
    fn one_register_intrinsic(self) -> Option<&'static str> {
        if self.in_parts {
            return Some(match (self.register_bits, self.element_bits) {
                (128, 8) => "llvm.x86.ssse3.pshuf.b.128",
                (256, 8) => "llvm.x86.avx2.pshuf.b",
                (512, 8) => "llvm.x86.avx512.pshuf.b.512",
                _ => return None,
            });
        }
        Some(match (self.register_bits, self.element_bits, self.is_float) {
            (256, 32, true) => "llvm.x86.avx2.permps",
            (256, 32, false) => "llvm.x86.avx2.permd",
            (512, 64, true) => "llvm.x86.avx512.permvar.df.512",
            (512, 64, false) => "llvm.x86.avx512.permvar.di.512",
            (512, 32, true) => "llvm.x86.avx512.permvar.sf.512",
            (512, 32, false) => "llvm.x86.avx512.permvar.si.512",
            (512, 16, false) => "llvm.x86.avx512.permvar.hi.512",
            (512, 8, false) => "llvm.x86.avx512.permvar.qi.512",
            (256, 16, false) => "llvm.x86.avx512.permvar.hi.256",
            (256, 8, false) => "llvm.x86.avx512.permvar.qi.256",
            (128, 16, false) => "llvm.x86.avx512.permvar.hi.128",
            (128, 8, false) => "llvm.x86.avx512.permvar.qi.128",
            _ => return None,
        })
    }

    /// The intrinsic that shuffles two registers.
    fn two_register_intrinsic(self) -> Option<&'static str> {
        if self.in_parts {
            return None;
        }
        Some(match (self.register_bits, self.element_bits, self.is_float) {
            (512, 64, true) => "llvm.x86.avx512.vpermi2var.pd.512",
            (512, 64, false) => "llvm.x86.avx512.vpermi2var.q.512",
            (512, 32, true) => "llvm.x86.avx512.vpermi2var.ps.512",
            (512, 32, false) => "llvm.x86.avx512.vpermi2var.d.512",
            (512, 16, false) => "llvm.x86.avx512.vpermi2var.hi.512",
            (512, 8, false) => "llvm.x86.avx512.vpermi2var.qi.512",
            _ => return None,
        })
    }

    /// Whether there is a shuffle of two registers.
    pub(super) fn has_two_register_form(self) -> bool {
        self.two_register_intrinsic().is_some()
    }

    /// Emits the shuffle: elements of one register, or of two consecutive ones, by number.
    pub(super) fn emit<'ctx>(
        self,
        ir: &IrBuilder<'_, 'ctx>,
        tables: &[VectorValue<'ctx>],
        index: VectorValue<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (name, arguments): (_, Vec<BasicMetadataValueEnum>) = match tables {
            [table] => (self.one_register_intrinsic(), vec![(*table).into(), index.into()]),
            [low, high] => (self.two_register_intrinsic(), vec![(*low).into(), index.into(), (*high).into()]),
            _ => (None, Vec::new()),
        };
        let name = name.ok_or_else(|| LlvmError::ill_formed(format_args!("no {self:?}")))?;
        vector_of(ir.intrinsic(name, &[], &arguments)?)
    }
}

/// The low half (0) or the high half (1) of each lane of 64 bits. One instruction shuffles the two registers
/// that hold the vector. LLVM would narrow each register and join the results.
pub(super) fn extract_half_of_two_registers<'ctx>(
    ir: &IrBuilder<'_, 'ctx>,
    vector: VectorValue<'ctx>,
    number: u16,
) -> Result<Option<BasicValueEnum<'ctx>>, LlvmError> {
    let lanes = vector.get_type().get_size();
    if !lanes.is_multiple_of(2) {
        return Ok(None);
    }
    let every_other = (0..lanes).map(|lane| Some(2 * lane + u32::from(number)));
    let part = |first: u32| ir.as_half_lanes(ir.shuffle_one(vector, (first..first + lanes / 2).map(Some))?);
    Ok(Some(ir.shuffle((part(0)?, part(lanes / 2)?), every_other)?.into()))
}
