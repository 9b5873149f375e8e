//! Problems of an operation, as plain data. A search over schedules can discard illegal ones without
//! formatting a string. [`crate::diagnostics`] puts them into words.

use crate::lineage::DirectiveIndex;
pub use crate::needs::{SharedMemoryUse, StageLanesFault, TensorFault, TermOrderFault, UnrollAndJamNeeds};
pub use crate::problem::Problem;
pub use crate::size::CodeSize;
use sched_nest::LoopId;

/// A refused operation, or a legal one with a remark.
#[derive(Clone, Debug, PartialEq)]
pub struct Illegal {
    /// The operation.
    pub step: DirectiveIndex,
    /// Position of the argument at fault; `None` if the whole operation is at fault.
    pub argument: Option<usize>,
    /// The problem.
    pub problem: Problem,
    /// The loops concerned. For an unknown name, the loops that it could mean.
    pub loops: Vec<LoopId>,
}

impl Illegal {
    /// A problem with a whole operation.
    pub fn at(step: DirectiveIndex, problem: Problem, loops: Vec<LoopId>) -> Self {
        Illegal { step, argument: None, problem, loops }
    }

    /// A problem with one argument.
    pub fn argument(step: DirectiveIndex, argument: usize, problem: Problem, loops: Vec<LoopId>) -> Self {
        Illegal { step, argument: Some(argument), problem, loops }
    }
}
