//! Hovers: text about the word under the cursor, as Markdown.

mod answer;
mod comment;
mod directive;
mod header;
mod index;
mod loops;
mod number;
mod stage;

pub use answer::Hover;
use answer::touches;

pub(super) use header::{device as device_text, target as target_text};
pub(super) use number::{function, named, property as property_text, property_meaning, property_value};

use sched_grammar::ast::{Directive, ExprKind, Path, ScheduleStmt, StmtKind};
use sched_nest::Layout;

use super::{Analysis, ScheduleAnalysis};
use sched_lang::directives::{DirectiveOp, Parameter, Role, Signature, find};

/// Text about the word at `offset`; between two words, about the second.
pub fn hover(analysis: &Analysis, offset: usize) -> Option<Hover> {
    if let Some(comment) = analysis.comment_at(offset) {
        return comment::hover(comment, offset);
    }
    let stmt = analysis.statement_at(offset)?;
    let analysis = analysis.schedule_at(offset);
    match &stmt.kind {
        StmtKind::Directive(directive) if touches(directive.name.span, offset) => {
            directive::hover(analysis, stmt, directive)
        }
        StmtKind::Directive(directive) => in_arguments(analysis, stmt, directive, offset),
        StmtKind::Param { name, .. } | StmtKind::Const { name, .. } if touches(name.span, offset) => {
            number::declaration_hover(analysis, name)
        }
        StmtKind::Param { default, choices, .. } => {
            let mut values = std::iter::once(default).chain(choices);
            let word = values.rfind(|expr| touches(expr.span, offset));
            word.and_then(|expr| number::expression(analysis, expr, offset))
                .or_else(|| header::keyword(analysis, stmt, offset))
        }
        StmtKind::Const { value, .. } if touches(value.span, offset) => {
            number::expression(analysis, value, offset)
        }
        StmtKind::When(when) => {
            let mut sides = [&when.left, &when.right].into_iter();
            let side = sides.rfind(|expr| touches(expr.span, offset));
            side.and_then(|expr| number::expression(analysis, expr, offset))
                .or_else(|| header::block(analysis, stmt, when, offset))
        }
        StmtKind::Error => {
            directive::unfinished(analysis, stmt, offset).or_else(|| header::hover(analysis, stmt, offset))
        }
        _ => header::hover(analysis, stmt, offset),
    }
}

fn in_arguments(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    directive: &Directive,
    offset: usize,
) -> Option<Hover> {
    let signature = find(&directive.name.text);
    let (at, expr) = directive.args.iter().enumerate().rfind(|(_, arg)| touches(arg.span, offset))?;
    let parameter = signature.and_then(|signature| parameter(signature, directive, at));
    match (parameter.map(|parameter| parameter.role), &expr.kind) {
        (Some(Role::Index) | None, ExprKind::Path(path)) => number::in_brackets(analysis, path, offset)
            .or_else(|| index::use_hover(analysis, stmt, at, path, offset)),
        (Some(Role::NewIndex), ExprKind::Path(path)) => index::declaration_hover(analysis, stmt, path),
        (Some(Role::Keyword(words)), ExprKind::Path(path)) => {
            keyword_hover(signature?, words, path, analysis)
        }
        (Some(Role::Number), _) => number::argument(analysis, stmt, at, expr, offset),
        _ => None,
    }
}

/// The parameter of an argument.
pub(super) fn parameter(
    signature: &'static Signature,
    directive: &Directive,
    at: usize,
) -> Option<&'static Parameter> {
    let skipped = usize::from(signature.op == DirectiveOp::Representation && directive.args.len() == 1);
    let last = signature.parameters.len().checked_sub(1)?;
    let at = if signature.repeats { at.min(last) } else { at + skipped };
    signature.parameters.get(at)
}

/// Hover of a keyword argument, such as `sparse` or `grid.x`.
fn keyword_hover(
    signature: &Signature,
    words: &[&str],
    path: &Path,
    analysis: ScheduleAnalysis,
) -> Option<Hover> {
    let text = analysis.text(path.span);
    if !words.contains(&text) {
        return None;
    }
    let others: Vec<String> = words.iter().filter(|word| **word != text).map(|w| format!("`{w}`")).collect();
    let mut markdown = format!("`{text}`: {}", word_meaning(text));
    if !others.is_empty() {
        markdown.push_str(&format!("\n\nOther words for `{}`: {}.", signature.name, others.join(", ")));
    }
    Some(Hover::new(path.span, markdown).page(format!("directives/{}", signature.name)))
}

/// The meaning of a keyword of the header.
pub(super) fn header_meaning(word: &str) -> Option<&'static str> {
    header::meaning(word).map(|(text, _)| text)
}

/// The meaning of a word of a directive, in one sentence.
pub(super) fn word_meaning(word: &str) -> &'static str {
    if let Ok(layout) = word.parse::<Layout>() {
        return layout.meaning();
    }
    match word {
        "grid.x" | "grid.y" | "grid.z" => "each iteration is a block of the GPU's grid.",
        "block.x" | "block.y" | "block.z" => "each iteration is a thread of a GPU block.",
        "depth" => "by depth, shallowest first; equally deep trees keep their order.",
        "uniform" => "tiles are filled level by level.",
        "probability" => "tiles follow the leaves that are reached most often.",
        _ => "a word of this directive.",
    }
}
