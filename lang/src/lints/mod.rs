//! Legal schedules that are probably unintended, and comments that silence lints.

mod cache;
mod lanes;
mod parallel;
mod unroll;
mod walks;
mod warps;

use sched_grammar::ast::{Comment, Span};

use crate::device::Limits;
use crate::diagnostics::{Applicability, Code, Diagnostic, Severity, codes};
use crate::illegal::Illegal;
use crate::legality::large_code;
use crate::lineage::NestBuilder;
use crate::report::Report;
use crate::resolve::NameScope;
use sched_nest::TreeOrder;

/// Reports lints of the names of a legal nest.
pub(crate) fn report_name_lints(scope: &NameScope, builder: &NestBuilder, report: &mut Report) {
    check_depth_positions(scope, builder, report);
    unused(scope, report);
}

/// Lints of the loops of a legal nest, as plain data.
pub(crate) fn problems(builder: &NestBuilder, limits: &Limits) -> Vec<Illegal> {
    let mut problems = Vec::new();
    let loops = builder.tree().loops();
    for id in loops.iter().copied() {
        walks::check(builder, id, &mut problems);
        lanes::check(builder, id, limits, &mut problems);
        parallel::check(builder, id, &mut problems);
        cache::check(builder, id, limits, &mut problems);
        warps::check(builder, id, limits, &mut problems);
    }
    walks::check_forest(builder, &mut problems);
    problems.extend(large_code(builder));
    problems.extend(parallel::one_blocks(builder, &loops, limits));
    problems.extend(unroll::many_copies(builder, &loops));
    problems
}

/// Lints of the loops of a legal nest of a stage, as plain data.
pub(crate) fn stage_problems(builder: &NestBuilder) -> Vec<Illegal> {
    builder.tree().loops().iter().flat_map(|id| walks::empty_lanes_of_stage(builder, *id)).collect()
}

fn unused(scope: &NameScope, report: &mut Report) {
    for (name, span, is_param) in scope.unused() {
        let kind = if is_param { "param" } else { "const" };
        let diagnostic = Diagnostic::new(codes::UNUSED, span, format!("nothing uses the {kind} `{name}`"))
            .label("not used")
            .help("Remove it, or use it in a directive.");
        report.push(diagnostic);
    }
}

/// Reports a tree position made of `trees_to_depth`, unless trees are sorted by depth or the shallow ones
/// come first anyway.
fn check_depth_positions(scope: &NameScope, builder: &NestBuilder, report: &mut Report) {
    let (Some((span, depth)), Some(model)) = (scope.trees_to_depth.get(), builder.model()) else { return };
    let count = usize::try_from(model.trees_to_depth(depth)).unwrap_or(0);
    let is_prefix = model.depths.iter().take(count).all(|d| i64::from(*d) <= depth);
    if builder.tree_order() == TreeOrder::ByDepth || is_prefix {
        return;
    }
    let message = format!(
        "{count} trees have a depth of at most {depth}, but they are not the first \
                           {count} trees"
    );
    let at = report.first_directive();
    let sort = report.line_before(at, "sortTrees(depth)");
    let diagnostic = Diagnostic::new(codes::UNSORTED_DEPTHS, span, message)
        .label("counts trees at any position")
        .help("Sort the trees first: `sortTrees(depth)`.")
        .fix("sort the trees first", at, &sort, Applicability::Unsure);
    report.push(diagnostic);
}

/// The diagnostics without those that a comment `allow(S0090)` silences. Errors cannot be silenced.
pub(crate) fn without_allowed(diagnostics: Vec<Diagnostic>, comments: &[Comment]) -> Vec<Diagnostic> {
    let allowed: Vec<(Span, Result<Code, &str>)> = comments.iter().flat_map(allows).collect();
    if allowed.is_empty() {
        return diagnostics;
    }
    let is_allowed = |diagnostic: &Diagnostic| {
        diagnostic.severity != Severity::Error && allowed.iter().any(|(_, code)| *code == Ok(diagnostic.code))
    };
    let mut rest: Vec<Diagnostic> =
        diagnostics.into_iter().filter(|diagnostic| !is_allowed(diagnostic)).collect();
    for (span, code) in &allowed {
        let why = match code {
            Err(text) => match codes::number(text) {
                Some(number) => format!("unknown code S{number:04}"),
                None => format!("`{text}` is not a code"),
            },
            Ok(code) if code.severity() == Severity::Error => {
                format!("{code} is an error and cannot be allowed")
            }
            Ok(_) => continue,
        };
        let diagnostic = Diagnostic::new(codes::ALLOWS_NOTHING, *span, why)
            .label("has no effect")
            .help("Write the code of a warning or hint: `allow(S0090)`.");
        rest.push(diagnostic);
    }
    rest.sort_by_key(|diagnostic| (diagnostic.span().start, diagnostic.code));
    rest
}

/// The codes in a comment's `allow(...)`, separated by commas.
fn allows(comment: &Comment) -> Vec<(Span, Result<Code, &str>)> {
    let Some((before, rest)) = comment.text.split_once("allow(") else { return Vec::new() };
    let Some((inside, _)) = rest.split_once(')') else { return Vec::new() };
    let mut at = comment.span.start as usize + before.len() + "allow(".len();
    let mut found = Vec::new();
    for part in inside.split(',') {
        let text = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        found.push((Span::new(start, start + text.len()), codes::find(text).ok_or(text)));
        at += part.len() + 1;
    }
    found
}
