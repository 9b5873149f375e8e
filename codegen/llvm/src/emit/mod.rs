//! LIR to LLVM IR, statement by statement.
//!
//! A kernel becomes `void name(schedc_ctx *ctx)`. Its values are SSA values from the start: loops and choices
//! become blocks with phis. The body of a parallel loop becomes a function of its own, `void body(void *env,
//! i64 i)`, whose environment holds what the body uses from outside. Tables are reached through the context,
//! so that machine code neither contains the model nor depends on where it lies.
//!
//! What one kind of machine does better than LLVM's general form is in a folder of its own, behind
//! [`isa::Isa`]. Launches become kernels of a module of their own (`launch.rs`); what only the machines that run them
//! have is behind [`device::Device`].

mod artefact;
mod artefact_gpu;
mod control;
mod device;
mod exp;
mod exports;
mod frame;
mod function;
mod gather;
mod imports;
mod intrinsics;
mod isa;
mod launch;
mod launch_call;
mod marks;
mod memory;
mod nvptx;
mod ops;
mod parallel;
mod predicate;
mod table;
mod types;
mod uses;
mod vector;
mod x86;

pub(crate) use artefact::{Compiled, Data, emit_artefact};
pub(crate) use exports::{ENCODE, EXPORTS, INTERFACE};
pub(crate) use function::kernel_name;
pub(crate) use launch::{EmittedLaunch, emit_launches};
pub(crate) use launch_call::{LaunchInfo, launches};
pub(crate) use marks::marked;

use crate::error::LlvmError;
use crate::session::Session;
use crate::target::{Machine, MachineKind};
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use isa::{Isa, Portable};
use nvptx::Nvptx;
use sched_ir::lir;
use x86::X86;

/// What a machine does in its own way.
fn isa(machine: &Machine) -> Box<dyn Isa> {
    match machine.kind {
        MachineKind::X86 => Box::new(X86::new(machine.needs, machine.gathers_slowly)),
        MachineKind::Nvptx => Box::new(Nvptx::default()),
        MachineKind::AmdGpu | MachineKind::Host => Box::new(Portable),
    }
}

/// An empty LLVM module for a machine.
fn module<'ctx>(session: &'ctx Session, machine: &Machine) -> Module<'ctx> {
    let module = session.context().create_module("schedc");
    let target: &TargetMachine = &machine.llvm;
    module.set_triple(&target.get_triple());
    module.set_data_layout(&target.get_target_data().get_data_layout());
    module
}

/// Emits the wanted kernels of a LIR module, with external names, and nothing else.
pub(crate) fn emit_kernels<'ctx>(
    session: &'ctx Session,
    machine: &Machine,
    source: &lir::Module,
    wanted: &[lir::KernelKind],
) -> Result<Module<'ctx>, LlvmError> {
    let module = module(session, machine);
    for (kind, function) in source.kernels.iter().filter(|(kind, _)| wanted.contains(kind)) {
        let how = (0, Linkage::External);
        function::emit(session.context(), &module, machine, source, *kind, function, how)?;
    }
    Ok(module)
}
