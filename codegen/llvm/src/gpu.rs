//! GPUs that code is generated for.

use crate::codes;
use crate::error::LlvmError;
use crate::runtime;
use sched_machines::{GPUS, GpuKind, Maker};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A GPU that code is generated for: a row of the table of GPUs, or a device that is newer than its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    kind: &'static GpuKind,
    capability: u32,
}

impl Gpu {
    /// The default GPU of a maker, for which code is generated if no GPU is named and none is present.
    pub fn default_of(maker: Maker) -> Gpu {
        Gpu::of(GpuKind::default_of(maker))
    }

    fn of(kind: &'static GpuKind) -> Gpu {
        Gpu { kind, capability: kind.capability }
    }

    /// Returns the first GPU of this machine, if it is a GPU of NVIDIA for which code can be generated.
    pub fn installed() -> Option<Gpu> {
        let capability = runtime::capability(0)?;
        GpuKind::of_capability(capability).map(|kind| Gpu { kind, capability })
    }

    /// Its maker.
    pub fn maker(self) -> Maker {
        self.kind.maker
    }

    /// Returns ten times the major number of its compute capability, plus the minor one; 0 if it is AMD's.
    pub(crate) fn capability(self) -> u32 {
        self.capability
    }

    /// Compute capability of the code that LLVM generates for it: the number in its row's name in LLVM, since
    /// the driver translates code of older GPUs. 0 if it is AMD's.
    pub(crate) fn code_capability(self) -> u32 {
        let llvm_name = self.kind.llvm_name.strip_prefix("sm_");
        llvm_name.and_then(|capability| capability.parse().ok()).unwrap_or(0)
    }

    /// LLVM's name for it.
    pub(crate) fn llvm_name(self) -> &'static str {
        self.kind.llvm_name
    }

    /// Returns LLVM's name of the version of PTX for its code; empty for AMD's.
    pub(crate) fn llvm_features(self) -> &'static str {
        self.kind.llvm_features
    }
}

impl Default for Gpu {
    fn default() -> Gpu {
        Gpu::default_of(Maker::Nvidia)
    }
}

impl Display for Gpu {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.kind.maker {
            Maker::Nvidia => write!(f, "sm_{}", self.capability),
            Maker::Amd => f.write_str(self.kind.name),
        }
    }
}

impl FromStr for Gpu {
    type Err = LlvmError;

    fn from_str(text: &str) -> Result<Gpu, LlvmError> {
        GpuKind::named(text).map(Gpu::of).ok_or_else(|| {
            let names: Vec<&str> = GPUS.iter().map(|gpu| gpu.name).collect();
            LlvmError::new(codes::UNKNOWN_CPU, format!("unknown GPU `{text}`"))
                .with_help(format!("use one of {}", names.join(", ")))
        })
    }
}
