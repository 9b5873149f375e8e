//! `textDocument/hover`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use crate::state::ServerData;

/// Hover of the word at a position of the document.
pub fn hover(shared: &ServerData, params: &HoverParams) -> Result<Option<Hover>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position_params)? else {
        return Ok(None);
    };
    Ok(ide::hover(&snapshot.analysis, offset).map(|found| Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: found.markdown }),
        range: Some(snapshot.text.range(found.span)),
    }))
}
