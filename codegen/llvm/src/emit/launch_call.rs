//! The host's side of a launch: a call of the runtime.

use super::function::Emitter;
use super::launch_info::{LaunchParameters, launch_infos, launch_symbol};
use super::types;
use crate::error::LlvmError;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::Launch;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits a call of the runtime, with the addresses of the kernel's arguments.
    pub(super) fn launch(&mut self, launch: &Launch) -> Result<(), LlvmError> {
        let name = launch_symbol(self.operands.source, launch);
        let launch_number = launch_infos(self.model).iter().position(|info| info.name == name);
        let launch_number =
            launch_number.ok_or_else(|| LlvmError::ill_formed("a launch of another module"))?;
        let parameters = LaunchParameters::of(self.operands.source, launch);
        let mut given: Vec<BasicValueEnum> = Vec::new();
        for buffer in &parameters.buffers {
            given.push(self.operands.frame.buffer(*buffer)?.into());
        }
        for value in &parameters.values {
            given.push(self.operands.frame.value(*value)?);
        }
        let pointer = types::pointer(self.ir().context);
        // The runtime may add two arguments: the first block in the directions y and z.
        let addresses = pointer.array_type(given.len() as u32 + 2);
        let memory = self.operands.reserve_stack(addresses, "arguments")?;
        for (value, number) in given.iter().zip(0..) {
            let slot = self.operands.reserve_stack(value.get_type(), "argument")?;
            self.ir().builder.build_store(slot, *value)?;
            let entry = self.ir().element_address(memory, number)?;
            self.ir().builder.build_store(entry, slot)?;
        }
        let (int, long) = (self.ir().context.i32_type(), self.ir().context.i64_type());
        let mut arguments =
            vec![self.operands.frame.ctx.into(), int.const_int(launch_number as u64, false).into()];
        for extent in launch.grid {
            let blocks = self.operands.index(extent)?;
            arguments.push(self.ir().builder.build_int_s_extend_or_bit_cast(blocks, long, "")?.into());
        }
        arguments.push(memory.into());
        self.ir().builder.build_call(self.ir().runtime_launch(), &arguments, "")?;
        Ok(())
    }
}
