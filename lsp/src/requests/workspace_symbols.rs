//! `workspace/symbol`: the declarations of all schedules of the workspace.

use std::sync::Arc;

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Uri, WorkspaceSymbolParams, WorkspaceSymbolResponse};

use crate::state::ServerData;
use crate::symbol_index::flat;

/// Maximum symbols of an answer.
const MOST_SYMBOLS: usize = 2000;

/// Symbols whose names contain the letters of the query, in the same order.
pub async fn symbols(
    shared: &Arc<ServerData>,
    params: WorkspaceSymbolParams,
) -> Result<Option<WorkspaceSymbolResponse>> {
    let open: Vec<Uri> = shared.lock().documents.values().map(|document| document.uri.clone()).collect();
    let mut found = Vec::new();
    for uri in &open {
        if let Ok(Some(snapshot)) = shared.snapshot(uri) {
            found.extend(flat(&snapshot, &ide::document_symbols(&snapshot.analysis)));
        }
    }
    let (folders, encoding) = {
        let state = shared.lock();
        (state.folders.iter().map(|folder| folder.path.clone()).collect::<Vec<_>>(), state.encoding)
    };
    let memory = Arc::clone(shared);
    let on_disk = tokio::task::spawn_blocking(move || {
        let mut known = memory.symbols.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.update(&folders, encoding)
    });
    for list in on_disk.await.unwrap_or_default() {
        let is_open = list.first().is_some_and(|symbol| open.contains(&symbol.location.uri));
        if !is_open {
            found.extend(list.iter().cloned());
        }
    }
    let query: Vec<char> = params.query.to_lowercase().chars().collect();
    found.retain(|symbol| matches(&symbol.name, &query));
    found.truncate(MOST_SYMBOLS);
    Ok(Some(WorkspaceSymbolResponse::Flat(found)))
}

fn matches(name: &str, query: &[char]) -> bool {
    let mut rest = query;
    for c in name.chars().flat_map(char::to_lowercase) {
        if rest.first() == Some(&c) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_letters_in_order() {
        let is = |name: &str, query: &str| matches(name, &query.chars().collect::<Vec<_>>());
        assert!(is("rowBlock", "rb") && is("rowBlock", "") && is("x", "x"));
        assert!(!is("rowBlock", "br") && !is("", "x"));
    }
}
