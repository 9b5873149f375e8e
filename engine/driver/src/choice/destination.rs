//! The use of compiled code, which decides how long compiling may take.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The effort for an artefact whose schedule schedc chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Fewer candidates and less code, which compiles in half the time and takes up to a fifth longer.
    Fast,
    /// The fastest code.
    #[default]
    Full,
}

impl Effort {
    /// The destination that code with this effort is chosen for.
    pub fn destination(self) -> CodeDestination {
        match self {
            Effort::Fast => CodeDestination::Memory,
            Effort::Full => CodeDestination::Artefact,
        }
    }
}

impl FromStr for Effort {
    type Err = String;

    fn from_str(text: &str) -> Result<Effort, String> {
        match text {
            "fast" => Ok(Effort::Fast),
            "full" => Ok(Effort::Full),
            _ => {
                Err("choose `fast`, which compiles in half the time, or `full`, which makes the fastest code"
                    .to_string())
            }
        }
    }
}

impl Display for Effort {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Effort::Fast => "fast",
            Effort::Full => "full",
        })
    }
}

/// The destination of compiled code and its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeDestination {
    /// Memory, for one call of this number of rows. Compile time counts as much as run time.
    OneCall(usize),
    /// Memory, for calls of unknown sizes.
    Memory,
    /// A file, which is compiled once and called often: code that takes longer to compile pays.
    Artefact,
}
