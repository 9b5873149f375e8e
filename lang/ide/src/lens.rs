//! Commands above the first line of a schedule.

use sched_grammar::ast::Span;

use super::Analysis;

/// A command to show above a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lens {
    /// Span of the statement below the lens.
    pub span: Span,
    /// The kind of command.
    pub kind: LensKind,
}

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LensKind {
    /// Shows the loop nest.
    ShowNest,
    /// Compiles the schedule.
    Build,
    /// Measures the schedule.
    Bench,
}

/// The commands of a schedule. Commands that need code appear only for a schedule without errors. A text
/// without statements has no commands.
pub fn code_lenses(analysis: &Analysis) -> Vec<Lens> {
    let Some(first) = analysis.parsed().file.stmts.first() else { return Vec::new() };
    let can_build = !analysis.verdict().has_errors();
    let kinds: &[LensKind] = if can_build {
        &[LensKind::ShowNest, LensKind::Build, LensKind::Bench]
    } else {
        &[LensKind::ShowNest]
    };
    kinds.iter().map(|kind| Lens { span: first.span, kind: *kind }).collect()
}
