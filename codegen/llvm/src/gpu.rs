//! The GPUs that code is generated for.

use crate::codes;
use crate::error::LlvmError;
use crate::runtime;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A GPU of NVIDIA, by its compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// Ten times the major number, plus the minor one: 90 for `sm_90`.
    capability: u32,
}

/// The oldest and the newest one that LLVM knows.
const KNOWN: (u32, u32) = (60, 90);

impl Gpu {
    /// The one that is compiled for where none is named: what most machines of the last years can run.
    pub const DEFAULT: Gpu = Gpu { capability: 80 };

    /// The first GPU of this machine, if it has one that code is made for.
    pub fn present() -> Option<Gpu> {
        let capability = runtime::capability(0)?;
        (capability >= KNOWN.0).then_some(Gpu { capability })
    }

    /// Ten times the major number of its compute capability, plus the minor one, as far as LLVM knows it.
    pub(crate) fn code(self) -> u32 {
        self.capability.min(KNOWN.1)
    }

    /// What LLVM calls it. A newer one than LLVM knows gets the code of the newest that it does: the driver
    /// translates that for it.
    pub(crate) fn llvm_name(self) -> String {
        format!("sm_{}", self.code())
    }

    /// The version of PTX that its code is written in.
    pub(crate) fn llvm_features(self) -> &'static str {
        if self.capability >= 89 { "+ptx78" } else { "+ptx70" }
    }
}

impl Default for Gpu {
    fn default() -> Gpu {
        Gpu::DEFAULT
    }
}

impl Display for Gpu {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "sm_{}", self.capability)
    }
}

impl FromStr for Gpu {
    type Err = LlvmError;

    fn from_str(text: &str) -> Result<Gpu, LlvmError> {
        let number = text.strip_prefix("sm_").and_then(|number| number.parse().ok());
        number
            .filter(|capability| (KNOWN.0..=200).contains(capability))
            .map(|capability| Gpu { capability })
            .ok_or_else(|| {
                LlvmError::new(codes::UNKNOWN_CPU, format!("there is no GPU `{text}` that code is made for"))
                    .with_help("name it as NVIDIA does, from sm_60 on: sm_80, sm_90")
            })
    }
}
