//! The `model` line: errors of its model, likely paths for a mistyped one, and completion of paths.

use std::path::Path;
use std::sync::Arc;

use sched_grammar::ast::{Span, StmtKind, Str};
use sched_lang::diagnostics::Edit;
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeDescription, CompletionItem, CompletionItemKind, CompletionTextEdit,
    Diagnostic, DiagnosticSeverity, NumberOrString, TextEdit,
};

use crate::abilities::Abilities;
use crate::convert::{SOURCE, workspace_edit};
use crate::document::Snapshot;
use crate::models::{InspectedModel, ModelStatus};
use crate::neighbours::Neighbours;
use crate::pages::Pages;
use crate::refusal::PrintedError;
use crate::state::ServerData;

/// The code for a model that does not exist.
pub const UNREADABLE: &str = "M0023";
/// The code for a model whose fingerprint differs from the one in the schedule.
pub const OTHER_MODEL: &str = "M0024";

/// The message for a model that does not exist, or for a `model` line with an empty path.
pub fn missing(snapshot: &Snapshot, path: &Path) -> String {
    match &snapshot.analysis.verdict().header.model {
        Some((name, _)) if name.is_empty() => "the `model` line has no path: name a model".to_owned(),
        _ => format!("the model {} does not exist", path.display()),
    }
}

/// The message for a model whose fingerprint differs from the one in the schedule.
pub fn other_fingerprint(path: &Path, model: &InspectedModel) -> String {
    format!(
        "the schedule is for a model with another fingerprint: {} has {}\nUse the model that it was \
         written for; if \
         this one is right, put its fingerprint here.",
        path.display(),
        model.fingerprint
    )
}

/// The diagnostic for a model that cannot be used. `meant` lists existing models with similar paths.
pub fn finding(
    snapshot: &Snapshot,
    meant: &[String],
    abilities: Abilities,
    pages: &Pages,
) -> Option<Diagnostic> {
    let binding = &snapshot.binding;
    let path = binding.path.as_ref()?;
    let about = |severity, code: Option<&str>, span: Option<Span>, message: String| {
        let page = code.filter(|_| abilities.code_descriptions).and_then(|code| pages.uri(code));
        Diagnostic {
            range: snapshot.text.range(span.unwrap_or_default()),
            severity: Some(severity),
            code: code.map(|code| NumberOrString::String(code.to_owned())),
            code_description: page.map(|href| CodeDescription { href }),
            source: Some(SOURCE.to_owned()),
            message,
            ..Diagnostic::default()
        }
    };
    match &binding.status {
        ModelStatus::Missing => {
            let mut message = format!("{}; checking without a model", missing(snapshot, path));
            if let Some((last, others)) = meant.split_last() {
                let others: String = others.iter().map(|other| format!("`{other}`, ")).collect();
                let or = if others.is_empty() { "" } else { "or " };
                message += &format!("\nDid you mean {others}{or}`{last}`?");
            }
            Some(about(DiagnosticSeverity::WARNING, Some(UNREADABLE), binding.line, message))
        }
        ModelStatus::Failed(why) => {
            let refusal = PrintedError::read(why);
            let message = format!("{}\nChecking without a model.", refusal.text());
            Some(about(DiagnosticSeverity::WARNING, refusal.code, binding.line, message))
        }
        ModelStatus::Ready(model) => {
            let (wanted, span) = snapshot.analysis.verdict().header.fingerprint.as_ref()?;
            let message = other_fingerprint(path, model);
            let is_other = *wanted != model.fingerprint;
            is_other.then(|| about(DiagnosticSeverity::ERROR, Some(OTHER_MODEL), Some(*span), message))
        }
        ModelStatus::Loading => None,
    }
}

/// The existing models that the wrong path of a `model` line may be a misspelling of.
pub async fn similar_models(shared: &Arc<ServerData>, snapshot: &Snapshot) -> Vec<String> {
    let is_missing =
        matches!(snapshot.binding.status, ModelStatus::Missing) && snapshot.binding.line.is_some();
    let named = snapshot.analysis.verdict().header.model.as_ref().filter(|_| is_missing);
    let (Some((name, _)), Some(folder)) = (named, shared.models_folder(snapshot)) else { return Vec::new() };
    let name = name.clone();
    let workspace = shared.lock().folder_of(&snapshot.uri).map(|folder| folder.path.clone());
    shared
        .with_neighbours(move |neighbours| neighbours.similar_models(&folder, workspace.as_deref(), &name))
        .await
        .unwrap_or_default()
}

/// Fixes that replace the path by each of the models in `meant`.
pub fn fixes(
    snapshot: &Snapshot,
    at: Span,
    meant: &[String],
    (abilities, known): (Abilities, &[Diagnostic]),
) -> Vec<CodeAction> {
    let Some(line) = snapshot.binding.line.filter(|line| line.start <= at.end && at.start <= line.end) else {
        return Vec::new();
    };
    let (range, code) = (snapshot.text.range(line), NumberOrString::String(UNREADABLE.to_owned()));
    let is_it = |one: &&Diagnostic| one.range == range && one.code.as_ref() == Some(&code);
    let fixed = known.iter().find(is_it).cloned();
    let fix = |model: &String| {
        let edit = Edit { span: line, text: quoted(model) };
        CodeAction {
            title: format!("Use `{model}`"),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: fixed.clone().map(|diagnostic| vec![diagnostic]),
            edit: Some(workspace_edit(snapshot, &[edit], abilities)),
            is_preferred: (meant.len() == 1).then_some(true),
            ..CodeAction::default()
        }
    };
    meant.iter().map(fix).collect()
}

/// A path as a quoted text of a schedule.
fn quoted(path: &str) -> String {
    Str { value: path.to_owned(), span: Span::default() }.to_string()
}

/// The text between the quotes of a `model` line that contains `offset`.
fn path_at(snapshot: &Snapshot, offset: usize) -> Option<Span> {
    let stmts = &snapshot.analysis.parsed().file.stmts;
    let paths = stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Model { path, .. } => Some(path.span),
        _ => None,
    });
    let span =
        paths.into_iter().find(|span| span.range().contains(&offset) || span.end as usize == offset)?;
    let text = snapshot.text.source().get(span.range())?;
    let inner = text.strip_prefix('"')?;
    // The closing quote may not be there yet.
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let start = span.start as usize + 1;
    let span = Span::new(start, start + inner.len());
    (start..=span.end as usize).contains(&offset).then_some(span)
}

/// The files and folders that can continue the path of a `model` line at a position; `None` elsewhere.
pub async fn completion(
    shared: &Arc<ServerData>,
    snapshot: &Snapshot,
    offset: usize,
) -> Option<Vec<CompletionItem>> {
    let span = path_at(snapshot, offset)?;
    let typed = snapshot.text.source().get(span.start as usize..offset)?;
    let inner = typed.rsplit_once('/').map_or_else(String::new, |(inner, _)| format!("{inner}/"));
    let folder = shared.models_folder(snapshot);
    // Paths with escaped characters are not completed.
    let Some(folder) = folder.filter(|_| !typed.contains('\\')) else { return Some(Vec::new()) };
    let found = shared.with_neighbours(move |neighbours| proposals(neighbours, &folder, &inner)).await;
    let range = snapshot.text.range(span);
    let item = |(at, (path, kind)): (usize, (String, CompletionItemKind))| {
        let quoted = quoted(&path);
        let text = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        CompletionItem {
            kind: Some(kind),
            sort_text: Some(format!("{at:04}")),
            filter_text: Some(path.clone()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, text.to_owned()))),
            label: path,
            ..CompletionItem::default()
        }
    };
    Some(found.unwrap_or_default().into_iter().enumerate().map(item).collect())
}

/// Models in a folder and its subfolders, and then the folders in it. For the root of the file system, and
/// for folders outside of the schedule's own, only the direct contents.
fn proposals(neighbours: &mut Neighbours, folder: &Path, inner: &str) -> Vec<(String, CompletionItemKind)> {
    let place = folder.join(inner);
    let is_outside = inner.starts_with('/') || inner.split('/').any(|part| part == "..");
    let entries = neighbours.entries(&place);
    let models = if is_outside { entries.models.clone() } else { neighbours.models_below(&place) };
    let (here, deeper): (Vec<String>, Vec<String>) = models.into_iter().partition(|name| !name.contains('/'));
    let file = |name: &String| (format!("{inner}{name}"), CompletionItemKind::FILE);
    let folders = entries.folders.iter().map(|name| (format!("{inner}{name}/"), CompletionItemKind::FOLDER));
    here.iter().chain(&deeper).map(file).chain(folders).collect()
}
