//! `sched/lineage`: the directives that made each loop, and those that replaced it.

use sched_lang::show::{lineages_json, show_lineages};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::TextDocumentIdentifier;

use crate::convert::failed;
use crate::state::ServerData;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineageParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct LineageAnswer {
    /// The version of the text.
    pub version: i32,
    /// The output of `schedc show lineage`.
    pub text: String,
    /// The output of `schedc show lineage --json`.
    pub lineage: Value,
}

/// The lineage, up to the first directive that is not legal.
///
/// # Errors
///
/// When the document is not open.
pub fn lineage(shared: &ServerData, params: &LineageParams) -> Result<LineageAnswer> {
    let snapshot = shared.snapshot(&params.text_document.uri)?;
    let snapshot = snapshot.ok_or_else(|| failed("this document is not open"))?;
    let lineages = snapshot.analysis.lineages();
    Ok(LineageAnswer {
        version: snapshot.version,
        text: show_lineages(&lineages),
        lineage: lineages_json(&lineages),
    })
}
