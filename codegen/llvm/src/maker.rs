//! Makers of GPUs: LLVM's target for their GPUs, the form in which their drivers take code, and the side that
//! reserves shared memory.

use crate::machine_kind::MachineKind;
use inkwell::targets::RelocMode;
use sched_machines::Maker;

/// The form in which a driver takes code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageKind {
    /// PTX, ended by a NUL, which the drivers of the named GPU and of newer ones translate.
    Ptx,
    /// Machine code of one GPU, linked as an ELF file.
    CodeObject,
}

/// Properties of a maker's GPUs that code and its loading depend on.
#[derive(Clone, Copy)]
pub(crate) struct Platform {
    /// LLVM's triple.
    pub(crate) triple: &'static str,
    /// Relocation model of the code.
    pub(crate) reloc: RelocMode,
    /// Selects the translation of operations and the attributes of kernels.
    pub(crate) machine_kind: MachineKind,
    /// Form of the code in artefacts.
    pub(crate) image: ImageKind,
    /// Number of the driver in the C runtime, `SCHEDC_NVIDIA` or `SCHEDC_AMD`.
    pub(crate) driver_number: i32,
    /// Whether the host asks for a kernel's shared memory at each launch. Otherwise the kernel's metadata
    /// reserve it.
    pub(crate) host_requests_shared: bool,
}

impl Platform {
    pub(crate) fn of(maker: Maker) -> Platform {
        match maker {
            Maker::Nvidia => Platform {
                triple: "nvptx64-nvidia-cuda",
                reloc: RelocMode::Default,
                machine_kind: MachineKind::Nvptx,
                image: ImageKind::Ptx,
                driver_number: 0,
                host_requests_shared: true,
            },
            Maker::Amd => Platform {
                triple: "amdgcn-amd-amdhsa",
                reloc: RelocMode::PIC,
                machine_kind: MachineKind::AmdGpu,
                image: ImageKind::CodeObject,
                driver_number: 1,
                host_requests_shared: false,
            },
        }
    }
}
