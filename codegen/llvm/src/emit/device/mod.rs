//! Operations of launches that depend on the machine: numbers of blocks and threads, barriers, shared memory,
//! and the parameters of kernels.

pub(super) mod amdgpu;
pub(super) mod host;
pub(super) mod nvptx;

use super::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicValueEnum, FloatValue, FunctionValue, PointerValue};
use sched_ir::lir::{GpuAxis, GpuDimension, GpuLevel};

/// The machine that runs a kernel of a launch.
pub(super) trait Device {
    /// The number of a block or a thread, as an integer of 32 bits.
    fn id<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        dimension: GpuDimension,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError>;

    /// A barrier of the threads of a block.
    fn barrier(&self, ir: &IrBuilder) -> Result<(), LlvmError>;

    /// A fence that orders the thread's accesses for all threads of the device: it releases and acquires.
    fn fence(&self, ir: &IrBuilder) -> Result<(), LlvmError>;

    /// Whether [`multiply_tiles`](Device::multiply_tiles) works. Otherwise each thread adds the terms of its
    /// own sums.
    fn has_tensor_cores(&self) -> bool {
        false
    }

    /// Lets the threads of a warp wait for each other before they multiply tiles.
    fn join_warp(&self, _ir: &IrBuilder) -> Result<(), LlvmError> {
        Ok(())
    }

    /// Adds four terms to all sums of a tile. The threads of a warp call it together: thread `n` gives the
    /// constant of unit `n / 4` and term `n % 4`, the operand of term `n % 4` and row `n / 4`, and the two
    /// sums that it holds.
    fn multiply_tiles<'ctx>(
        &self,
        _ir: &IrBuilder<'_, 'ctx>,
        _constant: FloatValue<'ctx>,
        _operand: FloatValue<'ctx>,
        _sums: [FloatValue<'ctx>; 2],
    ) -> Result<[FloatValue<'ctx>; 2], LlvmError> {
        Err(LlvmError::ill_formed("this device has no tensor cores"))
    }

    /// The address space of memory that all blocks can access: rows, results and tables.
    fn global_space(&self) -> AddressSpace {
        AddressSpace::from(GLOBAL_SPACE)
    }

    /// Reserves memory that the threads of a block share; `bytes` is a multiple of 64.
    fn reserve_shared<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        name: &str,
        bytes: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError>;

    /// Bytes of shared memory that the host must request for each block; 0 if the code declares them.
    fn shared_bytes(&self) -> u64 {
        0
    }

    /// Declares a kernel.
    fn declare_kernel<'ctx>(
        &self,
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &KernelInterface<'_, 'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError>;

    /// Reads a parameter at the start of the kernel.
    fn parameter<'ctx>(
        &self,
        ir: &IrBuilder<'_, 'ctx>,
        number: u32,
        _: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let parameter = ir.function()?.get_nth_param(number);
        parameter.ok_or_else(|| LlvmError::ill_formed("a kernel has a parameter for each buffer and value"))
    }
}

/// The interface of a kernel.
pub(super) struct KernelInterface<'a, 'ctx> {
    /// Its symbol.
    pub(super) name: &'a str,
    /// Number of threads of a block in the directions x, y and z.
    pub(super) block: [u32; 3],
    /// Registers that a thread must be able to have; `None` leaves the number to the assembler.
    pub(super) registers: Option<u32>,
    /// Its parameters, in order.
    pub(super) parameters: &'a [KernelParameter<'ctx>],
}

/// A parameter of a kernel.
pub(super) enum KernelParameter<'ctx> {
    /// Address of memory that no other parameter overlaps.
    Buffer {
        /// Whether the kernel only reads it.
        is_read_only: bool,
        /// Whether a thread may read values that other threads of the launch have written. LLVM must then
        /// assume that barriers and fences change the memory.
        is_exchanged: bool,
    },
    /// A number.
    Value(BasicTypeEnum<'ctx>),
}

impl<'ctx> KernelParameter<'ctx> {
    /// Its type on a machine whose global memory is in this address space.
    pub(super) fn ty(&self, context: &'ctx Context, global: AddressSpace) -> BasicTypeEnum<'ctx> {
        match self {
            KernelParameter::Buffer { .. } => context.ptr_type(global).as_basic_type_enum(),
            KernelParameter::Value(ty) => *ty,
        }
    }
}

/// The address space of global memory, the same for NVIDIA and AMD.
const GLOBAL_SPACE: u16 = 1;
/// The address space of shared memory, the same for NVIDIA and AMD.
const SHARED_SPACE: u16 = 3;

/// The number of a block or a thread, which a register of a GPU holds. `block` and `thread` are the names of
/// the intrinsics that read the registers, without the direction.
fn read_id_register<'ctx>(
    ir: &IrBuilder<'_, 'ctx>,
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
    let call = ir.intrinsic(&format!("{register}.{direction}"), &[], &[])?;
    let number = call.try_as_basic_value().basic();
    number.ok_or_else(|| LlvmError::ill_formed("the register of a number has no value"))
}

/// Declares a function of a calling convention with the kernel's parameters.
fn declare_with_convention<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    kernel: &KernelInterface<'_, 'ctx>,
    convention: u32,
) -> FunctionValue<'ctx> {
    let global = AddressSpace::from(GLOBAL_SPACE);
    let types: Vec<BasicMetadataTypeEnum> =
        kernel.parameters.iter().map(|parameter| parameter.ty(context, global).into()).collect();
    let llvm = module.add_function(kernel.name, context.void_type().fn_type(&types, false), None);
    llvm.set_call_conventions(convention);
    for (parameter, at) in kernel.parameters.iter().zip(0..) {
        let attributes: &[&str] = match parameter {
            KernelParameter::Buffer { is_read_only: true, .. } => &["noalias", "readonly"],
            KernelParameter::Buffer { is_exchanged: false, .. } => &["noalias"],
            KernelParameter::Buffer { .. } | KernelParameter::Value(_) => &[],
        };
        for attribute in attributes {
            let attribute = Attribute::get_named_enum_kind_id(attribute);
            llvm.add_attribute(AttributeLoc::Param(at), context.create_enum_attribute(attribute, 0));
        }
    }
    llvm
}
