//! `textDocument/prepareRename` and `textDocument/rename`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    PrepareRenameResponse, RenameParams, TextDocumentPositionParams, WorkspaceEdit,
};

use crate::convert::{failed, workspace_edit};
use crate::state::ServerData;

/// Returns the name at the cursor, which a rename would change.
///
/// # Errors
///
/// No name is at the cursor, or the name cannot be changed.
pub fn prepare(
    shared: &ServerData,
    params: &TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>> {
    let Some((snapshot, offset)) = shared.place(params)? else { return Ok(None) };
    let found = ide::prepare_rename(&snapshot.analysis, offset).map_err(failed)?;
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder {
        range: snapshot.text.range(found.span),
        placeholder: found.placeholder,
    }))
}

/// The edits that change a name everywhere.
///
/// # Errors
///
/// No name is at the cursor, or the new name is not possible.
pub fn rename(shared: &ServerData, params: &RenameParams) -> Result<Option<WorkspaceEdit>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position)? else { return Ok(None) };
    let edits = ide::rename(&snapshot.analysis, offset, &params.new_name).map_err(failed)?;
    let abilities = shared.lock().abilities;
    Ok(Some(workspace_edit(&snapshot, &edits, abilities)))
}
