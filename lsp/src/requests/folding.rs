//! `textDocument/foldingRange`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{FoldingRange, FoldingRangeKind, FoldingRangeParams};

use crate::state::ServerData;

/// Lines that can be hidden.
pub fn ranges(shared: &ServerData, params: &FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let range = |found: ide::FoldingRange| {
        let range = snapshot.text.range(found.span);
        FoldingRange {
            start_line: range.start.line,
            start_character: Some(range.start.character),
            end_line: range.end.line,
            end_character: Some(range.end.character),
            kind: Some(match found.kind {
                ide::FoldingKind::Comment => FoldingRangeKind::Comment,
                ide::FoldingKind::Region => FoldingRangeKind::Region,
            }),
            collapsed_text: None,
        }
    };
    Ok(Some(ide::folding_ranges(&snapshot.analysis).into_iter().map(range).collect()))
}
