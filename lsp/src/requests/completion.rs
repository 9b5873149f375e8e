//! `textDocument/completion`.

use std::sync::Arc;

use sched_grammar::ast::{ScheduleStmt, Span, StmtKind};
use sched_ide::{self as ide, CompletionKind};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    Command, CompletionItem, CompletionItemKind, CompletionList, CompletionParams, CompletionResponse,
    CompletionTextEdit, Documentation, InsertTextFormat, MarkupContent, MarkupKind, Range, TextEdit, Uri,
};

use super::ledger::CHOOSE;
use super::{gains, model};
use crate::document::Snapshot;
use crate::models::ModelStatus;
use crate::state::ServerData;

/// Completions at a position of the document.
pub async fn completion(
    shared: &Arc<ServerData>,
    params: &CompletionParams,
) -> Result<Option<CompletionResponse>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position)? else { return Ok(None) };
    if let Some(items) = model::completion(shared, &snapshot, offset).await {
        return Ok(Some(CompletionResponse::Array(items)));
    }
    let snippets = shared.lock().abilities.snippets;
    let (uri, version) = (snapshot.uri.clone(), snapshot.version);
    let item = |found: ide::Completion| {
        let proposal = found.is_whole_directive().then(|| ProposalData {
            uri: uri.clone(),
            version,
            range: snapshot.text.range(found.replace),
            text: found.label.clone(),
        });
        let is_snippet = found.is_snippet && snippets;
        let new =
            if found.is_snippet && !snippets { without_placeholders(&found.insert) } else { found.insert };
        CompletionItem {
            data: proposal.and_then(|proposal| serde_json::to_value(proposal).ok()),
            label: found.label,
            kind: Some(kind(found.kind)),
            detail: Some(found.detail).filter(|detail| !detail.is_empty()),
            documentation: (!found.documentation.is_empty()).then_some(Documentation::MarkupContent(
                MarkupContent { kind: MarkupKind::Markdown, value: found.documentation },
            )),
            sort_text: Some(found.sort),
            filter_text: Some(found.filter),
            insert_text_format: is_snippet.then_some(InsertTextFormat::SNIPPET),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(snapshot.text.range(found.replace), new))),
            ..CompletionItem::default()
        }
    };
    let mut found = ide::completion(&snapshot.analysis, offset);
    let is_unordered = gains::order(shared, &snapshot, offset, &mut found);
    // The client asks again at each character, since a finished number or name changes the proposals.
    let is_incomplete = is_unordered || found.iter().any(|item| item.kind.is_operand());
    let begin = own_schedule(&snapshot, offset);
    let items = begin.into_iter().chain(found.into_iter().map(item)).collect();
    Ok(Some(match is_incomplete {
        true => CompletionResponse::List(CompletionList { is_incomplete, items }),
        false => CompletionResponse::Array(items),
    }))
}

/// The proposal to take schedc's own schedule, in a text with a model and without directives. Its command
/// replaces the text.
fn own_schedule(snapshot: &Snapshot, offset: usize) -> Option<CompletionItem> {
    let has_model = matches!(snapshot.binding.status, ModelStatus::Loading | ModelStatus::Ready(_));
    let is_directive = |stmt: &ScheduleStmt| matches!(stmt.kind, StmtKind::Directive(_) | StmtKind::When(_));
    let stmts = &snapshot.analysis.parsed().file.stmts;
    let before = snapshot.text.source().get(..offset)?;
    let is_line_empty = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    if !has_model || !is_line_empty || stmts.iter().any(is_directive) {
        return None;
    }
    let at = snapshot.text.position(offset);
    let arguments = Some(vec![json!({ "uri": snapshot.uri })]);
    let title = "schedc's own schedule";
    Some(CompletionItem {
        label: title.to_owned(),
        kind: Some(CompletionItemKind::EVENT),
        detail: Some("for this model".to_owned()),
        // `!` sorts before the numbers by which all other proposals are sorted.
        sort_text: Some("!".to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(Range::new(at, at), String::new()))),
        command: Some(Command { title: title.to_owned(), command: CHOOSE.to_owned(), arguments }),
        ..CompletionItem::default()
    })
}

/// Data of a proposed directive, which the client sends back to have the proposal's documentation completed.
#[derive(Debug, Serialize, Deserialize)]
struct ProposalData {
    uri: Uri,
    /// The version of the text that the proposal was made for.
    version: i32,
    range: Range,
    text: String,
}

/// Adds the loop nest with the proposed directive to a proposal's documentation, unless the text has changed
/// since the proposal was made.
///
/// # Errors
///
/// The checker panicked on this state.
pub fn resolve(shared: &ServerData, item: CompletionItem) -> Result<CompletionItem> {
    let proposal = item.data.clone().and_then(|data| serde_json::from_value::<ProposalData>(data).ok());
    let Some(proposal) = proposal else { return Ok(item) };
    let snapshot = shared.snapshot(&proposal.uri)?.filter(|snapshot| snapshot.version == proposal.version);
    let nest = snapshot.and_then(|snapshot| {
        let (start, end) =
            (snapshot.text.offset(proposal.range.start), snapshot.text.offset(proposal.range.end));
        ide::nest_after(&snapshot.analysis, Span::new(start, end), &proposal.text)
    });
    let Some(nest) = nest else { return Ok(item) };
    let documentation = match item.documentation {
        Some(Documentation::MarkupContent(mut content)) => {
            content.value += &format!("\n\nThe nest after it:\n```text\n{}\n```", nest.trim_end());
            Some(Documentation::MarkupContent(content))
        }
        other => other,
    };
    Ok(CompletionItem { documentation, ..item })
}

/// A snippet as plain text: each placeholder becomes its default.
fn without_placeholders(snippet: &str) -> String {
    let mut text = String::new();
    let mut rest = snippet.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.extend(rest.next()),
            '$' if rest.next_if_eq(&'{').is_some() => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
                if rest.next_if_eq(&'|').is_some() {
                    // Keeps the first choice, then skips the other choices up to the end of the placeholder.
                    while let Some(c) = rest.next_if(|c| !matches!(c, ',' | '|' | '}')) {
                        text.push(c);
                    }
                    while rest.next_if(|c| *c != '}').is_some() {}
                } else {
                    let _ = rest.next_if_eq(&':');
                    while let Some(c) = rest.next_if(|c| *c != '}') {
                        text.push(c);
                    }
                }
                let _ = rest.next_if_eq(&'}');
            }
            '$' => while rest.next_if(char::is_ascii_digit).is_some() {},
            c => text.push(c),
        }
    }
    text
}

fn kind(kind: CompletionKind) -> CompletionItemKind {
    match kind {
        CompletionKind::Directive => CompletionItemKind::FUNCTION,
        CompletionKind::Index => CompletionItemKind::FIELD,
        CompletionKind::Property => CompletionItemKind::PROPERTY,
        CompletionKind::Param => CompletionItemKind::VARIABLE,
        CompletionKind::Const => CompletionItemKind::CONSTANT,
        CompletionKind::Word => CompletionItemKind::ENUM_MEMBER,
        CompletionKind::Function => CompletionItemKind::OPERATOR,
        CompletionKind::Keyword => CompletionItemKind::KEYWORD,
    }
}

#[cfg(test)]
mod tests {
    use super::without_placeholders;

    #[test]
    fn places_become_what_they_hold() {
        assert_eq!(without_placeholders("tile(${1:batch}, $2, ${3|8,16|})$0"), "tile(batch, , 8)");
        assert_eq!(without_placeholders(r"\$x ${1}"), "$x ");
        assert_eq!(without_placeholders("${1:open"), "open");
    }
}
