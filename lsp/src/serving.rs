//! Stages of schedules that change all the time: a program that stays up has read the model already.

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

/// Programs that stay up at the same time, each with a model.
const MOST: usize = 2;
/// Time after which an idle program ends.
const IDLE: Duration = Duration::from_secs(600);

/// Runs `schedc ir --serve`.
pub struct Serving {
    jobs: Jobs,
    wishes: OnceLock<mpsc::UnboundedSender<Wish>>,
}

/// A request to a program.
struct Wish {
    model: PathBuf,
    text: String,
    stage: &'static str,
    /// Rows of the calls that are meant, where only these matter.
    rows: Option<u64>,
    answer: oneshot::Sender<Result<String, String>>,
}

/// Reply of `schedc ir --serve`, one JSON object per line.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Text(String),
    Error(String),
}

/// A program with a model.
struct Program {
    /// Killed when it is dropped.
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    /// Creates the state without programs. The first request starts one.
    pub fn new(jobs: Jobs) -> Serving {
        Serving { jobs, wishes: OnceLock::new() }
    }

    /// Compiles a schedule with a model, and returns the text of a stage. A request whose caller has given up
    /// before its turn is dropped.
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
    /// As of [`Serving::stage`].
    pub async fn cost(&self, model: PathBuf, text: String, rows: u64) -> Result<f64, String> {
        let told = self.ask(model, text, ("cost", Some(rows))).await?;
        told.trim().parse().map_err(|_| format!("schedc told no cost: {told}"))
    }

    async fn ask(
        &self,
        model: PathBuf,
        text: String,
        (stage, rows): (&'static str, Option<u64>),
    ) -> Result<String, String> {
        let wishes = self.wishes.get_or_init(|| {
            let (wishes, wanted) = mpsc::unbounded_channel();
            tokio::spawn(serve(self.jobs.clone(), wanted));
            wishes
        });
        let (answer, told) = oneshot::channel();
        let gone = "the program that compiles has ended";
        wishes.send(Wish { model, text, stage, rows, answer }).map_err(|_| gone.to_owned())?;
        told.await.unwrap_or_else(|_| Err(gone.to_owned()))
    }
}

/// Serves requests one after the other.
async fn serve(jobs: Jobs, mut wanted: mpsc::UnboundedReceiver<Wish>) {
    let mut programs: HashMap<PathBuf, Program> = HashMap::new();
    loop {
        let wish = match tokio::time::timeout(IDLE, wanted.recv()).await {
            Ok(Some(wish)) => wish,
            Ok(None) => return,
            Err(_) => {
                programs.clear();
                continue;
            }
        };
        if wish.answer.is_closed() {
            continue;
        }
        let answer = answer(&jobs, &mut programs, &wish).await;
        // Whoever waited may have given up meanwhile.
        let _ = wish.answer.send(answer);
    }
}

async fn answer(
    jobs: &Jobs,
    programs: &mut HashMap<PathBuf, Program>,
    wish: &Wish,
) -> Result<String, String> {
    let mut program = match programs.remove(&wish.model) {
        Some(program) => program,
        None => {
            if programs.len() >= MOST {
                programs.clear();
            }
            start(jobs, &wish.model)?
        }
    };
    // A program that fails is gone, and the next wish starts another.
    let line = exchange(&mut program, wish).await.map_err(|error| format!("schedc ended: {error}"))?;
    let reply: Reply = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    programs.insert(wish.model.clone(), program);
    match reply {
        Reply::Text(text) => Ok(text),
        Reply::Error(error) => Err(error),
    }
}

fn start(jobs: &Jobs, model: &PathBuf) -> Result<Program, String> {
    let mut command = jobs.command();
    command.args(["ir", "--serve", "--model"]).arg(model).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| jobs.cannot_run(&error))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("schedc has no input or output".to_owned());
    };
    Ok(Program { _child: child, input, output: BufReader::new(output).lines() })
}

async fn exchange(program: &mut Program, wish: &Wish) -> std::io::Result<String> {
    let line = format!("{}\n", json!({ "text": wish.text, "stage": wish.stage, "rows": wish.rows }));
    program.input.write_all(line.as_bytes()).await?;
    program.input.flush().await?;
    let line = program.output.next_line().await?;
    line.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}
