//! LLVM's intrinsic functions. Their names and operands belong to one version of LLVM, so all of them are here.

use super::function::Emitter;
use super::types;
use crate::error::LlvmError;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, PointerValue, VectorValue};
use sched_ir::lir::Value;

use BasicValueEnum::{IntValue, StructValue};

/// Bits of the parts of a register that shuffles of bytes stay within.
const PART: u32 = 128;

/// A shuffle of the elements of one or two registers by indices in a third one. The hardware takes the indices modulo
/// the number of elements, except for a shuffle within parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permute {
    /// Bits of a register: 128, 256 or 512.
    pub(super) register: u32,
    /// Bits of an element.
    pub(super) bits: u32,
    /// Whether elements are floats.
    pub(super) float: bool,
    /// Whether each part of 128 bits is shuffled by itself. The indices must be smaller than its number of elements.
    pub(super) in_parts: bool,
}

impl Permute {
    /// Elements that an index chooses from in one register.
    pub(super) fn entries(self) -> u32 {
        if self.in_parts { PART / self.bits } else { self.register / self.bits }
    }

    /// The shuffle of one register.
    fn one(self) -> Option<&'static str> {
        if self.in_parts {
            return Some(match (self.register, self.bits) {
                (128, 8) => "llvm.x86.ssse3.pshuf.b.128",
                (256, 8) => "llvm.x86.avx2.pshuf.b",
                (512, 8) => "llvm.x86.avx512.pshuf.b.512",
                _ => return None,
            });
        }
        Some(match (self.register, self.bits, self.float) {
            (256, 32, true) => "llvm.x86.avx2.permps",
            (256, 32, false) => "llvm.x86.avx2.permd",
            (512, 64, true) => "llvm.x86.avx512.permvar.df.512",
            (512, 64, false) => "llvm.x86.avx512.permvar.di.512",
            (512, 32, true) => "llvm.x86.avx512.permvar.sf.512",
            (512, 32, false) => "llvm.x86.avx512.permvar.si.512",
            (512, 16, false) => "llvm.x86.avx512.permvar.hi.512",
            (512, 8, false) => "llvm.x86.avx512.permvar.qi.512",
            _ => return None,
        })
    }

    /// The shuffle of two registers.
    fn two(self) -> Option<&'static str> {
        if self.in_parts {
            return None;
        }
        Some(match (self.register, self.bits, self.float) {
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
    pub(super) fn has_two(self) -> bool {
        self.two().is_some()
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Calls an intrinsic function; `overload` picks among those of one name.
    fn intrinsic(
        &self,
        name: &str,
        overload: &[BasicTypeEnum<'ctx>],
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let declared = Intrinsic::find(name).and_then(|i| i.get_declaration(self.module, overload));
        let function = declared.ok_or_else(|| LlvmError::ill_formed(format_args!("LLVM has no {name}")))?;
        Ok(self.builder.build_call(function, arguments, "")?)
    }

    /// A load of the active lanes; the others are those of `otherwise`.
    pub(super) fn masked_load(
        &self,
        from: PointerValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [otherwise.get_type().into(), types::pointer(self.context).into()];
        let arguments = [from.into(), alignment.into(), mask.into(), otherwise.into()];
        self.intrinsic("llvm.masked.load", &overload, &arguments)
    }

    /// A store of the active lanes.
    pub(super) fn masked_store(
        &self,
        value: VectorValue<'ctx>,
        to: PointerValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [value.get_type().into(), types::pointer(self.context).into()];
        self.intrinsic(
            "llvm.masked.store",
            &overload,
            &[value.into(), to.into(), alignment.into(), mask.into()],
        )
    }

    /// Loads from a vector of pointers.
    pub(super) fn masked_gather(
        &self,
        from: VectorValue<'ctx>,
        alignment: u32,
        mask: VectorValue<'ctx>,
        otherwise: VectorValue<'ctx>,
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let alignment = self.context.i32_type().const_int(alignment.into(), false);
        let overload = [otherwise.get_type().into(), from.get_type().into()];
        let arguments = [from.into(), alignment.into(), mask.into(), otherwise.into()];
        self.intrinsic("llvm.masked.gather", &overload, &arguments)
    }

    /// How many bits of an integer are set.
    pub(super) fn count_ones(&self, bits: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let bits = self.frame.value(bits)?;
        let call = self.intrinsic("llvm.ctpop", &[bits.get_type()], &[bits.into()])?;
        call.try_as_basic_value().basic().ok_or_else(|| LlvmError::ill_formed("llvm.ctpop returns nothing"))
    }

    /// `2 * node` and a bit: a test that leaves the bit in the carry and an addition with it, which is one instruction
    /// and one cycle less than what becomes of a shift, a mask and a sum.
    pub(super) fn child(&self, word: Value, node: Value) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let (IntValue(word), IntValue(node)) = (self.frame.value(word)?, self.frame.value(node)?) else {
            return Err(LlvmError::ill_formed("integers expected"));
        };
        let (long, byte) = (word.get_type(), self.context.i8_type());
        let place = self.builder.build_and(node, long.const_int(63, false), "")?;
        let bit = self.builder.build_right_shift(word, place, false, "")?;
        let bit = self.builder.build_and(bit, long.const_int(1, false), "")?;
        let carry = self.builder.build_int_truncate(bit, byte, "")?;
        let call = self.intrinsic("llvm.x86.addcarry.64", &[], &[carry.into(), node.into(), node.into()])?;
        match call.try_as_basic_value().basic() {
            Some(StructValue(sum)) => Ok(self.builder.build_extract_value(sum, 1, "")?),
            _ => Err(LlvmError::ill_formed("llvm.x86.addcarry.64 returns no pair")),
        }
    }

    /// A hint to the cache: for reading, to be kept in all levels.
    pub(super) fn prefetch_intrinsic(&self, at: PointerValue<'ctx>) -> Result<(), LlvmError> {
        let number = |n| self.context.i32_type().const_int(n, false).into();
        let (read, keep, data) = (number(0), number(3), number(1));
        let overload = [types::pointer(self.context).into()];
        self.intrinsic("llvm.prefetch", &overload, &[at.into(), read, keep, data])?;
        Ok(())
    }

    /// Elements of one register, or of two that follow each other, by number.
    pub(super) fn permute(
        &self,
        permute: Permute,
        tables: &[VectorValue<'ctx>],
        index: VectorValue<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let (name, arguments): (_, Vec<BasicMetadataValueEnum>) = match tables {
            [table] => (permute.one(), vec![(*table).into(), index.into()]),
            [low, high] => (permute.two(), vec![(*low).into(), index.into(), (*high).into()]),
            _ => (None, Vec::new()),
        };
        let name = name.ok_or_else(|| LlvmError::ill_formed(format_args!("no {permute:?}")))?;
        returned(self.intrinsic(name, &[], &arguments)?)
    }
}

/// The vector that a call returns.
pub(super) fn returned<'ctx>(call: CallSiteValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
    match call.try_as_basic_value().basic() {
        Some(BasicValueEnum::VectorValue(vector)) => Ok(vector),
        _ => Err(LlvmError::ill_formed("a vector function returns no vector")),
    }
}
