//! Caches of working sets that do not fit.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::legality::working_set;
use crate::lineage::{Annotation, NestBuilder};
use crate::options::TargetKind;
use sched_nest::LoopId;

/// Checks schedules for CPUs only. On a GPU, a cache that does not fit is illegal.
pub(super) fn check(builder: &NestBuilder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    if limits.kind != TargetKind::Cpu {
        return;
    }
    let caches = |annotation: &Annotation| matches!(annotation, Annotation::Cache);
    let Some(step) = builder.node(id).directive_of(caches) else { return };
    if let Some(bytes) = working_set(builder, id).filter(|bytes| *bytes > limits.l2) {
        let problem = Problem::CacheTooLarge { bytes, limit: limits.l2 };
        problems.push(Illegal::argument(step, 0, problem, vec![id]));
    }
}
