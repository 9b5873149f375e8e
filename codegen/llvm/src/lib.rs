//! The LLVM back end: LIR to machine code, in this process or in artefacts.
//!
//! `emit` translates LIR to LLVM IR, `passes` optimises it and generates code for a `target`. The code is
//! then loaded into this process ([`Jit`]), linked with the small C runtime into an artefact ([`build`]), or
//! printed ([`llvm_text`], [`asm_text`]). Code in memory and artefacts have the same entry points, those of
//! [`runtime`].
//!
//! Nothing here prints or ends the process: failures are [`LlvmError`]s.

mod about;
mod aot;
pub mod codes;
pub mod column;
mod device;
mod emit;
mod entry_info;
mod error;
mod gpu;
pub mod header;
mod host_launch;
mod host_thread;
mod hsaco;
mod jit;
mod library;
mod link;
#[cfg(feature = "lld")]
mod lld;
mod machine_kind;
mod maker;
mod memory;
mod metadata;
mod options;
mod orc;
mod packed;
mod passes;
mod ptxas;
pub mod runtime;
mod session;
mod system;
mod tables;
mod target;
mod text;
mod tools;
mod transfer;

pub use about::{LlvmInfo, llvm_info};
pub use aot::{
    ArtefactForm, ArtefactName, ArtefactOptions, ModelVersion, build, build_named, build_versions,
};
pub use device::DeviceCode;
pub use entry_info::EntryInfo;
pub use error::LlvmError;
pub use gpu::Gpu;
#[doc(hidden)]
pub use host_launch::{HostKernel, HostKernelFn, HostLaunches, host_launch_object};
#[doc(hidden)]
pub use host_thread::HostThread;
pub use hsaco::{CodeObject, code_object};
pub use jit::Jit;
pub use library::Library;
pub use memory::on_allocation_failure;
pub use metadata::CodeObjectKernel;
pub use packed::{CompiledCode, PackedResults, PackedRows, PredictOptions};
pub use ptxas::{Cubin, KernelResources, Nvdisasm, Ptxas, sass_text};
pub use target::{Cpu, host_cpu_name};
pub use text::{amdgpu_text, asm_text, launch_text, llvm_text, marked_asm_text, ptx_text};
pub use tools::abandon_tools;
