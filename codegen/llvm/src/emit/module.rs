//! LLVM modules for a machine.

use crate::target::LlvmMachine;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;

/// Makes an empty LLVM module for a machine.
pub(super) fn empty_module<'ctx>(context: &'ctx Context, machine: &LlvmMachine) -> Module<'ctx> {
    let module = context.create_module("schedc");
    let target: &TargetMachine = &machine.llvm;
    module.set_triple(&target.get_triple());
    module.set_data_layout(&target.get_target_data().get_data_layout());
    module
}
