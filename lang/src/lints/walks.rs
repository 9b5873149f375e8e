//! Silly facts about walks.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated};
use crate::nest::LoopId;
use crate::report::Report;

pub(super) fn check(builder: &Builder, id: LoopId, report: &mut Report) {
    let deepest = builder.deepest;
    for (fact, step) in &builder.node(id).facts {
        let problem = match (fact, deepest) {
            (Stated::Interleave(Some(1)), _) => Problem::InterleaveOfOne,
            (Stated::UnrollWalk(depth), Some(deepest)) if *depth > deepest => {
                Problem::UnrollBeyond { depth: *depth, deepest }
            }
            _ => continue,
        };
        report.illegal(builder, &Illegal::argument(*step, 1, problem, vec![id]));
    }
}
