//! `textDocument/definition`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{GotoDefinitionParams, GotoDefinitionResponse};

use crate::convert::location;
use crate::state::ServerData;

/// Answers `textDocument/definition`: the declarations of a name.
pub fn definition(
    shared: &ServerData,
    params: &GotoDefinitionParams,
) -> Result<Option<GotoDefinitionResponse>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position_params)? else {
        return Ok(None);
    };
    let found = ide::definition(&snapshot.analysis, offset);
    Ok(found.map(|found| {
        let targets = found.targets.iter().map(|span| location(&snapshot, *span));
        GotoDefinitionResponse::Array(targets.collect())
    }))
}
