//! `sched/drops`: changes to the loops of a nest that a user can make with the mouse, with their edits.

use sched_ide::{self as ide, WrittenDirective};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Position, TextDocumentIdentifier};

use crate::convert::{failed, workspace_edit};
use crate::state::ServerData;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopChangesParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
    /// A position in a directive, to change the nest after it instead of the final nest.
    pub position: Option<Position>,
}

/// Legal changes to the loops of a nest with the mouse: moves and tilings, with their edits.
#[derive(Debug, Serialize)]
pub struct LoopChangesAnswer {
    /// The version of the text that the edits apply to.
    pub version: i32,
    /// Loops that can be dropped on others: `[{"loop", "onto", "directive", "edit"}]`.
    pub moves: Vec<Value>,
    /// Loops that can be tiled: `[{"loop", "sizes": [{"size", "directive", "edit"}]}]`.
    pub tiles: Vec<Value>,
}

/// Returns the legal moves and tilings of loops.
///
/// # Errors
///
/// The document is not open.
pub fn drops(shared: &ServerData, params: &LoopChangesParams) -> Result<LoopChangesAnswer> {
    let now =
        shared.snapshot(&params.text_document.uri)?.ok_or_else(|| failed("this document is not open"))?;
    let abilities = shared.lock().abilities;
    let found = ide::drops(&now.analysis, params.position.map(|position| now.text.offset(position)));
    let edit =
        |written: &WrittenDirective| workspace_edit(&now, std::slice::from_ref(&written.edit), abilities);
    let moves = found.moves.iter().map(|one| {
        let (directive, edit) = (&one.written.directive, edit(&one.written));
        json!({ "loop": one.from, "onto": one.onto, "directive": directive, "edit": edit })
    });
    let tiles = found.tiles.iter().map(|tiled| {
        let size = |(size, written): &(i64, WrittenDirective)| {
            json!({ "size": size, "directive": written.directive, "edit": edit(written) })
        };
        json!({ "loop": tiled.name, "sizes": tiled.sizes.iter().map(size).collect::<Vec<_>>() })
    });
    Ok(LoopChangesAnswer { version: now.version, moves: moves.collect(), tiles: tiles.collect() })
}
