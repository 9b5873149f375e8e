//! `textDocument/formatting` and `textDocument/rangeFormatting`. A text with syntax errors is left alone.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{DocumentFormattingParams, DocumentRangeFormattingParams, TextEdit};

use crate::convert::text_edits;
use crate::state::ServerData;

/// The edits that lay a document out canonically.
pub fn whole(shared: &ServerData, params: &DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let edits = ide::format_edits(&snapshot.analysis).ok();
    Ok(edits.map(|edits| text_edits(&snapshot, &edits)))
}

/// The edits that lay out the statements of a range.
pub fn range(shared: &ServerData, params: &DocumentRangeFormattingParams) -> Result<Option<Vec<TextEdit>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let edits = ide::format_range_edits(&snapshot.analysis, snapshot.text.span(params.range)).ok();
    Ok(edits.map(|edits| text_edits(&snapshot, &edits)))
}
