//! Words for illegal operations: what is wrong, what is to be seen, and the ways out.

mod alternatives;
mod annotations;
mod context;
mod device;
mod lints;
mod rewrites;
mod shape;

use crate::device::Limits;
use crate::diagnostics::Fix;
use crate::illegal::Illegal;
use crate::lineage::NestBuilder;
use crate::report::Report;
use context::{Context, Wording};

/// What ways out there can be.
pub(crate) struct WaysOut {
    /// What legal alternatives must respect, if they are to be looked for where the words offer nothing but to leave it
    /// out.
    pub limits: Option<Limits>,
    /// Whether the schedule is said to be for a CPU.
    pub for_cpu: bool,
}

/// Puts an illegal operation into words.
pub(crate) fn word(illegal: &Illegal, builder: &NestBuilder, report: &Report, ways_out: &WaysOut) -> Wording {
    let context = Context { illegal, builder, report, for_cpu: ways_out.for_cpu };
    let mut wording = words(&context);
    let deletes = |fix: &Fix| fix.edits.iter().all(|edit| edit.text.is_empty());
    if let Some(limits) = ways_out.limits.as_ref().filter(|_| wording.fixes.iter().all(deletes)) {
        wording.fixes.splice(0..0, alternatives::alternatives(&context, limits));
    }
    wording
}

fn words(context: &Context) -> Wording {
    shape::word(context)
        .or_else(|| annotations::word(context))
        .or_else(|| device::word(context))
        .or_else(|| lints::word(context))
        .unwrap_or_default()
}
