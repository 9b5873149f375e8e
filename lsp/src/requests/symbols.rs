//! `textDocument/documentSymbol`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, SymbolInformation, SymbolKind,
};

use crate::convert::location;
use crate::document::Snapshot;
use crate::state::Shared;

/// What a document declares, in its order.
pub fn symbols(shared: &Shared, params: &DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let found = ide::document_symbols(&snapshot.analysis);
    if shared.lock().abilities.nested_symbols {
        let nested = found.into_iter().map(|symbol| nested(&snapshot, symbol));
        return Ok(Some(DocumentSymbolResponse::Nested(nested.collect())));
    }
    Ok(Some(DocumentSymbolResponse::Flat(flat(&snapshot, &found))))
}

/// Symbols below each other: a directive and the loops that it makes, so never deeper than the grammar.
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

/// All symbols in a list, each with the one that contains it.
pub fn flat(snapshot: &Snapshot, symbols: &[ide::Symbol]) -> Vec<SymbolInformation> {
    let mut all = Vec::new();
    let mut open: Vec<(&ide::Symbol, Option<&str>)> =
        symbols.iter().rev().map(|symbol| (symbol, None)).collect();
    while let Some((symbol, container)) = open.pop() {
        #[expect(deprecated, reason = "a field of the type that nothing reads")]
        all.push(SymbolInformation {
            name: symbol.name.clone(),
            kind: kind(symbol.kind),
            tags: None,
            deprecated: None,
            location: location(snapshot, symbol.selection),
            container_name: container.map(str::to_owned),
        });
        open.extend(symbol.children.iter().rev().map(|child| (child, Some(symbol.name.as_str()))));
    }
    all
}

fn kind(kind: ide::SymbolKind) -> SymbolKind {
    match kind {
        ide::SymbolKind::Model => SymbolKind::FILE,
        ide::SymbolKind::Target => SymbolKind::MODULE,
        ide::SymbolKind::Param => SymbolKind::VARIABLE,
        ide::SymbolKind::Const => SymbolKind::CONSTANT,
        ide::SymbolKind::Directive => SymbolKind::FUNCTION,
        ide::SymbolKind::RowIndex => SymbolKind::FIELD,
        ide::SymbolKind::TreeIndex => SymbolKind::ENUM_MEMBER,
    }
}
