//! Addresses, loads and stores of LIR, and the guarantees about them for LLVM.

use super::annotations::{TABLE_ALIGNMENT, instruction};
use super::operands::OperandReader;
use super::types;
use crate::error::LlvmError;
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMBuildAtomicRMW;
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{
    AsValueRef, BasicValueEnum, InstructionOpcode, InstructionValue, IntValue, MetadataValue, PointerValue,
};
use inkwell::{AtomicOrdering, AtomicRMWBinOp};
use sched_ir::lir::{self, Address, Keep, KernelKind, Scalar, Space, Ty, Value};

/// Bytes of the widest load of a GPU's thread.
const GPU_LOAD_BYTES: u32 = lir::ACCESS_BYTES as u32;

/// Alias scopes of a function: one for each piece of memory that overlaps no other.
struct AliasScopes<'ctx> {
    /// For each buffer: its scope, and all other scopes.
    by_buffer: Vec<(MetadataValue<'ctx>, MetadataValue<'ctx>)>,
    /// Whether the input is read-only for the whole run.
    input_is_constant: bool,
}

impl<'ctx> AliasScopes<'ctx> {
    /// The scopes of a kernel. Kernels that finish margins may run in place, so that their input and output
    /// are one piece of memory.
    fn new(context: &'ctx Context, kind: KernelKind, function: &lir::Function) -> AliasScopes<'ctx> {
        let in_place = matches!(kind, KernelKind::Output(kind) if kind.finishes_margins());
        let memory = |(number, buffer): (usize, &lir::Buffer)| match buffer.space {
            Space::Private | Space::Shared | Space::Counters => format!("private {number}"),
            Space::ModelTable(n) => format!("table {n}"),
            Space::InputOrder => "order".to_string(),
            Space::Output if !in_place => "output".to_string(),
            Space::Input | Space::Output => "input".to_string(),
        };
        let names: Vec<String> = function.buffers.iter().enumerate().map(memory).collect();
        let domain = context.metadata_node(&[context.metadata_string(&function.name).into()]);
        let scope =
            |name: &String| context.metadata_node(&[context.metadata_string(name).into(), domain.into()]);
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        let of = names.iter().map(|own| {
            let others: Vec<_> =
                distinct.iter().filter(|name| *name != own).map(|name| scope(name).into()).collect();
            (context.metadata_node(&[scope(own).into()]), context.metadata_node(&others))
        });
        AliasScopes { by_buffer: of.collect(), input_is_constant: !in_place }
    }
}

/// Accesses to the buffers of one LIR function.
pub(super) struct Memory<'a, 'ctx> {
    /// The model's tables.
    pub(super) tables: &'a [lir::Table],
    scopes: AliasScopes<'ctx>,
    /// Whether the code runs in a launch, on a GPU.
    pub(super) in_launch: bool,
    /// The last group of loads that reloaded the tables.
    reloaded: Option<u32>,
}

impl<'a, 'ctx> Memory<'a, 'ctx> {
    /// The memory of a kernel of the host.
    pub(super) fn new(
        context: &'ctx Context,
        tables: &'a [lir::Table],
        (kind, function): (KernelKind, &lir::Function),
    ) -> Memory<'a, 'ctx> {
        let scopes = AliasScopes::new(context, kind, function);
        Memory { tables, scopes, in_launch: false, reloaded: None }
    }

    /// Declares an access's alignment and alias scope.
    fn describe_access(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        at: &Address,
        access: InstructionValue<'ctx>,
        scalar: Scalar,
    ) -> Result<(), LlvmError> {
        let alignment = Memory::alignment(operands, at, scalar)?;
        access.set_alignment(alignment).map_err(LlvmError::ill_formed)?;
        self.describe_scope(operands, at, access)
    }

    /// Alignment in bytes of each element that an access reads or writes.
    pub(super) fn alignment(
        operands: &OperandReader,
        at: &Address,
        scalar: Scalar,
    ) -> Result<u32, LlvmError> {
        Ok(alignment(operands.space(at)?, at, scalar))
    }

    /// Attaches the alias scopes of an access: the memory that it may touch, and the memory that it cannot.
    pub(super) fn describe_scope(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        at: &Address,
        access: InstructionValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let Some((own, others)) = self.scopes.by_buffer.get(at.buffer.0 as usize) else {
            return Err(LlvmError::ill_formed(format_args!("there is no buffer {}", at.buffer.0)));
        };
        operands.ir.annotate(access, "alias.scope", *own)?;
        operands.ir.annotate(access, "noalias", *others)
    }

    /// A pointer to an address. Only the address of an unmasked access is sure to be `inside` the buffer.
    pub(super) fn pointer(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        at: &Address,
        inside: bool,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let ir = &operands.ir;
        let base = operands.frame.buffer(at.buffer)?;
        let index = operands.index(at.index)?;
        let byte = ir.context.i8_type();
        let offset = ir.context.i64_type().const_int(at.offset.into(), false);
        let step = |ty: BasicTypeEnum<'ctx>, from, by: IntValue<'ctx>| {
            // SAFETY: LIR's unmasked accesses are inside their buffers; other addresses are not declared to
            // be inside.
            unsafe {
                match inside {
                    true => ir.builder.build_in_bounds_gep(ty, from, &[by], ""),
                    false => ir.builder.build_gep(ty, from, &[by], ""),
                }
            }
        };
        let of_element = byte.array_type(at.stride).as_basic_type_enum();
        let (base, index) = match self.summands(index) {
            // The first summand is the index of the tree's first element, which is constant during a walk.
            Some((first, rest)) => {
                // SAFETY: a single summand may exceed the buffer, so the address is not declared to be
                // inside.
                (unsafe { ir.builder.build_gep(of_element, base, &[first], "")? }, rest)
            }
            None => (base, index),
        };
        let element = step(of_element, base, index)?;
        if at.offset == 0 { Ok(element) } else { Ok(step(byte.into(), element, offset)?) }
    }

    /// The summands of an index in a launch, which has 32 bits. LLVM cannot know that sums of indices do not
    /// overflow: it would add first, and widen the sum to the 64 bits of an address for each access.
    fn summands(&self, index: IntValue<'ctx>) -> Option<(IntValue<'ctx>, IntValue<'ctx>)> {
        let sum = index.as_instruction().filter(|_| self.in_launch)?;
        let operand = |number| match sum.get_operand(number)?.value()? {
            BasicValueEnum::IntValue(operand) => Some(operand),
            _ => None,
        };
        if sum.get_opcode() == InstructionOpcode::Add { operand(0).zip(operand(1)) } else { None }
    }

    /// A load. GPUs load at most [`GPU_LOAD_BYTES`] at once, and LLVM 19 crashes on some wider loads in code
    /// for them, so these are loaded in halves.
    pub(super) fn load(
        &mut self,
        operands: &mut OperandReader<'_, 'ctx>,
        ty: Ty,
        at: &Address,
        keep: Keep,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        if self.in_launch && ty.lanes > 1 && ty.bytes() > GPU_LOAD_BYTES {
            let half = Ty { lanes: ty.lanes / 2, ..ty };
            let after = Address { offset: at.offset + half.bytes(), ..*at };
            let first = self.load(operands, half, at, keep)?;
            let second = self.load(operands, half, &after, keep)?;
            return operands.ir.concat(ty, first, second);
        }
        self.reload(operands, keep)?;
        let pointer = self.pointer(operands, at, true)?;
        let loaded = operands.ir.builder.build_load(types::basic(operands.ir.context, ty)?, pointer, "")?;
        let access = instruction(loaded)?;
        let space = operands.space(at)?;
        if let (Space::ModelTable(_), true) = (space, ty.lanes > 1) {
            // LIR decides where vectors of tables are loaded. If LLVM knew that tables do not change, it
            // would hoist these loads out of loops and spill most of the vectors.
            access
                .set_alignment(Memory::alignment(operands, at, ty.scalar)?)
                .map_err(LlvmError::ill_formed)?;
            operands.frame.table_addresses.insert(loaded, pointer);
            return Ok(loaded);
        }
        self.describe_access(operands, at, access, ty.scalar)?;
        match space {
            _ if keep != Keep::Invariant => {}
            Space::ModelTable(_) => operands.ir.mark_invariant(loaded)?,
            Space::InputOrder => operands.ir.mark_invariant(loaded)?,
            Space::Input if self.scopes.input_is_constant => operands.ir.mark_invariant(loaded)?,
            Space::Input | Space::Output | Space::Private | Space::Shared | Space::Counters => {}
        }
        Ok(loaded)
    }

    /// A store.
    pub(super) fn store(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        to: &Address,
        value: Value,
    ) -> Result<(), LlvmError> {
        let ty = operands.ty(value)?;
        Memory::check_writable(operands, to)?;
        let pointer = self.pointer(operands, to, true)?;
        let access = operands.ir.builder.build_store(pointer, operands.frame.value(value)?)?;
        self.describe_access(operands, to, access, ty.scalar)
    }

    /// An atomic addition.
    pub(super) fn atomic_add(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        to: &Address,
        value: Value,
    ) -> Result<(), LlvmError> {
        Memory::check_writable(operands, to)?;
        let pointer = self.pointer(operands, to, true)?;
        let value = operands.frame.value(value)?;
        // SAFETY: the builder is positioned in a block, and the pointer and the float are values of its
        // module.
        unsafe {
            LLVMBuildAtomicRMW(
                operands.ir.builder.as_mut_ptr(),
                LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpFAdd,
                pointer.as_value_ref(),
                value.as_value_ref(),
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
                0,
            );
        }
        Ok(())
    }

    /// An atomic addition of 1 to a counter, which orders no other access. Returns the old value.
    pub(super) fn count_up(
        &self,
        operands: &OperandReader<'_, 'ctx>,
        counter: &Address,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        Memory::check_writable(operands, counter)?;
        let pointer = self.pointer(operands, counter, true)?;
        let one = operands.ir.context.i32_type().const_int(1, false);
        let (add, order) = (AtomicRMWBinOp::Add, AtomicOrdering::Monotonic);
        Ok(operands.ir.builder.build_atomicrmw(add, pointer, one, order)?)
    }

    /// Refuses writes to read-only memory.
    pub(super) fn check_writable(operands: &OperandReader, to: &Address) -> Result<(), LlvmError> {
        match operands.space(to)? {
            Space::Output | Space::Private | Space::Shared | Space::Counters => Ok(()),
            Space::Input | Space::InputOrder | Space::ModelTable(_) => {
                Err(LlvmError::ill_formed("a write to a buffer that is read only"))
            }
        }
    }

    /// Prefetches the cache line of an address. Emits nothing in launches, since other threads hide the
    /// latency.
    pub(super) fn prefetch(&self, operands: &OperandReader<'_, 'ctx>, at: &Address) -> Result<(), LlvmError> {
        if self.in_launch { Ok(()) } else { operands.ir.prefetch(self.pointer(operands, at, false)?) }
    }

    /// Separates the first load of a group from earlier loads by a fence for this thread alone. The fence is
    /// no instruction, but LLVM merges no loads across it.
    fn reload(&mut self, operands: &OperandReader, keep: Keep) -> Result<(), LlvmError> {
        if let Keep::Reload(group) = keep
            && self.reloaded != Some(group)
        {
            operands.ir.builder.build_fence(AtomicOrdering::Acquire, true, "")?;
            self.reloaded = Some(group);
        }
        Ok(())
    }
}

/// Bytes that are reserved for `bytes` bytes of temporary memory.
pub(super) fn reserved_bytes(bytes: i64) -> u64 {
    (bytes.max(1) as u64).next_multiple_of(TABLE_ALIGNMENT.into())
}

/// The alignment that every element of a buffer has at an access. Rows and results of callers are aligned to
/// their elements only.
fn alignment(space: Space, at: &Address, scalar: Scalar) -> u32 {
    let base = match space {
        Space::ModelTable(_) | Space::Private | Space::Shared | Space::Counters => TABLE_ALIGNMENT,
        Space::Input | Space::InputOrder | Space::Output => scalar.bytes(),
    };
    let even = |n: u32| if n == 0 { TABLE_ALIGNMENT } else { 1 << n.trailing_zeros() };
    base.min(even(at.stride)).min(even(at.offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_ir::lir::BufferId;

    #[test]
    fn alignment_follows_from_base_stride_and_offset() {
        let at = |stride, offset| Address { buffer: BufferId(0), index: Value(0), stride, offset };
        let cases = [
            (Space::ModelTable(0), 4, 0, Scalar::F32, 4),
            (Space::ModelTable(0), 64, 0, Scalar::F32, 64),
            (Space::ModelTable(0), 192, 32, Scalar::F32, 32),
            (Space::ModelTable(0), 6, 2, Scalar::I32, 2),
            (Space::Private, 0, 0, Scalar::I8, 64),
            (Space::Input, 64, 0, Scalar::F32, 4),
            (Space::Output, 8, 4, Scalar::F64, 4),
        ];
        for (space, stride, offset, scalar, expected) in cases {
            assert_eq!(
                alignment(space, &at(stride, offset), scalar),
                expected,
                "{space:?} {stride} {offset}"
            );
        }
    }
}
