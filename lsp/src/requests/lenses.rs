//! `textDocument/codeLens`. The client runs the commands and shows their results.

use sched_ide::{self as ide, LensKind};
use serde_json::json;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{CodeLens, CodeLensParams, Command};

use super::{commands, sweep};
use crate::models::ModelStatus;
use crate::state::ServerData;

/// Command of the client: shows the nest beside the text.
const SHOW_NEST: &str = "schedc.showNest";

/// Command of the client: shows the gain of each directive at the end of its line.
const SHOW_LEDGER: &str = "schedc.showLedger";

/// The commands above a schedule.
pub fn lenses(shared: &ServerData, params: &CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    if !snapshot.settings.code_lens {
        return Ok(Some(Vec::new()));
    }
    let lens = |found: ide::Lens| {
        let (title, command) = match found.kind {
            LensKind::ShowNest => ("show nest", SHOW_NEST),
            LensKind::Build => ("build", commands::BUILD),
            LensKind::Bench => ("bench", commands::BENCH),
        };
        let arguments = Some(vec![json!({ "uri": snapshot.uri })]);
        CodeLens {
            range: snapshot.text.range(found.span),
            command: Some(Command { title: title.to_owned(), command: command.to_owned(), arguments }),
            data: None,
        }
    };
    // Compiling needs a model.
    let has_model = matches!(snapshot.binding.status, ModelStatus::Loading | ModelStatus::Ready(_));
    let mut found = ide::code_lenses(&snapshot.analysis);
    let switches = snapshot.settings.lenses;
    found.retain(|found| match found.kind {
        LensKind::ShowNest => switches.nest,
        LensKind::Build => has_model && switches.build,
        LensKind::Bench => has_model && switches.bench,
    });
    let first = snapshot.analysis.parsed().file.stmts.first().map(|stmt| snapshot.text.range(stmt.span));
    let mut lenses: Vec<CodeLens> = found.into_iter().map(lens).collect();
    if sweep::is_measurable(&snapshot) {
        let ledger = first.filter(|_| switches.ledger).map(|range| CodeLens {
            range,
            command: Some(Command {
                title: "ledger".to_owned(),
                command: SHOW_LEDGER.to_owned(),
                arguments: Some(vec![json!({ "uri": snapshot.uri })]),
            }),
            data: None,
        });
        lenses.extend(ledger);
    }
    // Shown even if the schedule has errors: each takes a line in the editor, and lines must not come and go
    // while the user types.
    if has_model && switches.sweep {
        lenses.extend(sweep::lenses(&snapshot));
    }
    Ok(Some(lenses))
}
