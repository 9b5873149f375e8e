//! `sched/nest`: the loop nest, as a text and for a picture.

use std::sync::Arc;

use sched_lang::check;
use sched_lang::show::{show_nest, until_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Position, TextDocumentIdentifier};

use crate::convert::failed;
use crate::document::Snapshot;
use crate::state::Shared;

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
    /// Asks for the nest after the directive here, instead of the final one.
    pub position: Option<Position>,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct NestAnswer {
    /// The version of the text that the nest is of.
    pub version: i32,
    /// Whether the text has errors now, and the nest is the last one that it had without. Its places are where their text
    /// has moved to.
    pub stale: bool,
    /// As `schedc show nest` prints it; empty if there never was a nest.
    pub text: String,
    /// The loops for a picture; nothing if there never was a nest.
    pub view: Value,
}

/// The nest, or the last good one.
///
/// # Errors
///
/// The document is not open.
pub fn nest(shared: &Shared, params: &NestParams) -> Result<NestAnswer> {
    let now =
        shared.snapshot(&params.text_document.uri)?.ok_or_else(|| failed("this document is not open"))?;
    let until = params.position.map(|position| now.text.offset(position));
    let last_good = shared.last_good(&params.text_document.uri).unwrap_or_else(|| Arc::clone(&now));
    let shown = if until.is_some() { &now } else { &last_good };
    let stale = now.analysis.checked().nest.is_none();
    Ok(NestAnswer { version: shown.version, stale, text: text(shown, until), view: Value::Null })
}

fn text(snapshot: &Snapshot, until: Option<usize>) -> String {
    let analysis = &snapshot.analysis;
    let nest = match until {
        None => analysis.checked().nest.clone(),
        Some(offset) => {
            let before = analysis.source().get(..offset).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            check(&until_line(analysis.source(), line, analysis.options()), analysis.options()).nest
        }
    };
    nest.as_ref().map(show_nest).unwrap_or_default()
}
