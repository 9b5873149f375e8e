//! The memory of the rows of timed calls.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The memory that has the rows and the results of timed calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowMemory {
    /// The host's. The time of a call on a GPU includes the transfers of rows and results.
    #[default]
    Host,
    /// A GPU's. The time of a call is that of its kernels.
    Device,
}

impl RowMemory {
    /// All of them.
    pub const ALL: [RowMemory; 2] = [RowMemory::Host, RowMemory::Device];

    /// The word for it on the command line, in locks and in JSON. Serialization writes the same word.
    pub const fn word(self) -> &'static str {
        match self {
            RowMemory::Host => "host",
            RowMemory::Device => "device",
        }
    }
}

impl Display for RowMemory {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for RowMemory {
    type Err = ();

    fn from_str(word: &str) -> Result<RowMemory, ()> {
        RowMemory::ALL.into_iter().find(|memory| memory.word() == word).ok_or(())
    }
}
