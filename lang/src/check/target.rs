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

/// Threads of a block in the mapping that the message proposes.
const PROPOSED_THREADS: u32 = 128;

/// Warns of a schedule for GPUs that maps no loop, so that all of its calls run on the processor.
pub(super) fn report_unmapped<'c>(
    target: &Target,
    header: &Header,
    calls: impl Iterator<Item = &'c DirectiveCall>,
    report: &mut Report,
) {
    let calls: Vec<&DirectiveCall> = calls.collect();
    let maps = calls.iter().any(|call| call.op == DirectiveOp::GpuDimension);
    if !target.is_gpu() || maps || report.has_errors() {
        return;
    }
    let mapping = proposed_mapping(&calls);
    let (end, lines) = report.lines_at_end(&mapping);
    // The option replaces a target line for processors.
    let line = header.target_span.filter(|_| header.target.as_ref().is_some_and(Target::is_gpu));
    let for_processors = if line.is_some() { "" } else { " For a processor, compile for the target `cpu`." };
    let mut diagnostic = Diagnostic::new(
        codes::NOTHING_MAPPED,
        line.unwrap_or_default(),
        "the schedule is for GPUs, but maps no loop, so all calls run on the processor",
    )
    .label("no loop is mapped")
    // The fixes that a check accepts are named behind it.
    .help(format!("Map a loop over rows to blocks and one inside it to threads.{for_processors}"))
    .fix(format!("write `{}` at the end", mapping.join("; ")), end, &lines, Applicability::Unsure);
    if let Some(span) = line {
        diagnostic = diagnostic.fix("write `target cpu`", span, "target cpu", Applicability::Unsure);
    }
    report.push(diagnostic);
}

/// Directives that map loops over rows: those that a tile of `batch` has made, or those of a new tile.
fn proposed_mapping(calls: &[&DirectiveCall]) -> Vec<String> {
    let of_rows = |call: &&&DirectiveCall| {
        let tiled = call.selects().next().map(|(_, select)| select.to_string());
        call.op == DirectiveOp::Tile && tiled.as_deref() == Some("batch")
    };
    let made = calls.iter().find(of_rows).map(|call| call.new_names().collect::<Vec<_>>());
    let (outer, inner, tile) = match made.as_deref() {
        Some([outer, inner]) => (*outer, *inner, None),
        _ => ("b0", "b1", Some(format!("tile(batch, b0, b1, {PROPOSED_THREADS})"))),
    };
    let maps = [format!("gpuDimension({outer}, grid.x)"), format!("gpuDimension({inner}, block.x)")];
    tile.into_iter().chain(maps).collect()
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
