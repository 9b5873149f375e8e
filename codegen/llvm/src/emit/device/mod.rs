//! What launches need of the machine that runs them, beyond operations that LLVM has for all machines: numbers of blocks
//! and threads, barriers, memory that a block shares, and how kernels take their parameters.

mod amdgpu;
mod host;
mod nvptx;

use super::function::Emitter;
use crate::error::LlvmError;
use crate::target::{Machine, MachineKind};
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel};
use std::rc::Rc;

/// A machine that runs launches, for one kernel.
pub(super) trait Device {
    /// The number of a block or a thread, 32 bits.
    fn id<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError>;

    /// A barrier of the threads of a block.
    fn barrier(&self, emitter: &Emitter) -> Result<(), LlvmError>;

    /// Where the memory of all blocks is: rows, results, tables.
    fn global(&self) -> AddressSpace {
        AddressSpace::from(GLOBAL)
    }

    /// Memory that the threads of a block share, a multiple of 64 bytes.
    fn shared<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        name: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError>;

    /// Bytes of shared memory that the kernel gets when it is launched, beside what its code says.
    fn shared_bytes(&self) -> u64 {
        0
    }

    /// Declares a kernel of blocks of so many threads.
    fn declare<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &Kernel<'_, 'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError>;

    /// A parameter, read at the start of the kernel.
    fn parameter<'ctx>(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        number: u32,
        _: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let parameter = emitter.frame.llvm.get_nth_param(number);
        parameter.ok_or_else(|| LlvmError::ill_formed("a kernel has a parameter for each buffer and value"))
    }
}

/// What the host sees of a kernel.
pub(super) struct Kernel<'a, 'ctx> {
    pub(super) name: &'a str,
    /// Threads of a block in the directions x, y and z.
    pub(super) block: [u32; 3],
    pub(super) parameters: &'a [Parameter<'ctx>],
}

/// A parameter of a kernel.
pub(super) enum Parameter<'ctx> {
    /// Memory that no other parameter leads to.
    Buffer {
        /// Whether it is only read.
        reads_only: bool,
    },
    Value(BasicTypeEnum<'ctx>),
}

impl<'ctx> Parameter<'ctx> {
    /// Its type on a machine whose memory is in this space.
    pub(super) fn ty(&self, context: &'ctx Context, global: AddressSpace) -> BasicTypeEnum<'ctx> {
        match self {
            Parameter::Buffer { .. } => context.ptr_type(global).as_basic_type_enum(),
            Parameter::Value(ty) => *ty,
        }
    }
}

/// The machine as one that runs launches, if it does, for one kernel.
pub(super) fn device(machine: &Machine) -> Option<Rc<dyn Device>> {
    match machine.kind {
        MachineKind::X86 => None,
        MachineKind::AmdGpu => Some(Rc::new(amdgpu::AmdGpu)),
        MachineKind::Nvptx => Some(Rc::<nvptx::Nvptx>::default()),
        MachineKind::Host => Some(Rc::<host::Host>::default()),
    }
}

/// The address spaces of GPUs, on which NVIDIA and AMD agree.
const GLOBAL: u16 = 1;
const SHARED: u16 = 3;

/// The number of a block or a thread, which a register of a GPU holds. The intrinsics of both are given less the direction.
fn from_register<'ctx>(
    emitter: &Emitter<'_, 'ctx>,
    [block, thread]: [&str; 2],
    dimension: GpuDimension,
) -> Result<BasicValueEnum<'ctx>, LlvmError> {
    let register = match dimension.level {
        GpuLevel::Grid => block,
        GpuLevel::Block => thread,
    };
    let direction = match dimension.axis {
        GpuAxis::X => "x",
        GpuAxis::Y => "y",
        GpuAxis::Z => "z",
    };
    let call = emitter.intrinsic(&format!("{register}.{direction}"), &[], &[])?;
    let number = call.try_as_basic_value().basic();
    number.ok_or_else(|| LlvmError::ill_formed("the register of a number has no value"))
}

/// A function of a calling convention with a parameter for each of the kernel's.
fn with_parameters<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    kernel: &Kernel<'_, 'ctx>,
    convention: u32,
) -> FunctionValue<'ctx> {
    let global = AddressSpace::from(GLOBAL);
    let types: Vec<BasicMetadataTypeEnum> =
        kernel.parameters.iter().map(|parameter| parameter.ty(context, global).into()).collect();
    let llvm = module.add_function(kernel.name, context.void_type().fn_type(&types, false), None);
    llvm.set_call_conventions(convention);
    for (parameter, at) in kernel.parameters.iter().zip(0..) {
        let said: &[&str] = match parameter {
            Parameter::Buffer { reads_only: true } => &["noalias", "readonly"],
            Parameter::Buffer { reads_only: false } => &["noalias"],
            Parameter::Value(_) => &[],
        };
        for attribute in said {
            let attribute = Attribute::get_named_enum_kind_id(attribute);
            llvm.add_attribute(AttributeLoc::Param(at), context.create_enum_attribute(attribute, 0));
        }
    }
    llvm
}
