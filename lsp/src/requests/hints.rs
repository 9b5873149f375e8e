//! `textDocument/inlayHint`.

use sched_ide::{self as ide, InlayKinds};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, InlayHintTooltip,
};

use crate::state::ServerData;

/// Inlay hints of the enabled kinds: results of the checker that the text does not show.
pub fn hints(shared: &ServerData, params: &InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let settings = &snapshot.settings;
    let wanted = InlayKinds {
        ranges: settings.range_hints,
        iterations: settings.iteration_hints,
        parameters: settings.parameter_hints,
        values: settings.value_hints,
    };
    let hint = |found: ide::InlayHint| InlayHint {
        position: snapshot.text.position(found.offset),
        label: InlayHintLabel::String(found.text),
        kind: Some(match found.kind {
            ide::InlayKind::Parameter => InlayHintKind::PARAMETER,
            _ => InlayHintKind::TYPE,
        }),
        text_edits: None,
        tooltip: (!found.tooltip.is_empty()).then_some(InlayHintTooltip::String(found.tooltip)),
        padding_left: Some(found.padding_left),
        // After other hints the text continues, mostly with a comma, which needs no space before it.
        padding_right: Some(found.kind == ide::InlayKind::Parameter),
        data: None,
    };
    let found = ide::inlay_hints(&snapshot.analysis, snapshot.text.span(params.range), wanted);
    Ok(Some(found.into_iter().map(hint).collect()))
}
