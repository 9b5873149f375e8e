//! `workspace/executeCommand`: what is done with a schedule, by `schedc` in the background.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::{ExecuteCommandParams, Uri};

use crate::convert::failed;
use crate::document::path_of;
use crate::pages::Pages;
use crate::progress;
use crate::state::Shared;
use crate::subject::Subject;

/// Builds a shared library: `{uri, output?}` -> `{output}`.
pub const BUILD: &str = "schedc.build";
/// Measures a schedule: `{uri, input?}` -> what `schedc bench --json` prints.
pub const BENCH: &str = "schedc.bench";

/// What a command is about.
#[derive(Debug, Deserialize)]
struct Arguments {
    /// The schedule.
    uri: Uri,
    /// Where the library goes.
    output: Option<PathBuf>,
    /// Rows to measure with.
    input: Option<PathBuf>,
}

/// Runs a command.
///
/// # Errors
///
/// There is no such command, its arguments are wrong, or it failed.
pub async fn execute(
    shared: &Arc<Shared>,
    pages: &Arc<Pages>,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    let argument = params.arguments.into_iter().next().unwrap_or_default();
    let read = serde_json::from_value::<Arguments>(argument);
    let arguments = || read.map_err(|error| Error::invalid_params(format!("{{uri}} is needed: {error}")));
    let token = params.work_done_progress_params.work_done_token;
    match params.command.as_str() {
        BUILD => {
            let arguments = arguments()?;
            let subject = Subject::of(shared, pages, &arguments.uri)?;
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
            let subject = Subject::of(shared, pages, &arguments.uri)?;
            let mut words = words(&["bench", "-s", "-", "--json"]);
            words.push(subject.model.clone().into_os_string());
            if let Some(input) = arguments.input {
                words.extend(["-i".into(), input.into_os_string()]);
            }
            let work = async move { subject.run(words).await };
            let text = progress::run(shared, work, token, "Measuring the schedule".to_owned()).await?;
            serde_json::from_str(&text).map(Some).map_err(|error| failed(format!("schedc bench: {error}")))
        }
        other => Err(Error::invalid_params(format!("there is no command {other}"))),
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}
