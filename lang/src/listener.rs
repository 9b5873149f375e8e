//! Who is told of problems: a report, which finds words for them, or a tally, which only counts.

use crate::illegal::Illegal;
use crate::lineage::NestBuilder;

/// Is told what is wrong with an operation.
pub(crate) trait Listener {
    /// The operation has this problem on the nest as it stands.
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal);

    /// This many loops have been made or looked at.
    fn spend(&mut self, _work: usize) {}

    /// Whether nothing more needs to be told.
    fn has_enough(&self) -> bool {
        false
    }
}
