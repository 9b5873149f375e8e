//! `sched/nest`: the loop nest, as a text and for a picture.

use std::sync::Arc;

use sched_grammar::ast::Span;
use sched_ide::{self as ide, NestView, nest_view_json_with};
use sched_lang::check;
use sched_lang::show::until_line;
use sched_nest::show::{show_nest, show_nests};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Position, Range, TextDocumentIdentifier};

use crate::convert::failed;
use crate::document::Snapshot;
use crate::state::ServerData;
use crate::text::Moves;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
    /// A position in a directive, to get the nest after it instead of the final nest.
    pub position: Option<Position>,
    /// If the text has errors: whether to return the nest of its legal statements, instead of the last nest
    /// without errors.
    #[serde(default)]
    pub leave_out: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct NestAnswer {
    /// The version of the text to which ranges refer.
    pub version: i32,
    /// Whether the nest is that of the last text without errors, since the present text has errors. Its
    /// ranges are mapped to the present text.
    pub stale: bool,
    /// The output of `schedc show nest`; empty if no version of the text had a nest.
    pub text: String,
    /// The loops for a picture; null if no version of the text had a nest.
    pub view: Value,
    /// Statements with errors, up to the position if there is one. The nest leaves them out, or has their
    /// legal part. Empty if the nest is that of an earlier text.
    pub left_out: Vec<Range>,
    /// The directive at the position, if it has errors. The nest is then the one before it.
    pub refused: Option<Range>,
}

/// Returns the nest, or the last nest without errors.
///
/// # Errors
///
/// When the document is not open.
pub fn nest(shared: &ServerData, params: &NestParams) -> Result<NestAnswer> {
    let now =
        shared.snapshot(&params.text_document.uri)?.ok_or_else(|| failed("this document is not open"))?;
    if let Some(position) = params.position {
        let offset = now.text.offset(position);
        if let Some(view) = ide::nest_until(&now.analysis, offset) {
            let text = text_until(&now, offset);
            return Ok(NestAnswer {
                version: now.version,
                stale: false,
                text,
                view: json(&view, &now, &now),
                left_out: skipped_lines(&now, Some(offset)),
                refused: ide::refused_directive(&now.analysis, offset).map(|span| now.text.range(span)),
            });
        }
    }
    if params.leave_out && !now.analysis.is_legal() {
        return Ok(so_far(&now));
    }
    let last = shared.last_good(&params.text_document.uri).unwrap_or_else(|| Arc::clone(&now));
    let view = ide::nest_view(&last.analysis);
    Ok(NestAnswer {
        version: now.version,
        stale: !now.analysis.is_legal(),
        text: last.analysis.nests().as_ref().map(show_nests).unwrap_or_default(),
        view: view.map(|view| json(&view, &last, &now)).unwrap_or_default(),
        left_out: Vec::new(),
        refused: None,
    })
}

/// The nest of the directives without errors.
fn so_far(now: &Snapshot) -> NestAnswer {
    let (view, text) = ide::nest_of_legal_directives(&now.analysis);
    NestAnswer {
        version: now.version,
        stale: false,
        text,
        view: json(&view, now, now),
        left_out: skipped_lines(now, None),
        refused: None,
    }
}

fn skipped_lines(now: &Snapshot, offset: Option<usize>) -> Vec<Range> {
    ide::skipped_statements(&now.analysis, offset).into_iter().map(|span| now.text.range(span)).collect()
}

/// The view of the state `of` as JSON, with ranges of the present text.
fn json(view: &NestView, of: &Snapshot, now: &Snapshot) -> Value {
    let moves = (of.epoch != now.epoch).then(|| Moves::new(of.text.source(), now.text.source()));
    let range = |span: Option<Span>| {
        let span = moves.map_or(span?, |moves| moves.span(span.unwrap_or_default()));
        serde_json::to_value(now.text.range(span)).ok()
    };
    nest_view_json_with(view, &range)
}

fn text_until(snapshot: &Snapshot, offset: usize) -> String {
    let analysis = &snapshot.analysis;
    let before = analysis.source().get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let until = until_line(analysis.source(), line, analysis.options());
    let rows = until.max_rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    let nests = check(&until.text, analysis.options()).nests;
    nests.map(|nests| show_nest(rows.map_or(nests.rest(), |rows| nests.for_rows(rows)))).unwrap_or_default()
}
