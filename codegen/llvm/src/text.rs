//! Generated code as text. It contains no model data: kernels reach the tables through the context.

use crate::codes;
use crate::emit::{self, LaunchInfo, emit_kernels, emit_launches};
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::maker::{ImageKind, Platform};
use crate::passes;
use crate::session::Session;
use crate::target::{Cpu, LlvmMachine};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use sched_ir::lir::{self, KernelKind};
use sched_machines::Maker;
use std::fmt::Write;

/// Returns the kernels of a module as LLVM IR, before or after LLVM's optimisations.
///
/// # Errors
/// As for compiling the module.
pub fn llvm_text(module: &lir::Module, cpu: Cpu, optimised: bool) -> Result<String, LlvmError> {
    let session = Session::new();
    let machine = LlvmMachine::new(cpu)?;
    let emitted = emit_kernels(&session, &machine, module, &kernel_kinds(module))?;
    passes::verify(&emitted)?;
    if optimised {
        passes::optimise(&emitted, &machine)?;
    }
    session.check()?;
    Ok(emitted.print_to_string().to_string())
}

/// Returns the kernels of a module as assembly.
///
/// # Errors
/// As for compiling the module.
pub fn asm_text(module: &lir::Module, cpu: Cpu) -> Result<String, LlvmError> {
    assembly(module, &LlvmMachine::new(cpu)?)
}

/// Returns the kernels of a module as assembly, with a comment wherever instructions of another loop of the
/// nest begin: its name, and the purpose of the instructions.
///
/// # Errors
/// As for compiling the module.
pub fn marked_asm_text(module: &lir::Module, cpu: Cpu) -> Result<String, LlvmError> {
    let machine = LlvmMachine { has_loop_marks: true, ..LlvmMachine::new(cpu)? };
    Ok(emit::mark_assembly(&assembly(module, &machine)?, module))
}

/// The kinds of all kernels of a module.
fn kernel_kinds(module: &lir::Module) -> Vec<KernelKind> {
    module.kernels.iter().map(|(kind, _)| *kind).collect()
}

fn assembly(module: &lir::Module, machine: &LlvmMachine) -> Result<String, LlvmError> {
    let session = Session::new();
    let emitted = emit_kernels(&session, machine, module, &kernel_kinds(module))?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, machine)?;
    let text = passes::generate_code(&session, emitted, machine, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(text.as_slice()).into_owned())
}

/// Describes the launches of a module: threads, shared memory, and the parameters of each kernel. Empty
/// without launches.
pub fn launch_text(module: &lir::Module) -> String {
    let mut text = String::new();
    for LaunchInfo { name, block: [x, y, z], shared_bytes, buffers, num_arguments, is_split } in
        emit::launch_infos(module)
    {
        let values = num_arguments as usize - buffers.len();
        let split = if is_split { ", in pieces of 65535 blocks in the directions y and z" } else { "" };
        let _ = writeln!(text, "launch {name}{split}");
        let _ = writeln!(text, "    block {x} x {y} x {z} threads, {shared_bytes} bytes of shared memory");
        let _ = writeln!(text, "    takes {} and {values} numbers", buffers.join(", "));
    }
    if let Some(transfer) = module.transfer {
        let _ = writeln!(text, "{transfer}");
    }
    text
}

/// Returns the launches of a module as PTX, the assembly that NVIDIA's drivers translate. Without launches,
/// the text has no kernels.
///
/// # Errors
/// As for compiling the module, and for GPUs of AMD.
pub fn ptx_text(module: &lir::Module, gpu: Gpu) -> Result<String, LlvmError> {
    check_maker(gpu, Maker::Nvidia)?;
    let text = launch_code(module, gpu, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(text.as_slice()).into_owned())
}

/// Returns the launches of a module as assembly for a GPU of AMD.
///
/// # Errors
/// As for compiling the module, and for GPUs of NVIDIA.
pub fn amdgpu_text(module: &lir::Module, gpu: Gpu) -> Result<String, LlvmError> {
    check_maker(gpu, Maker::Amd)?;
    let text = launch_code(module, gpu, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(text.as_slice()).into_owned())
}

/// Fails unless `maker` makes the GPU.
pub(crate) fn check_maker(gpu: Gpu, maker: Maker) -> Result<(), LlvmError> {
    if gpu.maker() == maker {
        return Ok(());
    }
    let (usual, other) = (maker.default_gpu(), gpu.maker());
    let (message, help) = match Platform::of(maker).image {
        ImageKind::CodeObject => (
            format!("{gpu} is not a GPU of {maker}"),
            format!("name a GPU of {maker}, such as {usual}; the code for {gpu} is PTX"),
        ),
        ImageKind::Ptx => (
            format!("there is no PTX for {gpu}, a GPU of {other}"),
            format!("name a GPU of {maker}, such as {usual}, or build a code object with --emit hsaco"),
        ),
    };
    Err(LlvmError::new(codes::UNKNOWN_CPU, message).with_help(help))
}

/// Generates the code of a module's launches for a GPU.
pub(crate) fn launch_code(
    module: &lir::Module,
    gpu: Gpu,
    file: FileType,
) -> Result<MemoryBuffer<'static>, LlvmError> {
    let session = Session::new();
    let machine = LlvmMachine::of_gpu(gpu)?;
    let (emitted, _) = emit_launches(&session, &machine, module)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, &machine)?;
    passes::generate_code(&session, emitted, &machine, file)
}
