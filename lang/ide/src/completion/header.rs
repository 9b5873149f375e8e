//! Header lines: targets and their devices, values of params and consts.

use sched_grammar::ast::{Span, StmtKind};

use super::item::{Completion, CompletionKind};
use super::number::{functions, is_general, names};
use crate::ScheduleAnalysis;
use crate::cursor::{CallAt, Typed, is_name, word};
use crate::hover::{device_text, target_text};
use sched_lang::check::Outcome;
use sched_lang::device;
use sched_lang::diagnostics::Severity;
use sched_lang::options::TargetKind;
use sched_nest::sym::Sym;

/// Numbers that people give names to, the most usual first.
const USUAL_NUMBERS: [i64; 8] = [64, 32, 16, 8, 4, 2, 128, 256];
/// Longest text, in bytes, that is checked once for each usual number.
const MAX_TRIED_TEXT_BYTES: usize = 16 * 1024;

/// The completions after a header's keyword.
pub(super) fn complete(
    analysis: ScheduleAnalysis,
    keyword: &str,
    words: usize,
    typed: Typed,
) -> Vec<Completion> {
    match keyword {
        "target" if words == 0 => ["cpu", "gpu"]
            .map(|kind| {
                Completion::new(CompletionKind::Word, kind, typed.span)
                    .detail("target")
                    .documentation(target_text(kind).unwrap_or_default())
            })
            .to_vec(),
        "sched" if words == 0 => vec![
            Completion::new(CompletionKind::Word, "1", typed.span)
                .detail("edition")
                .documentation("The edition of the language."),
        ],
        "when" => condition(analysis, words, typed),
        "param" | "const" if words >= 2 => value(analysis, keyword, words, typed),
        _ => Vec::new(),
    }
}

/// The completions of a block's condition.
fn condition(analysis: ScheduleAnalysis, words: usize, typed: Typed) -> Vec<Completion> {
    let Some(stmt) = typed.stmt else { return Vec::new() };
    let after = typed.span.end as usize;
    let has_block =
        matches!(&stmt.kind, StmtKind::When(when) if (when.block.start as usize) < when.block.end as usize);
    let rest = if has_block { "" } else { " {\n    $0\n\\}" };
    let about = "The schedule in the block is for calls of at most this many rows.";
    let item = |label: &str, insert: String| {
        let item = Completion::new(CompletionKind::Property, label, typed.span);
        item.detail("the rows of a call").documentation(about).snippet(insert)
    };
    let left = analysis.source().get(stmt.span.start as usize..typed.span.start as usize);
    let left = left.unwrap_or_default().trim_end();
    let goes_on = analysis.source().get(after..).is_some_and(|rest| rest.trim_start().starts_with('<'));
    match words {
        0 if goes_on => vec![item("n_rows", "n_rows".to_owned())],
        0 => vec![item("n_rows <= 8", format!("n_rows <= 8{rest}"))],
        1 if left.ends_with("n_rows") && typed.span.start == typed.span.end && !goes_on => {
            vec![item("<= 8", format!("<= 8{rest}"))]
        }
        _ if left.ends_with(['=', '(', ',', '+', '-', '*', '/', '%']) => {
            let known = names(analysis, stmt.span.start as usize, typed.span).into_iter();
            let known = known.filter(|number| matches!(number.value, Some(Sym::Int(1..))));
            known.map(|number| number.item).chain(functions(typed.span)).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of a param or const, or what can follow it.
fn value(analysis: ScheduleAnalysis, keyword: &str, words: usize, typed: Typed) -> Vec<Completion> {
    let Some(stmt) = typed.stmt else { return Vec::new() };
    let left = analysis.source().get(stmt.span.start as usize..typed.span.start as usize);
    let before = left.unwrap_or_default().trim_end();
    let ends_operand = before.ends_with(|c: char| is_name(c) || c == ')');
    let has_choices = matches!(&stmt.kind, StmtKind::Param { choices, .. } if !choices.is_empty());
    if words > 2 && ends_operand {
        if keyword == "const" || has_choices || before.contains('{') {
            return Vec::new();
        }
        return choices(before, typed.span).into_iter().collect();
    }
    let known = names(analysis, stmt.span.start as usize, typed.span).into_iter();
    let known =
        known.filter(|number| number.value.as_ref().is_some_and(is_general)).map(|number| number.item);
    let numbers = if words == 2 { usual_numbers(analysis, stmt.span, typed.span) } else { Vec::new() };
    numbers.into_iter().chain(known).chain(functions(typed.span)).collect()
}

/// The set of values to try for a param whose text ends in `before`: its value with the half and the double
/// of it. The keyword `in` precedes the set, unless the text ends with it.
fn choices(before: &str, replace: Span) -> Option<Completion> {
    let (_, value) = before.split_once('=')?;
    let has_in = value.split_whitespace().next_back() == Some("in");
    let value = value.strip_suffix("in").filter(|_| has_in).unwrap_or(value).trim();
    let set = match value.parse::<i64>() {
        Ok(value) if value > 0 => {
            let least = if value % 2 == 0 { value / 2 } else { value };
            let values = [Some(least), least.checked_mul(2), least.checked_mul(4)];
            values.into_iter().flatten().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
        }
        _ => value.to_owned(),
    };
    let label = if has_in { format!("{{{set}}}") } else { "in".to_owned() };
    let insert = if has_in { label.clone() } else { format!("in {{{set}}}") };
    let item = Completion::new(CompletionKind::Keyword, label, replace)
        .detail("values worth trying")
        .documentation("The values that are worth trying, for tuning.");
    Some(Completion { insert, ..item })
}

/// Numbers for the whole value: the usual sizes that give the schedule the fewest errors and warnings.
fn usual_numbers(analysis: ScheduleAnalysis, declaration: Span, typed: Span) -> Vec<Completion> {
    let source = analysis.source();
    let left = source.get(declaration.start as usize..typed.start as usize).unwrap_or_default();
    if !left.trim_end().ends_with('=') || source.len() > MAX_TRIED_TEXT_BYTES {
        return Vec::new();
    }
    let (Some(before), Some(after)) =
        (source.get(..typed.start as usize), source.get(declaration.end.max(typed.end) as usize..))
    else {
        return Vec::new();
    };
    let problems = |number: &i64| {
        let text = format!("{before}{number}{after}");
        let checked = Outcome::brief_diagnostics(&text, (source, analysis.parsed()), analysis.options());
        checked.iter().filter(|diagnostic| diagnostic.severity > Severity::Hint).count()
    };
    let counted: Vec<(i64, usize)> = USUAL_NUMBERS.iter().map(|number| (*number, problems(number))).collect();
    let fewest = counted.iter().map(|(_, problems)| *problems).min();
    let best = counted.into_iter().filter(|(_, problems)| Some(*problems) == fewest);
    best.map(|(number, _)| {
        Completion::new(CompletionKind::Word, number.to_string(), typed)
            .documentation("A usual size, which suits what the schedule does with it.")
    })
    .collect()
}

/// The completions in the parentheses of a target.
pub(super) fn devices(analysis: ScheduleAnalysis, offset: usize, call: &CallAt) -> Vec<Completion> {
    let kind = match call.name {
        "cpu" => TargetKind::Cpu,
        "gpu" => TargetKind::Gpu,
        _ => return Vec::new(),
    };
    let is_word = |c: char| is_name(c) || c == '-';
    let replace = word(analysis.source(), offset, is_word);
    let given: Vec<&str> = call
        .arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != call.at)
        .map(|(_, span)| analysis.text(*span))
        .collect();
    let names = device::names(kind).into_iter().filter(|name| !given.contains(name));
    names
        .map(|name| {
            Completion::new(CompletionKind::Word, name, replace)
                .detail(if kind == TargetKind::Gpu { "GPU" } else { "CPU" })
                .documentation(device_text(name).unwrap_or_default())
        })
        .collect()
}
