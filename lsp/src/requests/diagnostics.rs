//! Diagnostics: answers to clients that request them, notifications to all other clients.

use std::sync::Arc;
use std::time::Duration;

use sched_lang::diagnostics::{Code, Diagnostic as Finding, Severity, codes};
use serde_json::json;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    DocumentDiagnosticParams, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, Location, NumberOrString, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport, Uri,
};

use super::model;
use crate::abilities::Abilities;
use crate::convert::SOURCE;
use crate::document::Snapshot;
use crate::pages::Pages;
use crate::state::ServerData;

/// Delay after a document's check before the server frees its outdated states.
const TIDY_DELAY: Duration = Duration::from_millis(2);
/// Codes of findings about text without effect. Editors show such text faded.
const FADED_CODES: [Code; 5] =
    [codes::UNUSED, codes::REPEATED, codes::ALLOWS_NOTHING, codes::PEEL_POINTLESS, codes::INTERLEAVE_OF_ONE];

/// Answers `textDocument/diagnostic`.
pub async fn pull(
    shared: &Arc<ServerData>,
    pages: &Pages,
    params: &DocumentDiagnosticParams,
) -> Result<DocumentDiagnosticReportResult> {
    let snapshot = shared.snapshot(&params.text_document.uri)?;
    let id = snapshot.as_ref().map(|snapshot| snapshot.epoch.to_string());
    if let (Some(id), Some(previous)) = (&id, &params.previous_result_id)
        && id == previous
    {
        let unchanged = RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id.clone() },
        };
        return Ok(DocumentDiagnosticReport::Unchanged(unchanged).into());
    }
    let items = match snapshot {
        Some(snapshot) => all(shared, &snapshot, pages).await,
        None => Vec::new(),
    };
    let full = RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: id, items },
    };
    Ok(DocumentDiagnosticReport::Full(full).into())
}

/// Publishes diagnostics for as long as the server runs. Only this task publishes, so that states arrive in
/// order. It skips states that newer ones have replaced meanwhile.
pub async fn publish(shared: &Arc<ServerData>, pages: &Pages) {
    loop {
        shared.diagnostics_due.notified().await;
        while let Some(name) = shared.next_unpublished() {
            let Ok(uri) = name.parse::<Uri>() else { continue };
            // If the checker panics, the client keeps the diagnostics of the state before.
            let Ok(snapshot) = shared.snapshot(&uri) else { continue };
            let pulls = shared.lock().abilities.pulls_diagnostics;
            if !pulls {
                let version = snapshot.as_ref().map(|snapshot| snapshot.version);
                let found = match snapshot {
                    Some(snapshot) => all(shared, &snapshot, pages).await,
                    None => Vec::new(),
                };
                shared.client.publish_diagnostics(uri, found, version).await;
            }
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                tokio::time::sleep(TIDY_DELAY).await;
                if let Some(document) = shared.lock().documents.get_mut(&name) {
                    document.tidy();
                }
            });
        }
    }
}

/// All diagnostics of a state: those of the checker, and the error of the model if it cannot be used.
pub async fn all(shared: &Arc<ServerData>, snapshot: &Snapshot, pages: &Pages) -> Vec<Diagnostic> {
    let abilities = shared.lock().abilities;
    let meant = model::similar_models(shared, snapshot).await;
    let found = &snapshot.analysis.verdict().diagnostics;
    let mut all: Vec<Diagnostic> =
        found.iter().map(|finding| diagnostic(snapshot, finding, abilities, pages)).collect();
    all.extend(model::finding(snapshot, &meant, abilities, pages));
    all
}

fn diagnostic(snapshot: &Snapshot, finding: &Finding, abilities: Abilities, pages: &Pages) -> Diagnostic {
    let related: Vec<_> = finding
        .labels
        .iter()
        .map(|label| DiagnosticRelatedInformation {
            location: Location::new(snapshot.uri.clone(), snapshot.text.range(label.span)),
            message: label.message.clone(),
        })
        .collect();
    let tags = FADED_CODES.contains(&finding.code).then(|| vec![DiagnosticTag::UNNECESSARY]);
    let page = abilities.code_descriptions.then(|| pages.uri(&finding.code.to_string())).flatten();
    Diagnostic {
        range: snapshot.text.range(finding.span()),
        severity: Some(severity(finding.severity)),
        code: Some(NumberOrString::String(finding.code.to_string())),
        code_description: page.map(|href| CodeDescription { href }),
        source: Some(SOURCE.to_owned()),
        message: message(finding),
        related_information: (abilities.related_information && !related.is_empty()).then_some(related),
        tags,
        data: (!finding.notes.is_empty()).then(|| json!({ "notes": finding.notes })),
    }
}

/// The message with its help, since editors show the message alone.
fn message(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{}\n{help}", finding.message),
        None => finding.message.clone(),
    }
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Hint => DiagnosticSeverity::INFORMATION,
    }
}
