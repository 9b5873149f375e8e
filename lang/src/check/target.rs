//! Target of a schedule.

use sched_grammar::ast::{ScheduleFile, ScheduleStmt, Span, StmtKind};

use crate::diagnostics::{Applicability, Diagnostic, codes};
use crate::directives::{DirectiveOp, find};
use crate::options::{CheckOptions, Target};
use crate::report::Report;
use crate::resolve::DirectiveCall;
use crate::schedule::Header;

/// Target: from the options, else from the header, else from the use of `gpuDimension`.
pub(super) fn target<'c>(
    header: &Header,
    options: &CheckOptions,
    calls: impl IntoIterator<Item = &'c DirectiveCall>,
) -> Target {
    let given = options.target.clone().or_else(|| header.target.clone());
    given.unwrap_or_else(|| {
        let maps = calls.into_iter().any(|call| call.op == DirectiveOp::GpuDimension);
        if maps { Target::gpu() } else { Target::cpu() }
    })
}

/// Reports that `gpuDimension` alone makes the schedule one for GPUs.
pub(super) fn report_implied(
    target: &Target,
    header: &Header,
    options: &CheckOptions,
    file: &ScheduleFile,
    report: &mut Report,
) {
    let is_given = options.target.is_some() || header.target.is_some();
    let Some(span) = first_mapping(&file.stmts).filter(|_| target.is_gpu() && !is_given) else { return };
    let at = report.end_of_header();
    let line = report.line_before(at, "target gpu");
    let message = "without a `target` line, `gpuDimension` makes this a schedule for GPUs";
    let diagnostic = Diagnostic::new(codes::NO_TARGET, span, message)
        .label("maps a loop to a GPU")
        .help(
            "Its code needs a GPU. Write `target gpu` if that is intended; for a CPU, use `parallel` and \
             `vectorize` instead.",
        )
        .fix("write `target gpu`", at, &line, Applicability::Safe);
    report.push(diagnostic);
}

/// The first `gpuDimension` of a text.
fn first_mapping(stmts: &[ScheduleStmt]) -> Option<Span> {
    let is_mapping =
        |name: &str| find(name).is_some_and(|signature| signature.op == DirectiveOp::GpuDimension);
    stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Directive(directive) if is_mapping(&directive.name.text) => Some(stmt.span),
        StmtKind::When(block) => block.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Directive(directive) if is_mapping(&directive.name.text) => Some(stmt.span),
            _ => None,
        }),
        _ => None,
    })
}
