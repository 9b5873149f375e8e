//! The header: edition, model and target.

use sched_grammar::ast::{ExprKind, Ident, ScheduleExpr, ScheduleFile, Span, StmtKind};

use super::quoted_list;
use crate::device;
use crate::diagnostics::{Applicability, Diagnostic, codes, nearest};
use crate::options::{CheckOptions, Target, TargetKind};
use crate::report::Report;
use crate::schedule::Header;

/// Existing editions of the language.
const EDITIONS: &[i64] = &[1];

/// Reads the header lines. The first of each kind counts.
pub(crate) fn header(file: &ScheduleFile, report: &mut Report) -> Header {
    let mut header = Header::default();
    let (mut edition, mut model, mut target) = (None, None, None);
    for stmt in &file.stmts {
        match &stmt.kind {
            StmtKind::Edition(expr) if is_first_line("sched", &mut edition, stmt.span, report) => {
                header.edition = read_edition(expr, report);
            }
            StmtKind::Model { path, fingerprint }
                if is_first_line("model", &mut model, stmt.span, report) =>
            {
                header.model = Some((path.value.clone(), path.span));
                header.fingerprint = fingerprint.as_ref().map(|s| (s.value.clone(), s.span));
            }
            StmtKind::Target { kind, options } if is_first_line("target", &mut target, stmt.span, report) => {
                header.target = read_target(kind, options, report);
                header.target_span = Some(stmt.span);
            }
            _ => {}
        }
    }
    header
}

/// Whether this is the first line of its kind. A later one is reported.
fn is_first_line(what: &str, earlier: &mut Option<Span>, span: Span, report: &mut Report) -> bool {
    if let Some(before) = *earlier {
        let diagnostic = Diagnostic::new(codes::HEADER_TWICE, span, format!("duplicate `{what}` line"))
            .label("duplicate")
            .and(before, "first here")
            .fix(format!("remove this `{what}` line"), span, "", Applicability::Unsure);
        report.push(diagnostic);
        return false;
    }
    *earlier = Some(span);
    true
}

fn read_edition(expr: &ScheduleExpr, report: &mut Report) -> Option<i64> {
    match expr.kind {
        ExprKind::Error => None,
        ExprKind::Int(n) if EDITIONS.contains(&n) => Some(n),
        _ => {
            let diagnostic = Diagnostic::new(codes::EDITION, expr.span, "unknown edition of the language")
                .label("known: 1")
                .help("Write `sched 1`, or leave the line out.")
                .fix("use edition 1", expr.span, "1", Applicability::Safe);
            report.push(diagnostic);
            None
        }
    }
}

fn read_target(kind: &Ident, given: &[Ident], report: &mut Report) -> Option<Target> {
    let options = given.iter().map(|option| option.text.clone()).collect();
    let kind = match kind.text.as_str() {
        "cpu" => TargetKind::Cpu,
        "gpu" => TargetKind::Gpu,
        other => {
            let mut diagnostic = Diagnostic::new(
                codes::UNKNOWN_WORD,
                kind.span,
                format!("`{other}` is not a target"),
            )
            .label("expected `cpu` or `gpu`")
            .help("Write `target cpu` or `target gpu`, with options in parentheses: `target cpu(avx512)`.");
            if let Some(near) = nearest(other, ["cpu", "gpu"]) {
                diagnostic =
                    diagnostic.fix(format!("write `{near}`"), kind.span, near, Applicability::Unsure);
            }
            report.push(diagnostic);
            return None;
        }
    };
    for option in given {
        report.extend(unknown_option(kind, &option.text, option.span));
    }
    Some(Target { kind, options })
}

/// Reports unknown words of the target that the caller gave.
pub(crate) fn given_target(options: &CheckOptions, report: &mut Report) {
    let Some(target) = &options.target else { return };
    for option in &target.options {
        report.extend(unknown_option(target.kind, option, Span::default()));
    }
}

fn unknown_option(kind: TargetKind, option: &str, span: Span) -> Option<Diagnostic> {
    let known = device::names(kind);
    if known.contains(&option) {
        return None;
    }
    let what = if kind == TargetKind::Gpu { "GPU" } else { "CPU" };
    let message = format!("unknown {what} `{option}`");
    let diagnostic = Diagnostic::new(codes::UNKNOWN_DEVICE, span, message).label("unknown").help(format!(
        "The known names are {}. Without a name, any {what} may be meant.",
        quoted_list(&known)
    ));
    let fixed = match nearest(option, known) {
        Some(near) if span.start < span.end => {
            diagnostic.fix(format!("write `{near}`"), span, near, Applicability::Unsure)
        }
        _ => diagnostic,
    };
    Some(fixed)
}
