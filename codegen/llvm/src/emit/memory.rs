//! Addresses, loads and stores, temporary memory, and what LLVM may assume of them.

use super::function::Emitter;
use super::types;
use crate::error::LlvmError;
use inkwell::AtomicOrdering;
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMBuildAtomicRMW;
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{
    AsValueRef, BasicValueEnum, InstructionOpcode, InstructionValue, IntValue, MetadataValue, PointerValue,
};
use sched_ir::lir::{self, Address, Alloc, Keep, KernelKind, Scalar, Space, Ty, Value};

/// Alignment of the model's tables and of temporary memory.
pub(super) const TABLE_ALIGNMENT: u32 = 64;

/// Which accesses cannot touch the same memory, as alias scopes: one scope for each piece of memory.
pub(super) struct AliasScopes<'ctx> {
    /// For each buffer: the scope it is in, and all the others.
    of: Vec<(MetadataValue<'ctx>, MetadataValue<'ctx>)>,
    /// Whether the input is read-only for the whole run.
    input_is_constant: bool,
}

impl<'ctx> AliasScopes<'ctx> {
    /// The scopes of a kernel. Kernels that finish margins may be run in place, so their input and output are
    /// one piece of memory.
    pub(super) fn new(
        context: &'ctx Context,
        kind: KernelKind,
        function: &lir::Function,
    ) -> AliasScopes<'ctx> {
        let in_place = matches!(kind, KernelKind::Value | KernelKind::Class);
        let place = |(number, buffer): (usize, &lir::Buffer)| match buffer.space {
            Space::Private | Space::Shared => format!("private {number}"),
            Space::Model(n) => format!("table {n}"),
            Space::Order => "order".to_string(),
            Space::Output if !in_place => "output".to_string(),
            Space::Input | Space::Output => "input".to_string(),
        };
        let places: Vec<String> = function.buffers.iter().enumerate().map(place).collect();
        let domain = context.metadata_node(&[context.metadata_string(&function.name).into()]);
        let scope =
            |place: &String| context.metadata_node(&[context.metadata_string(place).into(), domain.into()]);
        let mut distinct = places.clone();
        distinct.sort();
        distinct.dedup();
        let of = places.iter().map(|own| {
            let others: Vec<_> =
                distinct.iter().filter(|place| *place != own).map(|p| scope(p).into()).collect();
            (context.metadata_node(&[scope(own).into()]), context.metadata_node(&others))
        });
        AliasScopes { of: of.collect(), input_is_constant: !in_place }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The address of the pointer-sized element `number` of an array of such.
    pub(super) fn element(
        &self,
        base: PointerValue<'ctx>,
        number: u32,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let index = self.context.i64_type().const_int(number.into(), false);
        let word = self.context.i64_type();
        // SAFETY: a run's context and its list of tables have such an element.
        Ok(unsafe { self.builder.build_in_bounds_gep(word, base, &[index], "")? })
    }

    /// Loads the pointer-sized element `number`, which does not change during a run.
    pub(super) fn load_pointer(
        &self,
        base: PointerValue<'ctx>,
        number: u32,
        name: &str,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let at = self.element(base, number)?;
        let loaded = self.builder.build_load(types::pointer(self.context), at, name)?;
        self.mark_invariant(loaded)?;
        match loaded {
            BasicValueEnum::PointerValue(pointer) => Ok(pointer),
            _ => Err(LlvmError::ill_formed("a pointer is loaded as something else")),
        }
    }

    /// Says that the memory a value was loaded from does not change during a run.
    pub(super) fn mark_invariant(&self, loaded: BasicValueEnum<'ctx>) -> Result<(), LlvmError> {
        self.annotate(instruction(loaded)?, "invariant.load", self.context.metadata_node(&[]))
    }

    /// Says what a pointer to a table points to.
    pub(super) fn describe_table(&self, base: PointerValue<'ctx>, bytes: usize) -> Result<(), LlvmError> {
        let number =
            |n: u64| self.context.metadata_node(&[self.context.i64_type().const_int(n, false).into()]);
        let load = instruction(base.into())?;
        self.annotate(load, "nonnull", self.context.metadata_node(&[]))?;
        self.annotate(load, "align", number(TABLE_ALIGNMENT.into()))?;
        if bytes > 0 {
            self.annotate(load, "dereferenceable", number(bytes as u64))?;
        }
        Ok(())
    }

    fn annotate(
        &self,
        instruction: InstructionValue<'ctx>,
        kind: &str,
        node: MetadataValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let attached = instruction.set_metadata(node, self.context.get_kind_id(kind));
        attached.map_err(|_| LlvmError::ill_formed("metadata on an instruction is a node"))
    }

    /// What is known of an access to a buffer.
    fn describe_access(
        &self,
        at: &Address,
        access: InstructionValue<'ctx>,
        scalar: Scalar,
    ) -> Result<(), LlvmError> {
        let alignment = self.alignment(at, scalar)?;
        access.set_alignment(alignment).map_err(LlvmError::ill_formed)?;
        self.describe_scope(at, access)
    }

    /// The alignment of every element at an access.
    pub(super) fn alignment(&self, at: &Address, scalar: Scalar) -> Result<u32, LlvmError> {
        Ok(alignment(self.space(at)?, at, scalar))
    }

    /// What an access to a buffer cannot touch.
    pub(super) fn describe_scope(
        &self,
        at: &Address,
        access: InstructionValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let Some((own, others)) = self.scopes.of.get(at.buffer.0 as usize) else {
            return Err(LlvmError::ill_formed(format_args!("there is no buffer {}", at.buffer.0)));
        };
        self.annotate(access, "alias.scope", *own)?;
        self.annotate(access, "noalias", *others)
    }

    fn space(&self, at: &Address) -> Result<Space, LlvmError> {
        let buffer = self.source.buffers.get(at.buffer.0 as usize);
        let missing = || LlvmError::ill_formed(format_args!("there is no buffer {}", at.buffer.0));
        buffer.map(|b| b.space).ok_or_else(missing)
    }

    /// A pointer to an address. Only that of a plain access is sure to be `inside` the buffer.
    pub(super) fn pointer(&self, at: &Address, inside: bool) -> Result<PointerValue<'ctx>, LlvmError> {
        let base = self.frame.buffer(at.buffer)?;
        let index = self.index(at.index)?;
        let byte = self.context.i8_type();
        let offset = self.context.i64_type().const_int(at.offset.into(), false);
        let step = |ty: BasicTypeEnum<'ctx>, from, by: IntValue<'ctx>| {
            // SAFETY: whoever made the LIR vouches for accesses inside buffers; elsewhere no such claim is
            // made.
            unsafe {
                match inside {
                    true => self.builder.build_in_bounds_gep(ty, from, &[by], ""),
                    false => self.builder.build_gep(ty, from, &[by], ""),
                }
            }
        };
        let of_element = byte.array_type(at.stride).as_basic_type_enum();
        let (base, index) = match self.summands(index) {
            // The first element of a tree does not change while it is walked.
            Some((first, rest)) => {
                // SAFETY: a summand alone may lead out of the buffer, of which no claim is made.
                (unsafe { self.builder.build_gep(of_element, base, &[first], "")? }, rest)
            }
            None => (base, index),
        };
        let element = step(of_element, base, index)?;
        if at.offset == 0 { Ok(element) } else { Ok(step(byte.into(), element, offset)?) }
    }

    /// The summands of an index of 32 bits in a launch. Addresses have 64, and LLVM cannot know that sums of indices do
    /// not overflow: it would add first and widen the sum for each address.
    fn summands(&self, index: IntValue<'ctx>) -> Option<(IntValue<'ctx>, IntValue<'ctx>)> {
        let sum = index.as_instruction().filter(|_| self.device.is_some())?;
        let operand = |number| match sum.get_operand(number)?.value()? {
            BasicValueEnum::IntValue(operand) => Some(operand),
            _ => None,
        };
        if sum.get_opcode() == InstructionOpcode::Add { operand(0).zip(operand(1)) } else { None }
    }

    /// An index.
    pub(super) fn index(&self, value: Value) -> Result<IntValue<'ctx>, LlvmError> {
        match (self.ty(value)?, self.frame.value(value)?) {
            (ty, BasicValueEnum::IntValue(index)) if ty == Ty::of(self.source.index) => Ok(index),
            (ty, _) => Err(LlvmError::ill_formed(format_args!("an index is {ty}"))),
        }
    }

    /// A load.
    pub(super) fn load(
        &mut self,
        ty: Ty,
        at: &Address,
        keep: Keep,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.reload(keep)?;
        let pointer = self.pointer(at, true)?;
        let loaded = self.builder.build_load(types::basic(self.context, ty)?, pointer, "")?;
        let access = instruction(loaded)?;
        let space = self.space(at)?;
        if let (Space::Model(_), true) = (space, ty.lanes > 1) {
            // Vectors of tables are loaded where LIR says. If LLVM knew that they do not change, it would hoist
            // them out of loops and spill most of them.
            access.set_alignment(self.alignment(at, ty.scalar)?).map_err(LlvmError::ill_formed)?;
            self.frame.loaded.insert(loaded, pointer);
            return Ok(loaded);
        }
        self.describe_access(at, access, ty.scalar)?;
        match space {
            _ if keep != Keep::Invariant => {}
            Space::Model(_) => self.mark_invariant(loaded)?,
            Space::Order => self.mark_invariant(loaded)?,
            Space::Input if self.scopes.input_is_constant => self.mark_invariant(loaded)?,
            Space::Input | Space::Output | Space::Private | Space::Shared => {}
        }
        Ok(loaded)
    }

    /// A store.
    pub(super) fn store(&mut self, to: &Address, value: Value) -> Result<(), LlvmError> {
        let ty = self.ty(value)?;
        self.check_writable(to)?;
        let pointer = self.pointer(to, true)?;
        let access = self.builder.build_store(pointer, self.frame.value(value)?)?;
        self.describe_access(to, access, ty.scalar)
    }

    /// An indivisible addition.
    pub(super) fn atomic_add(&mut self, to: &Address, value: Value) -> Result<(), LlvmError> {
        self.check_writable(to)?;
        let pointer = self.pointer(to, true)?;
        let value = self.frame.value(value)?;
        // SAFETY: the builder stands in a block, and the pointer and the float are values of its module.
        unsafe {
            LLVMBuildAtomicRMW(
                self.builder.as_mut_ptr(),
                LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpFAdd,
                pointer.as_value_ref(),
                value.as_value_ref(),
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
                0,
            );
        }
        Ok(())
    }

    pub(super) fn check_writable(&self, to: &Address) -> Result<(), LlvmError> {
        match self.space(to)? {
            Space::Output | Space::Private | Space::Shared => Ok(()),
            Space::Input | Space::Order | Space::Model(_) => {
                Err(LlvmError::ill_formed("a write to a buffer that is read only"))
            }
        }
    }

    /// A hint to the cache. In launches threads hide latencies themselves.
    pub(super) fn prefetch(&mut self, at: &Address) -> Result<(), LlvmError> {
        if self.device.is_none() { self.prefetch_intrinsic(self.pointer(at, false)?) } else { Ok(()) }
    }

    /// Reads memory anew for the first load of a group: a fence for this thread alone is no instruction, but
    /// no load is merged with one beyond it.
    fn reload(&mut self, keep: Keep) -> Result<(), LlvmError> {
        if let Keep::Reload(group) = keep
            && self.reloaded != Some(group)
        {
            self.builder.build_fence(AtomicOrdering::Acquire, true, "")?;
            self.reloaded = Some(group);
        }
        Ok(())
    }

    /// Temporary memory: on the stack if it is small and its size is known, else from the runtime.
    pub(super) fn alloc(&mut self, alloc: &Alloc) -> Result<(), LlvmError> {
        let bytes = self.index(alloc.bytes)?;
        if let (true, Some(size)) = (self.device.is_some(), bytes.get_sign_extended_constant()) {
            return self.alloc_in_launch(alloc, allocated(size));
        }
        let on_stack = bytes.get_sign_extended_constant().map(allocated);
        match on_stack {
            Some(size) if self.frame.take_stack(size) => self.alloc_on_stack(alloc, size),
            _ => self.alloc_on_heap(alloc, bytes),
        }
    }

    /// Memory of a thread, or memory that the threads of a block share.
    fn alloc_in_launch(&mut self, alloc: &Alloc, bytes: u64) -> Result<(), LlvmError> {
        let buffer = self.source.buffers.get(alloc.buffer.0 as usize);
        let Some(buffer) = buffer.filter(|buffer| buffer.space == Space::Shared) else {
            return self.alloc_on_stack(alloc, bytes);
        };
        let name = format!("{}.{}", self.name, buffer.name);
        let memory = self.device()?.shared(self, &name, bytes)?;
        self.frame.place(alloc.buffer, memory)?;
        self.block(&alloc.body)
    }

    fn alloc_on_stack(&mut self, alloc: &Alloc, bytes: u64) -> Result<(), LlvmError> {
        let name = &self.source.buffers.get(alloc.buffer.0 as usize).map_or("memory", |b| b.name.as_str());
        let array = self.context.i8_type().array_type(bytes as u32);
        let memory = self.frame.at_entry(self.context).build_alloca(array, name)?;
        let aligned = instruction(memory.into())?.set_alignment(TABLE_ALIGNMENT);
        aligned.map_err(LlvmError::ill_formed)?;
        self.frame.place(alloc.buffer, memory)?;
        self.block(&alloc.body)
    }

    fn alloc_on_heap(&mut self, alloc: &Alloc, bytes: IntValue<'ctx>) -> Result<(), LlvmError> {
        let ctx = self.frame.ctx;
        let (get, give) = (self.runtime_alloc(), self.runtime_free());
        let bytes = self.builder.build_int_s_extend_or_bit_cast(bytes, self.context.i64_type(), "")?;
        let call = self.builder.build_call(get, &[ctx.into(), bytes.into()], "memory")?;
        let Some(BasicValueEnum::PointerValue(memory)) = call.try_as_basic_value().basic() else {
            return Err(LlvmError::ill_formed("an allocation returns a pointer"));
        };
        self.frame.place(alloc.buffer, memory)?;
        let failed = self.builder.build_is_null(memory, "failed")?;
        let (some, done) = (self.new_block("allocated"), self.new_block("freed"));
        self.builder.build_conditional_branch(failed, done, some)?;
        self.builder.position_at_end(some);
        self.block(&alloc.body)?;
        self.builder.build_call(give, &[ctx.into(), memory.into()], "")?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        Ok(())
    }
}

/// The instruction behind a value.
pub(super) fn instruction(value: BasicValueEnum) -> Result<InstructionValue, LlvmError> {
    let instruction = match value {
        BasicValueEnum::IntValue(v) => v.as_instruction(),
        BasicValueEnum::FloatValue(v) => v.as_instruction(),
        BasicValueEnum::VectorValue(v) => v.as_instruction(),
        BasicValueEnum::PointerValue(v) => v.as_instruction(),
        _ => None,
    };
    instruction.ok_or_else(|| LlvmError::ill_formed("an access is no instruction"))
}

/// The bytes of temporary memory that so many wanted ones get.
pub(super) fn allocated(bytes: i64) -> u64 {
    (bytes.max(1) as u64).next_multiple_of(TABLE_ALIGNMENT.into())
}

/// The alignment that every element of a buffer has at an access. Callers align their rows and results only
/// to the element.
fn alignment(space: Space, at: &Address, scalar: Scalar) -> u32 {
    let base = match space {
        Space::Model(_) | Space::Private | Space::Shared => TABLE_ALIGNMENT,
        Space::Input | Space::Order | Space::Output => scalar.bytes(),
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
            (Space::Model(0), 4, 0, Scalar::F32, 4),
            (Space::Model(0), 64, 0, Scalar::F32, 64),
            (Space::Model(0), 192, 32, Scalar::F32, 32),
            (Space::Model(0), 6, 2, Scalar::I32, 2),
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
