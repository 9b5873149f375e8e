//! Working sets that are to be kept near and do not fit.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::legality::working_set;
use crate::lineage::{Annotation, NestBuilder};
use crate::options::TargetKind;
use sched_nest::LoopId;

/// On a GPU what does not fit is illegal; on a CPU it is only slow.
pub(super) fn check(builder: &NestBuilder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    if limits.kind != TargetKind::Cpu {
        return;
    }
    let annotations = &builder.node(id).annotations;
    let Some((_, step)) = annotations.iter().find(|(annotation, _)| matches!(annotation, Annotation::Cache))
    else {
        return;
    };
    if let Some(bytes) = working_set(builder, id).filter(|bytes| *bytes > limits.l2) {
        let problem = Problem::CacheTooLarge { bytes, limit: limits.l2 };
        problems.push(Illegal::argument(*step, 0, problem, vec![id]));
    }
}
