//! Working sets that are to be kept near and do not fit.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::legality::working_set;
use crate::lineage::{Builder, Stated};
use crate::options::TargetKind;
use sched_nest::LoopId;

/// On a GPU what does not fit is illegal; on a CPU it is only slow.
pub(super) fn check(builder: &Builder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    if limits.kind != TargetKind::Cpu {
        return;
    }
    let facts = &builder.node(id).facts;
    let Some((_, step)) = facts.iter().find(|(fact, _)| matches!(fact, Stated::Cache)) else { return };
    if let Some(bytes) = working_set(builder, id).filter(|bytes| *bytes > limits.l2) {
        let problem = Problem::CacheTooLarge { bytes, limit: limits.l2 };
        problems.push(Illegal::argument(*step, 0, problem, vec![id]));
    }
}
