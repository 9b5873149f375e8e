//! Passes from an emitted module to machine code.

use crate::codes;
use crate::error::LlvmError;
use crate::options::{SwitchUser, Switches};
use crate::session::Session;
use crate::target::LlvmMachine;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;
use sched_diagnostics::internal;

/// Optimisations. The loops of LIR are tiled, unrolled, interleaved and vectorised as the schedule says. LLVM
/// therefore only removes redundancy and moves invariants out of loops. Its own unroller and vectorisers are
/// left out, because they undo the schedule and cost compile time. Instructions are combined once: two more
/// passes took a tenth of the compile time and left the code as it was.
const OPTIMISATIONS: &str = "function(\
    sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-mssa(loop-rotate,licm<allowspeculation>),\
    early-cse<memssa>,dse,adce,simplifycfg)";

/// Infers the alignment of pointers in code for GPUs, which loads a word as single bytes unless it knows that
/// the word is aligned.
const ALIGNMENT_INFERENCE: &str = "function(infer-alignment)";

/// Verifies an emitted module; LLVM may crash on a module that fails here.
pub(crate) fn verify(module: &Module) -> Result<(), LlvmError> {
    module.verify().map_err(|message| {
        LlvmError::new(
            internal::REJECTED,
            format!("LLVM rejects the generated code: {}", message.to_string().trim()),
        )
        .with_help(internal::BUG_REPORT_HELP)
    })
}

/// Runs the optimisations.
pub(crate) fn optimise(module: &Module, machine: &LlvmMachine) -> Result<(), LlvmError> {
    let run = |passes| {
        module
            .run_passes(passes, &machine.llvm, PassBuilderOptions::create())
            .map_err(|message| LlvmError::new(codes::CODE_GENERATION, message.to_string()))
    };
    run(OPTIMISATIONS)?;
    if machine.kind.is_x86() { Ok(()) } else { run(ALIGNMENT_INFERENCE) }
}

/// Generates an object file or assembly. It consumes the module, because code generation rewrites it.
pub(crate) fn generate_code(
    session: &Session,
    module: Module,
    machine: &LlvmMachine,
    file: FileType,
) -> Result<MemoryBuffer<'static>, LlvmError> {
    let _switches = Switches::hold(SwitchUser::generating(machine.kind));
    let buffer = machine
        .llvm
        .write_to_memory_buffer(&module, file)
        .map_err(|message| LlvmError::new(codes::CODE_GENERATION, message.to_string()))?;
    session.check()?;
    Ok(buffer)
}
