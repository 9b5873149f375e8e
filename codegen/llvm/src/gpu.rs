//! The GPUs that code is generated for.

use crate::codes;
use crate::error::LlvmError;
use crate::runtime;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A GPU of NVIDIA, by its compute capability, or one of AMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Ten times the major number, plus the minor one: 90 for `sm_90`.
    Nvidia(u32),
    Amd(&'static str),
}

/// The oldest and the newest one of NVIDIA that LLVM knows.
const KNOWN: (u32, u32) = (60, 90);

/// Those of AMD: MI200, MI300, and Radeon RX 7900.
const AMD: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

impl Gpu {
    /// The one that is compiled for where none is named: what most machines of the last years can run.
    pub const DEFAULT: Gpu = Gpu { kind: Kind::Nvidia(80) };

    /// The same of AMD's.
    pub const DEFAULT_AMD: Gpu = Gpu { kind: Kind::Amd(AMD[0]) };

    /// The first GPU of this machine, if it has one of NVIDIA's that code is made for.
    pub fn present() -> Option<Gpu> {
        let capability = runtime::capability(0)?;
        (capability >= KNOWN.0).then_some(Gpu { kind: Kind::Nvidia(capability) })
    }

    /// Ten times the major number of its compute capability, plus the minor one; 0 if it is not NVIDIA's.
    pub(crate) fn capability(self) -> u32 {
        match self.kind {
            Kind::Nvidia(capability) => capability,
            Kind::Amd(_) => 0,
        }
    }

    /// The same, or that of the newest one that LLVM knows.
    pub(crate) fn code(self) -> u32 {
        self.capability().min(KNOWN.1)
    }

    /// Whether AMD makes it. Else NVIDIA does.
    pub fn is_amd(self) -> bool {
        matches!(self.kind, Kind::Amd(_))
    }

    /// What LLVM calls it. A newer one of NVIDIA than LLVM knows gets the code of the newest that it does: the driver
    /// translates that for it.
    pub(crate) fn llvm_name(self) -> String {
        match self.kind {
            Kind::Nvidia(capability) => format!("sm_{}", capability.min(KNOWN.1)),
            Kind::Amd(name) => name.to_string(),
        }
    }

    /// The version of PTX that its code is written in, if it is.
    pub(crate) fn llvm_features(self) -> &'static str {
        match self.kind {
            Kind::Nvidia(capability) if capability >= 89 => "+ptx78",
            Kind::Nvidia(_) => "+ptx70",
            Kind::Amd(_) => "",
        }
    }
}

impl Default for Gpu {
    fn default() -> Gpu {
        Gpu::DEFAULT
    }
}

impl Display for Gpu {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.kind {
            Kind::Nvidia(capability) => write!(f, "sm_{capability}"),
            Kind::Amd(name) => f.write_str(name),
        }
    }
}

impl FromStr for Gpu {
    type Err = LlvmError;

    fn from_str(text: &str) -> Result<Gpu, LlvmError> {
        let nvidia = || {
            let capability: u32 = text.strip_prefix("sm_")?.parse().ok()?;
            (KNOWN.0..=200).contains(&capability).then_some(Kind::Nvidia(capability))
        };
        let amd = || AMD.into_iter().find(|name| *name == text).map(Kind::Amd);
        nvidia().or_else(amd).map(|kind| Gpu { kind }).ok_or_else(|| {
            LlvmError::new(codes::UNKNOWN_CPU, format!("there is no GPU `{text}` that code is made for"))
                .with_help(format!(
                    "name one of NVIDIA's from sm_60 on, such as sm_80 or sm_90, or {}",
                    AMD.join(", ")
                ))
        })
    }
}
