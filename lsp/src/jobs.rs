//! Child processes of the server: `schedc`, for commands that read models or generate code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal, setpriority_process};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

/// Maximum number of programs that run at the same time.
const MAX_RUNNING_JOBS: usize = 2;
/// Maximum number of programs that run or wait; further ones are refused.
const MAX_JOBS: usize = 32;
/// Maximum length of a program's output in bytes; the rest is cut off.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// The queue of `schedc` processes.
#[derive(Clone)]
pub struct Jobs {
    program: Arc<Path>,
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

/// A program to run.
#[derive(Debug, Default)]
pub struct ProgramRun {
    /// Arguments of the command line.
    pub arguments: Vec<OsString>,
    /// Text for the standard input.
    pub input: String,
    /// Working directory; `None` for that of the server.
    pub folder: Option<PathBuf>,
    /// Whether the program runs at low priority.
    pub low_priority: bool,
}

/// Keeps a program in the count of `Jobs::waiting`; dropping this value takes it out.
struct CountedJob(Arc<AtomicUsize>);

impl Drop for CountedJob {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A running program. Dropping this value sends it a signal to end, so that it removes its unfinished files.
struct RunningProgram(u32);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.0).ok().and_then(Pid::from_raw) {
            let _ = kill_process(id, Signal::TERM);
        }
    }
}

/// Ends a program together with the server, even if an editor kills the server.
fn end_with_this_process(command: &mut Command) {
    let set_signal = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: between fork and exec only one system call runs.
    unsafe { command.pre_exec(set_signal) };
}

/// Runs a program at low priority.
fn lower_priority(command: &mut Command) {
    const PRIORITY: i32 = 10;
    // If the system refuses, the program keeps its normal priority.
    let set_priority = || setpriority_process(None, PRIORITY).or(Ok(()));
    // SAFETY: between fork and exec only one system call runs.
    unsafe { command.pre_exec(set_priority) };
}

impl Jobs {
    /// Finds the program: the file `schedc` beside the server's own program, or else the `schedc` on `PATH`.
    pub fn new() -> Jobs {
        let own = std::env::current_exe().ok();
        let beside = own.and_then(|own| Some(own.parent()?.join("schedc"))).filter(|path| path.is_file());
        let program = beside.unwrap_or_else(|| PathBuf::from("schedc"));
        Jobs {
            program: program.into(),
            permits: Arc::new(Semaphore::new(MAX_RUNNING_JOBS)),
            waiting: Arc::default(),
        }
    }

    /// Runs a program and returns its output. Dropping the future kills the program.
    ///
    /// # Errors
    ///
    /// The program's error message, or the reason why it could not run, as a text for users.
    pub async fn run(&self, job: ProgramRun) -> Result<String, String> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_JOBS {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err("too many programs are waiting to run; wait for them to end".to_owned());
        }
        let _counted = CountedJob(Arc::clone(&self.waiting));
        let _permit = self.permits.acquire().await.map_err(|error| error.to_string())?;
        self.run_now(job).await
    }

    /// The command for the program, without arguments. The program ends with this process.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&*self.program);
        command.args(["--color", "never"]);
        end_with_this_process(&mut command);
        command
    }

    /// The message for a program that could not be run.
    pub fn cannot_run(&self, error: &std::io::Error) -> String {
        format!("{} cannot be run: {error}; install it beside the language server", self.program.display())
    }

    async fn run_now(&self, job: ProgramRun) -> Result<String, String> {
        let mut command = self.command();
        command.args(&job.arguments);
        if job.low_priority {
            lower_priority(&mut command);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = job.folder.filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(|error| self.cannot_run(&error))?;
        let running = child.id().map(RunningProgram);
        let input = child.stdin.take();
        let feed = async {
            if let Some(mut input) = input {
                // If the program does not read its input, it reports the reason on standard error.
                let _ = input.write_all(job.input.as_bytes()).await;
            }
        };
        let (out, errors) = (child.stdout.take(), child.stderr.take());
        let ((), out, errors, status) = tokio::join!(feed, read(out), read(errors), child.wait());
        std::mem::forget(running);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match status {
            Ok(status) if status.success() => Ok(text(out)),
            Ok(status) => {
                let errors = text(errors);
                let errors = errors.trim();
                Err(if errors.is_empty() { format!("schedc ended with {status}") } else { errors.to_owned() })
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The output of a program, up to the limit [`MAX_OUTPUT_BYTES`].
async fn read(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // If the program dies, the output read so far counts.
        let _ = from.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    /// Waits until a file has a whole line, and returns its text.
    async fn content(path: &Path) -> String {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(60) {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
        panic!("{} was not written within a minute", path.display())
    }

    #[test]
    fn a_program_gets_a_signal_if_its_future_is_dropped() {
        let folder = std::env::temp_dir().join(format!("sched-lsp-jobs-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join("program");
        let script =
            "#!/bin/sh\ntrap 'echo cleaned up > ended; exit' TERM\necho begun > begun\nsleep 50 & wait\n";
        fs::write(&program, script).expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a script to run");
        let permits = Arc::new(Semaphore::new(MAX_RUNNING_JOBS));
        let jobs = Jobs { program: program.into(), permits, waiting: Arc::default() };
        let job = ProgramRun { folder: Some(folder.clone()), ..ProgramRun::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let ended = runtime.block_on(async {
            let begun = folder.join("begun");
            tokio::select! {
                result = jobs.run(job) => panic!("it ended by itself: {result:?}"),
                _ = content(&begun) => {}
            }
            content(&folder.join("ended")).await
        });
        assert_eq!(ended, "cleaned up");
        fs::remove_dir_all(folder).expect("the folder is there");
    }
}
