//! `textDocument/references`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Location, ReferenceParams};

use crate::convert::location;
use crate::state::ServerData;

/// Answers `textDocument/references`: the occurrences of a name.
pub fn references(shared: &ServerData, params: &ReferenceParams) -> Result<Option<Vec<Location>>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position)? else { return Ok(None) };
    let found = ide::references(&snapshot.analysis, offset, params.context.include_declaration);
    Ok(Some(found.into_iter().map(|span| location(&snapshot, span)).collect()))
}
