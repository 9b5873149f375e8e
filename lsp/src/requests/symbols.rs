//! `textDocument/documentSymbol`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse};

use crate::document::Snapshot;
use crate::state::ServerData;
use crate::symbol_index::{flat, kind};

/// The declarations of a document, in order.
pub fn symbols(shared: &ServerData, params: &DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let found = ide::document_symbols(&snapshot.analysis);
    if shared.lock().abilities.nested_symbols {
        let nested = found.into_iter().map(|symbol| nested(&snapshot, symbol));
        return Ok(Some(DocumentSymbolResponse::Nested(nested.collect())));
    }
    Ok(Some(DocumentSymbolResponse::Flat(flat(&snapshot, &found))))
}

/// Converts a symbol with its children. A directive contains the loops that it makes, so the depth of the
/// recursion has a limit.
fn nested(snapshot: &Snapshot, symbol: ide::Symbol) -> DocumentSymbol {
    #[expect(deprecated, reason = "a field of the type that nothing reads")]
    DocumentSymbol {
        name: symbol.name,
        detail: Some(symbol.detail).filter(|detail| !detail.is_empty()),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: snapshot.text.range(symbol.span),
        selection_range: snapshot.text.range(symbol.selection),
        children: Some(symbol.children.into_iter().map(|child| nested(snapshot, child)).collect()),
    }
}
