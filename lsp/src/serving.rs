//! Compiler stages of schedules during editing. A background program keeps running between requests, so that
//! it reads the model only once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use crate::jobs::Jobs;

/// Maximum number of background programs that run at the same time, one for each model.
const MAX_PROGRAMS: usize = 2;
/// Time after which an idle program ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Client of background programs `schedc ir --serve`, one for each model.
pub struct StageClient {
    jobs: Jobs,
    requests: OnceLock<mpsc::UnboundedSender<PendingRequest>>,
}

/// A request to compile a schedule in a background program.
struct PendingRequest {
    model: PathBuf,
    text: String,
    stage: &'static str,
    /// Rows per call, for the stage `cost`.
    rows: Option<u64>,
    answer: oneshot::Sender<Result<String, String>>,
}

/// Reply of `schedc ir --serve`: each reply is a line with a JSON object.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Text(String),
    Error(String),
}

/// A background program that has read a model.
struct BackgroundProgram {
    /// Child process, which is killed when dropped.
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl StageClient {
    /// Creates the state without programs. The first request starts one.
    pub fn new(jobs: Jobs) -> StageClient {
        StageClient { jobs, requests: OnceLock::new() }
    }

    /// Compiles a schedule with a model, and returns the text of a stage. Requests run one after the other; a
    /// request is dropped if its caller no longer waits when the request would begin.
    ///
    /// # Errors
    ///
    /// The program's error message, or the reason why it could not run, as a text for users.
    pub async fn stage(&self, model: PathBuf, text: String, stage: &'static str) -> Result<String, String> {
        self.ask(model, text, (stage, None)).await
    }

    /// The cost of a call of `rows` rows under a schedule, in cycles by the cost model.
    ///
    /// # Errors
    ///
    /// As for [`StageClient::stage`].
    pub async fn cost(&self, model: PathBuf, text: String, rows: u64) -> Result<f64, String> {
        let printed = self.ask(model, text, ("cost", Some(rows))).await?;
        printed.trim().parse().map_err(|_| format!("schedc returned no cost: {printed}"))
    }

    async fn ask(
        &self,
        model: PathBuf,
        text: String,
        (stage, rows): (&'static str, Option<u64>),
    ) -> Result<String, String> {
        let requests = self.requests.get_or_init(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(serve(self.jobs.clone(), receiver));
            sender
        });
        let (answer, answered) = oneshot::channel();
        let gone = "the background compiler has ended; try again";
        requests.send(PendingRequest { model, text, stage, rows, answer }).map_err(|_| gone.to_owned())?;
        answered.await.unwrap_or_else(|_| Err(gone.to_owned()))
    }
}

/// Answers requests one after the other. Ends all programs after [`IDLE_TIMEOUT`] without a request.
async fn serve(jobs: Jobs, mut requests: mpsc::UnboundedReceiver<PendingRequest>) {
    let mut programs: HashMap<PathBuf, BackgroundProgram> = HashMap::new();
    loop {
        let request = match tokio::time::timeout(IDLE_TIMEOUT, requests.recv()).await {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(_) => {
                programs.clear();
                continue;
            }
        };
        if request.answer.is_closed() {
            continue;
        }
        let answer = answer(&jobs, &mut programs, &request).await;
        // The caller may no longer wait.
        let _ = request.answer.send(answer);
    }
}

async fn answer(
    jobs: &Jobs,
    programs: &mut HashMap<PathBuf, BackgroundProgram>,
    request: &PendingRequest,
) -> Result<String, String> {
    let mut program = match programs.remove(&request.model) {
        Some(program) => program,
        None => {
            if programs.len() >= MAX_PROGRAMS {
                programs.clear();
            }
            start(jobs, &request.model)?
        }
    };
    // A program that fails is not put back, and the next request starts another.
    let line = exchange(&mut program, request).await.map_err(|error| format!("schedc ended: {error}"))?;
    let reply: Reply = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    programs.insert(request.model.clone(), program);
    match reply {
        Reply::Text(text) => Ok(text),
        Reply::Error(error) => Err(error),
    }
}

fn start(jobs: &Jobs, model: &PathBuf) -> Result<BackgroundProgram, String> {
    let mut command = jobs.command();
    command.args(["ir", "--serve"]).arg(model).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| jobs.cannot_run(&error))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("schedc has no input or output".to_owned());
    };
    Ok(BackgroundProgram { _child: child, input, output: BufReader::new(output).lines() })
}

async fn exchange(program: &mut BackgroundProgram, request: &PendingRequest) -> std::io::Result<String> {
    let line = format!("{}\n", json!({ "text": request.text, "stage": request.stage, "rows": request.rows }));
    program.input.write_all(line.as_bytes()).await?;
    program.input.flush().await?;
    let line = program.output.next_line().await?;
    line.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}
