//! Replays the transcripts of the command line in `tests/cli/*.txt`, each in a separate folder.
//!
//! A transcript is a text of lines that begin with
//!
//! - `copy PATH [NAME]`: copies a file of the repository, or of `tests/cli/fixtures`, into the folder;
//! - `file NAME`, then `|` lines: writes a file with these lines into the folder;
//! - `$ COMMAND`: runs a command with `sh`, in which `schedc` is the program under test. The lines below it
//!   are the expected results: `|` standard output, `!` standard error, `= N` an exit status other than 0,
//!   and `+ NAME`, `~ NAME` and `- NAME` files that it makes, changes and removes, in the folder and in the
//!   folder for temporary files.
//!
//! All other lines are remarks. Times, sizes of built files and the folder's path are replaced by `N` and
//! `DIR`. `UPDATE=1` rewrites the transcripts; `TRANSCRIPT=name` replays one of them.

use crate::support::{shell, without_figures};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of threads that replay transcripts.
const WORKERS: usize = 2;

#[test]
fn transcripts() -> io::Result<()> {
    let update = std::env::var_os("UPDATE").is_some();
    let paths = transcript_paths()?;
    assert!(!paths.is_empty(), "no transcript");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut problems = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            match replay_file(path, update) {
                Ok(found) => problems.extend(found),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        problems
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|_| vec!["a worker panicked".to_string()]))
            .collect()
    });
    let summary = "\nrun with UPDATE=1 to accept all of this, and review the difference";
    assert!(problems.is_empty(), "{}{summary}", problems.join("\n"));
    Ok(())
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli")
}

fn transcript_paths() -> io::Result<Vec<PathBuf>> {
    let wanted = std::env::var("TRANSCRIPT").ok();
    let mut paths = Vec::new();
    for entry in fs::read_dir(tests())? {
        let path = entry?.path();
        let fits =
            wanted.as_ref().is_none_or(|name| path.file_stem().is_some_and(|stem| stem == name.as_str()));
        if path.extension().is_some_and(|extension| extension == "txt") && fits {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Replays a transcript and returns the differences, or rewrites it.
fn replay_file(path: &Path, update: bool) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let steps = parse(&text);
    let sandbox = Sandbox::new()?;
    let mut problems = Vec::new();
    let mut rewritten = String::new();
    for step in &steps {
        rewritten += &step.head();
        match step {
            Step::Remark(_) => {}
            Step::Copy { from, to } => sandbox.copy(from, to)?,
            Step::File { name, lines } => sandbox.write(name, &(lines.join("\n") + "\n"))?,
            Step::Run { line, command, expected } => {
                let happened = sandbox.run(command)?;
                rewritten += &joined(&happened);
                if happened != *expected {
                    let place = format!("{}:{line}", path.display());
                    let (expected, happened) = (joined(expected), joined(&happened));
                    problems.push(format!("{place}: $ {command}\nexpected\n{expected}but\n{happened}"));
                }
            }
        }
    }
    if update {
        fs::write(path, rewritten)?;
        problems.clear();
    }
    Ok(problems)
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A piece of a transcript.
enum Step {
    Remark(String),
    Copy { from: String, to: String },
    File { name: String, lines: Vec<String> },
    Run { line: usize, command: String, expected: Vec<String> },
}

impl Step {
    /// The lines of the step, without the results of a command.
    fn head(&self) -> String {
        match self {
            Step::Remark(line) => format!("{line}\n"),
            Step::Copy { from, to } if from.ends_with(&format!("/{to}")) || from == to => {
                format!("copy {from}\n")
            }
            Step::Copy { from, to } => format!("copy {from} {to}\n"),
            Step::File { name, lines } => {
                let lines: Vec<String> = lines.iter().map(|line| marked('|', line)).collect();
                format!("file {name}\n{}", joined(&lines))
            }
            Step::Run { command, .. } => format!("$ {command}\n"),
        }
    }
}

fn marked(mark: char, line: &str) -> String {
    if line.is_empty() { mark.to_string() } else { format!("{mark} {line}") }
}

fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let mut below = |marks: &[char]| {
            let mut taken = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(marks)) {
                taken.push(line.to_string());
            }
            taken
        };
        steps.push(if let Some(command) = line.strip_prefix("$ ") {
            let expected = below(&['|', '!', '=', '+', '~', '-']);
            Step::Run { line: at + 1, command: command.to_string(), expected }
        } else if let Some(name) = line.strip_prefix("file ") {
            let bare = |line: String| line.get(2..).unwrap_or_default().to_string();
            Step::File { name: name.to_string(), lines: below(&['|']).into_iter().map(bare).collect() }
        } else if let Some(paths) = line.strip_prefix("copy ") {
            let own_name = paths.rsplit('/').next().unwrap_or_default();
            let (from, to) = paths.split_once(' ').unwrap_or((paths, own_name));
            Step::Copy { from: from.to_string(), to: to.to_string() }
        } else {
            Step::Remark(line.to_string())
        });
    }
    steps
}

/// A folder for one transcript: `work` where commands run, and `temp` for their temporary files.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> io::Result<Sandbox> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("work"))?;
        fs::create_dir(folder.path().join("temp"))?;
        Ok(Sandbox { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn place(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path("work").join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(path)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.place(name)?, text)
    }

    fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        let fixture = tests().join("fixtures").join(from);
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(from);
        let found = if fixture.exists() { fixture } else { repository };
        fs::copy(found, self.place(to)?).map(drop)
    }

    /// Runs a command and returns its results, line by line.
    fn run(&self, command: &str) -> io::Result<Vec<String>> {
        let before = self.files()?;
        let output = shell(command, &self.path("work")).env("TMPDIR", self.path("temp")).output()?;
        let mut lines = self.marked_lines('|', &output.stdout);
        lines.extend(self.marked_lines('!', &output.stderr));
        match output.status.code() {
            Some(0) => {}
            Some(code) => lines.push(format!("= {code}")),
            None => lines.push(format!("= {}", output.status)),
        }
        lines.extend(differences(&before, &self.files()?));
        Ok(lines)
    }

    fn marked_lines(&self, mark: char, bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.replace(&self.path("work").display().to_string(), "DIR");
        text.lines().map(|line| marked(mark, without_figures(line).trim_end())).collect()
    }

    /// The content of all files, by path.
    fn files(&self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path("work"), self.path("temp")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let path = entry.path();
                let name = path.strip_prefix(self.path("work")).unwrap_or(&path).display().to_string();
                match entry.file_type()? {
                    kind if kind.is_dir() => folders.push(path),
                    kind if kind.is_file() => drop(files.insert(name, fs::read(path)?)),
                    _ => drop(files.insert(name, Vec::new())),
                }
            }
        }
        Ok(files)
    }
}

fn differences(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let made = after.iter().filter_map(|(name, content)| match before.get(name) {
        None => Some(format!("+ {name}")),
        Some(old) if old != content => Some(format!("~ {name}")),
        Some(_) => None,
    });
    let removed = before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("- {name}"));
    made.chain(removed).collect()
}
