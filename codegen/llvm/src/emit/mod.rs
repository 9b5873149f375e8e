//! LIR to LLVM IR, statement by statement.
//!
//! A kernel becomes `void name(schedc_ctx *ctx)`. Its values are SSA values from the start: loops and
//! conditionals become blocks with phis. The body of a parallel loop becomes a separate function, `void
//! body(void *env, i64 i)`, whose environment holds the values that the body uses from outside. A statement
//! that kernels have in common becomes a function, too. Tables are reached through the context, so that
//! machine code neither contains the model nor depends on its address. A launch becomes a kernel of another
//! module (`launch.rs`).
//!
//! Files of a row use only those of the rows above:
//!
//! | files | type | knows |
//! |---|---|---|
//! | `ir`, `arithmetic`, `vector`, `intrinsics` | [`ir::IrBuilder`] | constants and instructions of LLVM |
//! | `math`, `exp`, `imports`, `annotations` | [`ir::IrBuilder`] | library functions, metadata of accesses |
//! | `device/` | [`device::Device`] | the parts of launches that depend on the machine |
//! | `frame`, `operands` | [`operands::OperandReader`] | LIR's values and buffers |
//! | `memory`, `gather`, `table` | [`memory::Memory`] | loads and stores, aliases, gathers, look-ups |
//! | `x86/`, `nvptx/` | [`isa::Isa`] | machine-specific forms of operations |
//! | `shared` | [`shared::SharedCode`] | statements that kernels have in common |
//! | `function`, `operations`, `control` | [`function::Emitter`] | statements |
//! | `alloc`, `parallel`, `shared_call`, `launch_call` | [`function::Emitter`] | memory and calls |
//! | `launch`, `artefact` | | modules |

mod alloc;
mod annotations;
mod arithmetic;
mod artefact;
mod artefact_gpu;
mod control;
mod device;
mod earlier;
mod exp;
mod exports;
mod frame;
mod function;
mod gather;
mod imports;
mod intrinsics;
mod ir;
mod isa;
mod launch;
mod launch_call;
mod launch_info;
mod marks;
mod math;
mod memory;
mod module;
mod nvptx;
mod operands;
mod operations;
mod parallel;
mod predicate;
mod product;
mod shared;
mod shared_call;
mod table;
mod ticket;
mod types;
mod vector;
mod x86;

pub(crate) use artefact::{ArtefactVersion, TablePlacement, emit_artefact};
pub(crate) use exports::{ENCODE_FUNCTION, EXPORTS, INTERFACE_SYMBOL};
pub(crate) use function::kernel_symbol;
pub(crate) use launch::LaunchKernel;
pub(crate) use launch_info::{LaunchInfo, launch_infos};
pub(crate) use marks::mark_assembly;

use crate::error::LlvmError;
use crate::session::Session;
use crate::target::LlvmMachine;
use function::{FunctionSource, KernelNames};
use inkwell::module::{Linkage, Module};
use module::empty_module;
use sched_ir::lir;
use shared::SharedCode;

/// Emits the wanted kernels of a LIR module, with external names, and nothing else.
pub(crate) fn emit_kernels<'ctx>(
    session: &'ctx Session,
    machine: &LlvmMachine,
    model: &lir::Module,
    wanted: &[lir::KernelKind],
) -> Result<Module<'ctx>, LlvmError> {
    let module = empty_module(session.context(), machine);
    let kernels = || model.kernels.iter().filter(|(kind, _)| wanted.contains(kind));
    let mut shared = SharedCode::of(kernels().map(|(_, function)| function));
    for (kind, function) in kernels() {
        let source = FunctionSource { machine, model, kind: *kind, function };
        let names = KernelNames { version: 0, linkage: Linkage::External };
        function::emit_kernel(session.context(), &module, source, (names, &mut shared))?;
    }
    Ok(module)
}

/// Emits all launches of a LIR module for a machine that runs them.
pub(crate) fn emit_launches<'ctx>(
    session: &'ctx Session,
    machine: &LlvmMachine,
    model: &lir::Module,
) -> Result<(Module<'ctx>, Vec<LaunchKernel>), LlvmError> {
    let module = empty_module(session.context(), machine);
    let launches = launch::emit_launch_kernels(session.context(), &module, machine, model)?;
    Ok((module, launches))
}
