//! `textDocument/selectionRange`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Range, SelectionRange, SelectionRangeParams};

use crate::state::ServerData;

/// The ranges around each position, from the inside outwards.
pub fn ranges(shared: &ServerData, params: &SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let around = |position| {
        let spans = ide::selection_ranges(&snapshot.analysis, snapshot.text.offset(position));
        let ranges = spans.into_iter().rev().map(|span| snapshot.text.range(span));
        let chain = ranges.fold(None, |parent: Option<SelectionRange>, range| {
            Some(SelectionRange { range, parent: parent.map(Box::new) })
        });
        chain.unwrap_or(SelectionRange { range: Range::new(position, position), parent: None })
    };
    Ok(Some(params.positions.iter().copied().map(around).collect()))
}
