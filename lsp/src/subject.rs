//! Schedules that `schedc` runs with. Errors that would stop the program are reported before it starts, with
//! code, position and page.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use sched_grammar::ast::Span;
use sched_lang::diagnostics::{Diagnostic, Severity};
use sched_lang::{CheckOptions, CheckPurpose, check};
use serde_json::json;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::Uri;

use crate::convert::failed;
use crate::document::Snapshot;
use crate::jobs::ProgramRun;
use crate::models::{InspectedModel, ModelStatus};
use crate::pages::Pages;
use crate::refusal::PrintedError;
use crate::requests::model::{OTHER_MODEL, UNREADABLE, missing, other_fingerprint};
use crate::state::ServerData;

/// A schedule with a model: its text as the editor has it, saved or not.
pub struct ScheduleWithModel {
    /// The state of the document at the time of the request.
    pub snapshot: Arc<Snapshot>,
    /// The schedule's model.
    pub model: PathBuf,
    shared: Arc<ServerData>,
    pages: Arc<Pages>,
}

impl ScheduleWithModel {
    /// Takes an open document that has a model.
    ///
    /// # Errors
    ///
    /// The document is not open, or neither a `model` line nor a setting names a model.
    pub fn of(shared: &Arc<ServerData>, pages: &Arc<Pages>, uri: &Uri) -> Result<ScheduleWithModel> {
        let snapshot = shared.snapshot(uri)?.ok_or_else(|| failed("this document is not open"))?;
        let model = snapshot.binding.path.clone().ok_or_else(|| {
            failed(
                "the schedule has no model: add a line such as `model \"model.json\"`, or set schedc.model",
            )
        })?;
        Ok(ScheduleWithModel { snapshot, model, shared: Arc::clone(shared), pages: Arc::clone(pages) })
    }

    /// Runs `schedc` in the schedule's folder with its text as input, and returns what it prints.
    ///
    /// # Errors
    ///
    /// The model cannot be used, the schedule has errors with it, or the program reports an error.
    pub async fn run(&self, arguments: Vec<OsString>) -> Result<String> {
        self.run_with(arguments, false).await
    }

    /// Runs `schedc` as [`run`](Self::run) does, at low priority.
    ///
    /// # Errors
    ///
    /// As for [`ScheduleWithModel::run`].
    pub async fn run_at_low_priority(&self, arguments: Vec<OsString>) -> Result<String> {
        self.run_with(arguments, true).await
    }

    async fn run_with(&self, arguments: Vec<OsString>, low_priority: bool) -> Result<String> {
        self.check_model().await?;
        let (input, folder) = (self.snapshot.text.source().to_string(), self.snapshot.folder());
        let job = ProgramRun { arguments, input, folder, low_priority };
        self.shared.jobs.run(job).await.map_err(|why| self.refused(&why, None))
    }

    /// Returns the text of a compiler stage, from a background program that keeps running.
    ///
    /// # Errors
    ///
    /// As for [`ScheduleWithModel::run`].
    pub async fn stage(&self, stage: &'static str) -> Result<String> {
        self.check_model().await?;
        let text = self.snapshot.text.source().to_string();
        let stage = self.shared.serving.stage(self.model.clone(), text, stage).await;
        stage.map_err(|why| self.refused(&why, None))
    }

    /// Refuses a request for a missing or unreadable model, without starting a program.
    async fn check_model(&self) -> Result<()> {
        match self.shared.model(&self.model).await {
            ModelStatus::Missing => {
                let line = self.snapshot.binding.line;
                let help = match line {
                    Some(_) => "Correct the path in the `model` line, which is relative to the schedule.",
                    None => "Correct the setting schedc.model, which is relative to the workspace folder.",
                };
                let message = format!("{}\n{help}", missing(&self.snapshot, &self.model));
                Err(self.refusal(Some(UNREADABLE), &message, line))
            }
            ModelStatus::Failed(why) => Err(self.refused(&why, self.snapshot.binding.line)),
            ModelStatus::Ready(model) => self.check_schedule(&model),
            ModelStatus::Loading => Ok(()),
        }
    }

    /// Checks the schedule as the program will.
    fn check_schedule(&self, model: &InspectedModel) -> Result<()> {
        let options = CheckOptions {
            model: Some(Arc::clone(&model.info)),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let checked = check(self.snapshot.text.source(), &options);
        if let Some((wanted, span)) = &checked.header.fingerprint
            && *wanted != model.fingerprint
        {
            let message = other_fingerprint(&self.model, model);
            return Err(self.refusal(Some(OTHER_MODEL), &message, Some(*span)));
        }
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let mut errors = checked.diagnostics.iter().filter(is_error);
        let Some(first) = errors.next() else { return Ok(()) };
        let more = match errors.count() {
            0 => String::new(),
            1 => " (and another error)".to_owned(),
            count => format!(" (and {count} more errors)"),
        };
        let help = first.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
        let message = format!("{}{more}{help}", first.message);
        Err(self.refusal(Some(&first.code.to_string()), &message, Some(first.span())))
    }

    fn refused(&self, printed: &str, place: Option<Span>) -> Error {
        let refusal = PrintedError::read(printed);
        self.refusal(refusal.code, &refusal.text(), place)
    }

    /// Creates an error response whose data has the code, its page and the position, for links in editors.
    fn refusal(&self, code: Option<&str>, message: &str, place: Option<Span>) -> Error {
        let named = code.map_or_else(|| message.to_owned(), |code| format!("{code}: {message}"));
        let page = code.and_then(|code| self.pages.uri(code));
        let place =
            place.map(|span| json!({ "uri": self.snapshot.uri, "range": self.snapshot.text.range(span) }));
        Error { data: Some(json!({ "code": code, "page": page, "place": place })), ..failed(named) }
    }
}
