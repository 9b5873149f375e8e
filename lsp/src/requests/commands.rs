//! `workspace/executeCommand`: commands on a schedule, which run `schedc` in the background.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::{CodeAction, CodeActionKind, Command, ExecuteCommandParams, Position, Uri};

use super::ledger::{CHOOSE, LedgerOffer};
use super::{ledger, sweep};
use crate::convert::failed;
use crate::document::{Snapshot, path_of};
use crate::pages::Pages;
use crate::progress;
use crate::state::ServerData;
use crate::subject::ScheduleWithModel;

/// Builds a shared library: `{uri, output?}` -> `{output}`.
pub const BUILD: &str = "schedc.build";
/// Measures a schedule: `{uri, input?, batch?, threads?, baseline?}` -> the output of `schedc bench --json`.
pub const BENCH: &str = "schedc.bench";
/// The fastest schedule that a search of some seconds finds: `{uri}` -> `{range, text}`.
pub const TUNE: &str = "schedc.tune";
/// All commands.
pub const ALL: [&str; 5] = [BUILD, BENCH, CHOOSE, TUNE, sweep::SWEEP];

/// The kind of the action that inserts the schedule that schedc chooses.
pub const CHOOSE_KIND: CodeActionKind = CodeActionKind::new("source.chooseSchedule");
/// The kind of the action that searches for a fast schedule.
pub const TUNE_KIND: CodeActionKind = CodeActionKind::new("source.tuneSchedule");

/// Time limit of a search.
const SEARCH_TIME: &str = "5s";

/// The arguments of all commands. Each command reads some of them.
#[derive(Debug, Deserialize)]
struct CommandArguments {
    /// The schedule.
    uri: Uri,
    /// The library to write.
    output: Option<PathBuf>,
    /// The file with rows for measurements.
    input: Option<PathBuf>,
    /// Numbers of rows of a call; each is measured.
    #[serde(default)]
    batch: Vec<u64>,
    /// Numbers of threads of a call; each is measured.
    #[serde(default)]
    threads: Vec<u32>,
    /// Whether to measure the plain nest and the schedule that schedc chooses, too.
    #[serde(default)]
    baseline: bool,
    /// The position of the number to replace.
    position: Option<Position>,
    /// Values to measure in place of the number.
    #[serde(default)]
    values: Vec<i64>,
}

impl CommandArguments {
    /// The arguments of `schedc bench` that select the measured calls.
    fn calls(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut list = |option: &str, numbers: Vec<String>| {
            if !numbers.is_empty() {
                words.extend([option.into(), numbers.join(",").into()]);
            }
        };
        list("--batch", self.batch.iter().map(ToString::to_string).collect());
        list("--threads", self.threads.iter().map(ToString::to_string).collect());
        if self.baseline {
            words.push("--baseline".into());
        }
        words
    }
}

/// Runs a command.
///
/// # Errors
///
/// The command is unknown, its arguments are wrong, or it failed.
pub async fn execute(
    shared: &Arc<ServerData>,
    pages: &Arc<Pages>,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    let argument = params.arguments.into_iter().next().unwrap_or_default();
    let read = serde_json::from_value::<CommandArguments>(argument);
    let arguments = || read.map_err(|error| Error::invalid_params(format!("{{uri}} is needed: {error}")));
    let token = params.work_done_progress_params.work_done_token;
    match params.command.as_str() {
        BUILD => {
            let arguments = arguments()?;
            let subject = ScheduleWithModel::of(shared, pages, &arguments.uri)?;
            let output = arguments.output.or_else(|| Some(path_of(&arguments.uri)?.with_extension("so")));
            let output = output.unwrap_or_else(|| subject.model.with_extension("so"));
            let mut words = words(&["build", "-s", "-", "-o"]);
            words.extend([output.clone().into_os_string(), subject.model.clone().into_os_string()]);
            let work = async move { subject.run(words).await };
            progress::run(shared, work, token, format!("Building {}", output.display())).await?;
            Ok(Some(json!({ "output": output })))
        }
        BENCH => {
            let arguments = arguments()?;
            let subject = ScheduleWithModel::of(shared, pages, &arguments.uri)?;
            let mut words = words(&["bench", "-s", "-", "--json"]);
            words.extend(arguments.calls());
            words.push(subject.model.clone().into_os_string());
            if let Some(input) = arguments.input {
                words.extend(["-i".into(), input.into_os_string()]);
            }
            let work = async move { subject.run(words).await };
            let text = progress::run(shared, work, token, "Measuring the schedule".to_owned()).await?;
            serde_json::from_str(&text).map(Some).map_err(|error| failed(format!("schedc bench: {error}")))
        }
        sweep::SWEEP => {
            let CommandArguments { uri, position, values, .. } = arguments()?;
            sweep::sweep((shared, pages), &uri, position, &values, token).await.map(Some)
        }
        CHOOSE => {
            let subject = ScheduleWithModel::of(shared, pages, &arguments()?.uri)?;
            let snapshot = Arc::clone(&subject.snapshot);
            // One sample of each schedule suffices, since the user does not see the times.
            let mut words =
                words(&["bench", "-s", "-", "--prefixes", "--json", "--samples", "1", "--budget", "0s"]);
            words.push(subject.model.clone().into_os_string());
            let work = async move { subject.run_at_low_priority(words).await };
            let text = progress::run(shared, work, token, "Choosing a schedule".to_owned()).await?;
            let ledger =
                serde_json::from_str(&text).map_err(|error| failed(format!("schedc bench: {error}")))?;
            Ok(Some(ledger::replacement(&snapshot, &ledger, "chosen")))
        }
        TUNE => {
            let subject = ScheduleWithModel::of(shared, pages, &arguments()?.uri)?;
            let snapshot = Arc::clone(&subject.snapshot);
            let mut words = words(&["tune", "--json", "--budget", SEARCH_TIME]);
            words.push(subject.model.clone().into_os_string());
            let work = async move { subject.run_at_low_priority(words).await };
            let text = progress::run(shared, work, token, "Searching for a fast schedule".to_owned()).await?;
            let found =
                serde_json::from_str(&text).map_err(|error| failed(format!("schedc tune: {error}")))?;
            Ok(Some(ledger::replacement(&snapshot, &found, "schedule")))
        }
        other => Err(Error::invalid_params(format!("unknown command {other}"))),
    }
}

/// The actions that insert a whole schedule: the one that schedc chooses, or the result of a search.
pub fn schedule_actions(snapshot: &Snapshot, offer: Option<LedgerOffer>) -> Vec<CodeAction> {
    let action = |title: String, command: &str, kind| {
        let arguments = Some(vec![json!({ "uri": snapshot.uri })]);
        let command = Command { title: title.clone(), command: command.to_owned(), arguments };
        CodeAction { title, kind: Some(kind), command: Some(command), ..CodeAction::default() }
    };
    let choose =
        offer.map_or_else(|| "Insert the schedule that schedc chooses".to_owned(), |offer| offer.title);
    let all = [
        action(choose, CHOOSE, CHOOSE_KIND),
        action(format!("Tune for {SEARCH_TIME}: insert the fastest schedule that is found"), TUNE, TUNE_KIND),
    ];
    all.into_iter().filter(|_| sweep::is_measurable(snapshot)).collect()
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}
