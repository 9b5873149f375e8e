//! Converts the plain data of `sched_ide` to the protocol's types.

use std::collections::HashMap;

use sched_grammar::ast::Span;
use sched_lang::diagnostics::Edit;
use tower_lsp_server::jsonrpc::{Error, ErrorCode};
use tower_lsp_server::ls_types::{
    DocumentChanges, Location, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit,
    WorkspaceEdit,
};

use crate::abilities::Abilities;
use crate::document::Snapshot;

/// The source of all diagnostics, as editors show it.
pub const SOURCE: &str = "schedc";

/// Error for a valid request that the server cannot fulfil. Editors show the message.
pub fn failed(message: impl Into<String>) -> Error {
    const REQUEST_FAILED: i64 = -32803;
    let mut error = Error::new(ErrorCode::ServerError(REQUEST_FAILED));
    error.message = message.into().into();
    error
}

/// Edits of a schedule as LSP text edits, with positions in the text of `snapshot`.
pub fn text_edits(snapshot: &Snapshot, edits: &[Edit]) -> Vec<TextEdit> {
    edits.iter().map(|edit| TextEdit::new(snapshot.text.range(edit.span), edit.text.clone())).collect()
}

/// Edits of a schedule as an LSP workspace edit. It names the version of the document if the client supports
/// versions.
pub fn workspace_edit(snapshot: &Snapshot, edits: &[Edit], abilities: Abilities) -> WorkspaceEdit {
    let edits = text_edits(snapshot, edits);
    if !abilities.versioned_edits {
        let changes = HashMap::from([(snapshot.uri.clone(), edits)]);
        return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    }
    let text_document = OptionalVersionedTextDocumentIdentifier {
        uri: snapshot.uri.clone(),
        version: Some(snapshot.version),
    };
    let edit = TextDocumentEdit { text_document, edits: edits.into_iter().map(OneOf::Left).collect() };
    WorkspaceEdit { document_changes: Some(DocumentChanges::Edits(vec![edit])), ..WorkspaceEdit::default() }
}

/// Span of a document as an LSP location.
pub fn location(snapshot: &Snapshot, span: Span) -> Location {
    Location::new(snapshot.uri.clone(), snapshot.text.range(span))
}
