//! The host's side of launches: what it knows of each, and how it asks the runtime to run one.

use super::function::Emitter;
use super::launch::{Parameters, kernel_symbol, launches_in};
use super::memory::allocated;
use super::types;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{self, GpuAxis, GpuDimension, GpuLevel, Launch, Op, Space, Stmt};

/// What the host knows of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaunchInfo {
    /// The name of its kernel.
    pub(crate) name: String,
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Bytes of memory that the threads of a block share, which they get when they are launched.
    pub(crate) shared: u32,
    /// The names of the buffers that it takes.
    pub(crate) buffers: Vec<String>,
    /// All that it takes: the buffers, and then values of the host.
    pub(crate) num_arguments: i32,
    /// Whether it takes the first block in the directions y and z, too.
    pub(crate) is_split: bool,
}

/// All launches of a module, in the order of their numbers.
pub(crate) fn launches(module: &lir::Module) -> Vec<LaunchInfo> {
    let of = |function: &lir::Function| {
        let info = |launch: &&Launch| {
            let parameters = Parameters::of(function, launch);
            LaunchInfo {
                name: kernel_symbol(function, launch),
                block: launch.block,
                shared: shared_bytes(function, launch),
                buffers: parameters.buffers.iter().map(|id| function.buffer(*id).name.clone()).collect(),
                num_arguments: (parameters.buffers.len() + parameters.values.len()) as i32,
                is_split: is_split(launch),
            }
        };
        launches_in(&function.body).iter().map(info).collect::<Vec<_>>()
    };
    module.kernels.iter().flat_map(|(_, function)| of(function)).collect()
}

/// Bytes of memory that a block shares: no two buffers lie in one place.
fn shared_bytes(function: &lir::Function, launch: &Launch) -> u32 {
    let mut constants = std::collections::BTreeMap::new();
    let mut count = |stmt: &Stmt| {
        if let Stmt::Let(value, Op::Int(n)) = stmt {
            constants.insert(*value, *n);
        }
    };
    Stmt::visit_all(&function.body, &mut count);
    let mut bytes = 0_u64;
    Stmt::visit_all(&launch.body, |stmt| {
        if let Stmt::Alloc(alloc) = stmt
            && function.buffer(alloc.buffer).space == Space::Shared
        {
            bytes += allocated(constants.get(&alloc.bytes).copied().unwrap_or(0));
        }
    });
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Whether there may be more blocks in the directions y and z than a GPU starts at once.
pub(super) fn is_split(launch: &Launch) -> bool {
    let mut found = false;
    let split = |dimension: &GpuDimension| {
        dimension.level == GpuLevel::Grid && matches!(dimension.axis, GpuAxis::Y | GpuAxis::Z)
    };
    Stmt::visit_all(&launch.body, |stmt| {
        found |= matches!(stmt, Stmt::Let(_, Op::Id(dimension)) if split(dimension));
    });
    found
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The number of a block of the whole grid, or of a thread, from the one that the device tells.
    pub(super) fn after_first_block(
        &self,
        dimension: GpuDimension,
        id: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let Some([y, z]) = self.first_blocks.filter(|_| dimension.level == GpuLevel::Grid) else {
            return Ok(id);
        };
        let first = match dimension.axis {
            GpuAxis::X => return Ok(id),
            GpuAxis::Y => y,
            GpuAxis::Z => z,
        };
        Ok(self.builder.build_int_add(id.into_int_value(), first, "")?.into())
    }

    /// The host's side of a launch: a call of the runtime with the addresses of what the kernel takes.
    pub(super) fn launch(&mut self, launch: &Launch) -> Result<(), LlvmError> {
        let name = kernel_symbol(self.source, launch);
        let number = launches(self.model).iter().position(|info| info.name == name);
        let number = number.ok_or_else(|| LlvmError::ill_formed("a launch of another module"))?;
        let parameters = Parameters::of(self.source, launch);
        let mut given: Vec<BasicValueEnum> = Vec::new();
        for buffer in &parameters.buffers {
            given.push(self.frame.buffer(*buffer)?.into());
        }
        for value in &parameters.values {
            given.push(self.frame.value(*value)?);
        }
        let pointer = types::pointer(self.context);
        // The runtime may add two.
        let addresses = pointer.array_type(given.len() as u32 + 2);
        let memory = self.frame.at_entry(self.context).build_alloca(addresses, "arguments")?;
        for (value, place) in given.iter().zip(0..) {
            let slot = self.frame.at_entry(self.context).build_alloca(value.get_type(), "argument")?;
            self.builder.build_store(slot, *value)?;
            let entry = self.element(memory, place)?;
            self.builder.build_store(entry, slot)?;
        }
        let (int, long) = (self.context.i32_type(), self.context.i64_type());
        let mut arguments = vec![self.frame.ctx.into(), int.const_int(number as u64, false).into()];
        for extent in launch.grid {
            let blocks = self.index(extent)?;
            arguments.push(self.builder.build_int_s_extend_or_bit_cast(blocks, long, "")?.into());
        }
        arguments.push(memory.into());
        self.builder.build_call(self.runtime_launch(), &arguments, "")?;
        Ok(())
    }
}
