//! What a schedule is for.

use crate::diagnostics::{Diagnostic, codes};
use crate::directives::Op;
use crate::options::{Options, Target};
use crate::report::Report;
use crate::resolve::Call;
use crate::schedule::Header;

/// What the schedule is for: from the options, else from the header, else from the use of `gpuDimension`.
pub(super) fn target<'c>(
    header: &Header,
    options: &Options,
    calls: impl IntoIterator<Item = &'c Call>,
) -> Target {
    let given = options.target.clone().or_else(|| header.target.clone());
    given.unwrap_or_else(|| {
        let maps = calls.into_iter().any(|call| call.op == Op::GpuDimension);
        if maps { Target::gpu() } else { Target::cpu() }
    })
}

/// Says that a GPU cannot be compiled for, unless directives that need one have been reported.
pub(super) fn no_gpu_yet(header: &Header, report: &mut Report) {
    if report.has_errors() {
        return;
    }
    let span = header.target_span.unwrap_or_default();
    let diagnostic = Diagnostic::new(codes::NOT_LOWERED, span, "no code can be made for GPUs yet")
        .label("cannot be compiled yet")
        .help(
            "Write `target cpu`, or leave the line out; `schedc predict --simulate` runs it without a GPU.",
        );
    report.push(diagnostic);
}
