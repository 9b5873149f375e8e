//! `textDocument/documentHighlight`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams};

use crate::state::ServerData;

/// Answers the request: all occurrences of the name at the cursor.
pub fn highlights(
    shared: &ServerData,
    params: &DocumentHighlightParams,
) -> Result<Option<Vec<DocumentHighlight>>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position_params)? else {
        return Ok(None);
    };
    let found = ide::highlights(&snapshot.analysis, offset);
    let highlight = |found: ide::Highlight| DocumentHighlight {
        range: snapshot.text.range(found.span),
        kind: Some(match found.kind {
            ide::HighlightKind::Read => DocumentHighlightKind::READ,
            ide::HighlightKind::Write => DocumentHighlightKind::WRITE,
        }),
    };
    Ok(Some(found.into_iter().map(highlight).collect()))
}
