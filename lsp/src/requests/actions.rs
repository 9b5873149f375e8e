//! `textDocument/codeAction`.

use std::sync::Arc;

use sched_ide::{self as ide, ActionKind};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Diagnostic,
    NumberOrString,
};

use super::{commands, ledger, model, sweep};
use crate::convert::workspace_edit;
use crate::document::Snapshot;
use crate::state::ServerData;

/// The kinds of code actions that the server offers.
pub fn kinds() -> Vec<CodeActionKind> {
    vec![
        CodeActionKind::QUICKFIX,
        CodeActionKind::REFACTOR_EXTRACT,
        CodeActionKind::REFACTOR_INLINE,
        sweep::KIND,
        CodeActionKind::SOURCE_FIX_ALL,
        commands::CHOOSE_KIND,
        commands::TUNE_KIND,
    ]
}

/// The actions for a range: fixes, refactorings, and all safe fixes at once.
pub async fn actions(
    shared: &Arc<ServerData>,
    params: &CodeActionParams,
) -> Result<Option<CodeActionResponse>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let abilities = shared.lock().abilities;
    if !abilities.code_actions {
        return Ok(None);
    }
    let span = snapshot.text.span(params.range);
    let is_wanted = |kind: &CodeActionKind| {
        let only = params.context.only.as_ref();
        only.is_none_or(|only| only.iter().any(|wanted| contains(wanted, kind)))
    };
    let mut offered = Vec::new();
    if is_wanted(&CodeActionKind::QUICKFIX) {
        let meant = model::similar_models(shared, &snapshot).await;
        let fixes = model::fixes(&snapshot, span, &meant, (abilities, &params.context.diagnostics));
        offered.extend(fixes.into_iter().map(CodeActionOrCommand::CodeAction));
    }
    for action in ide::code_actions(&snapshot.analysis, span) {
        let kind = kind(action.kind);
        if !is_wanted(&kind) {
            continue;
        }
        let fixed = action.fixes.and_then(|at| fixed_diagnostic(&snapshot, at, &params.context.diagnostics));
        offered.push(CodeActionOrCommand::CodeAction(CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: fixed.map(|diagnostic| vec![diagnostic]),
            edit: Some(workspace_edit(&snapshot, &action.edits, abilities)),
            is_preferred: action.preferred.then_some(true),
            ..CodeAction::default()
        }));
    }
    let offer = ledger::known_offer(shared, &snapshot);
    let measuring =
        sweep::action(&snapshot, span).into_iter().chain(commands::schedule_actions(&snapshot, offer));
    let measuring = measuring.filter(|action| action.kind.as_ref().is_some_and(is_wanted));
    offered.extend(measuring.map(CodeActionOrCommand::CodeAction));
    Ok(Some(offered))
}

fn kind(kind: ActionKind) -> CodeActionKind {
    match kind {
        ActionKind::QuickFix => CodeActionKind::QUICKFIX,
        ActionKind::RefactorExtract => CodeActionKind::REFACTOR_EXTRACT,
        ActionKind::RefactorInline => CodeActionKind::REFACTOR_INLINE,
        ActionKind::SourceFixAll => CodeActionKind::SOURCE_FIX_ALL,
    }
}

/// Whether `kind` is the wanted kind or a part of it, as `source.fixAll` is a part of `source`.
fn contains(wanted: &CodeActionKind, kind: &CodeActionKind) -> bool {
    let (wanted, kind) = (wanted.as_str(), kind.as_str());
    let rest = kind.strip_prefix(wanted);
    wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The diagnostic, as the client sent it, that a fix corrects.
fn fixed_diagnostic(snapshot: &Snapshot, at: usize, known: &[Diagnostic]) -> Option<Diagnostic> {
    let finding = snapshot.analysis.verdict().diagnostics.get(at)?;
    let code = Some(NumberOrString::String(finding.code.to_string()));
    let range = snapshot.text.range(finding.span());
    known.iter().find(|diagnostic| diagnostic.code == code && diagnostic.range == range).cloned()
}
