//! The command `schedc.sweep`, which measures a schedule with several values of one of its numbers, and the
//! lenses and code actions that call it.

use std::ffi::OsString;
use std::sync::Arc;

use sched_grammar::ast::{Span, StmtKind};
use sched_lang::variations::number_at;
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeLens, Command, Position, ProgressToken, Uri,
};

use crate::convert::failed;
use crate::document::Snapshot;
use crate::models::ModelStatus;
use crate::pages::Pages;
use crate::progress;
use crate::state::ServerData;
use crate::subject::ScheduleWithModel;

/// Tries values of a number: `{uri, position, values?}` -> [`Sweep`](sweep).
pub const SWEEP: &str = "schedc.sweep";

/// LSP kind of the code action "Try values of this number".
pub const KIND: CodeActionKind = CodeActionKind::REFACTOR_REWRITE;

/// Whether the schedule can be measured: it has a model and no errors.
pub fn is_measurable(snapshot: &Snapshot) -> bool {
    matches!(snapshot.binding.status, ModelStatus::Loading | ModelStatus::Ready(_))
        && !snapshot.analysis.verdict().has_errors()
}

fn command(snapshot: &Snapshot, title: &str, at: usize) -> Command {
    let argument = json!({ "uri": snapshot.uri, "position": snapshot.text.position(at) });
    Command { title: title.to_owned(), command: SWEEP.to_owned(), arguments: Some(vec![argument]) }
}

/// The code lenses "try values of", one above each `param`.
pub fn lenses(snapshot: &Snapshot) -> Vec<CodeLens> {
    let params = snapshot.analysis.parsed().file.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Param { name, default, .. } => Some((stmt.span, name, default.span)),
        _ => None,
    });
    let lens = |(span, name, value): (Span, &sched_grammar::ast::Ident, Span)| {
        let title = format!("try values of {}", name.text);
        CodeLens {
            range: snapshot.text.range(span),
            command: Some(command(snapshot, &title, value.start as usize)),
            data: None,
        }
    };
    params.map(lens).collect()
}

/// The code action "Try values of this number". `None` if no number is at `span`, or if the schedule cannot
/// be measured.
pub fn action(snapshot: &Snapshot, span: Span) -> Option<CodeAction> {
    if !is_measurable(snapshot) {
        return None;
    }
    let number = number_at(&snapshot.analysis.parsed().file, span.start as usize)?;
    let title = format!("Try values of this number ({})", number.value);
    let command = command(snapshot, &title, number.span.start as usize);
    Some(CodeAction { title, kind: Some(KIND), command: Some(command), ..CodeAction::default() })
}

/// The number at an offset, as `schedc bench --sweep` names it, with its span. The name is that of its param,
/// or else its line and column.
fn named(snapshot: &Snapshot, offset: usize) -> Option<(String, Span)> {
    let file = &snapshot.analysis.parsed().file;
    let holds = |span: Span| span.start as usize <= offset && offset <= span.end as usize;
    let param = file.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Param { name, default, .. } if holds(default.span) => {
            Some((name.text.clone(), default.span))
        }
        _ => None,
    });
    param.or_else(|| {
        let number = number_at(file, offset)?;
        let before = snapshot.text.source().get(..number.span.start as usize)?;
        let line = before.rsplit('\n').next().unwrap_or_default();
        let place = format!("{}:{}", before.matches('\n').count() + 1, line.chars().count() + 1);
        Some((place, number.span))
    })
}

/// Tries values of the number at a position. The answer has the number's range, its value, and the time with
/// each tried value.
///
/// # Errors
///
/// There is no number, or the schedule cannot be measured.
pub async fn sweep(
    (shared, pages): (&Arc<ServerData>, &Arc<Pages>),
    uri: &Uri,
    position: Option<Position>,
    values: &[i64],
    token: Option<ProgressToken>,
) -> Result<Value> {
    let subject = ScheduleWithModel::of(shared, pages, uri)?;
    let snapshot = Arc::clone(&subject.snapshot);
    let offset = position.map(|position| snapshot.text.offset(position));
    let (name, span) = offset
        .and_then(|offset| named(&snapshot, offset))
        .ok_or_else(|| failed("there is no number at the cursor; put the cursor on a number"))?;
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    let given = if values.is_empty() { String::new() } else { format!("={}", values.join(",")) };
    let mut words: Vec<OsString> = ["bench", "-s", "-", "--json", "--sweep"].map(Into::into).to_vec();
    words.push(format!("{name}{given}").into());
    words.push(subject.model.clone().into_os_string());
    let task = Arc::clone(shared);
    let work = async move {
        let _permit = task.ledgers.permit().await?;
        subject.run_at_low_priority(words).await
    };
    let printed = progress::run(shared, work, token, format!("Trying values of {name}")).await?;
    let ledger: Value =
        serde_json::from_str(&printed).map_err(|error| failed(format!("schedc bench: {error}")))?;
    let mut tables = ledger["tables"].as_array().into_iter().flatten();
    let table = tables.find(|table| table["sweeps"][0].is_object());
    let table = table.ok_or_else(|| failed(format!("schedc bench returned no timings for `{name}`")))?;
    let mut answer = table["sweeps"][0].clone();
    answer["range"] = json!(snapshot.text.range(span));
    answer["version"] = json!(snapshot.version);
    for key in ["batch", "threads", "whole", "baselines"] {
        answer[key] = table[key].clone();
    }
    Ok(answer)
}
