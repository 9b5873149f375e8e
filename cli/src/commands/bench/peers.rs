//! Peers: other engines that predict with the same model. A Python program that is part of schedc calls the
//! installed ones, compares their results with schedc's, and times them in turns.

use super::run::{BenchPoint, BenchRun};
use crate::args::{Bench, ScheduleOptions};
use crate::commands::load_job;
use crate::commands::timed_rows::rows_of;
use crate::program;
use crate::terminal::Terminal;
use sched_diagnostics::usage;
use schedc_data::{FeatureValues, write_atomically};
use schedc_driver::{CodeDestination, Failure};
use schedc_measure::Quartiles;
use schedc_verify::trainer::{ScriptFolder, write_rows};
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program, its engines, its loop, and the versions of its packages; `bench/run.sh` runs the same files.
const FILES: [(&str, &str); 4] = [
    ("peers.py", include_str!("../../../../bench/peers.py")),
    ("engines.py", include_str!("../../../../bench/engines.py")),
    ("turns.py", include_str!("../../../../bench/turns.py")),
    ("requirements.txt", include_str!("../../../../bench/requirements.txt")),
];
/// The name of schedc's own library among the program's contenders.
const OWN_NAME: &str = "schedc";
/// Largest relative difference from schedc's results at which a peer is timed; `peers.py` has it, too.
const TOLERANCE: f64 = 1e-4;

/// Seconds of wall time for a peer's C compiler. The code of 100 trees takes longer; few users would wait.
const COMPILE_SECONDS: &str = "30";

/// A line of the program's output: a remark about a contender, or its time at a point when called in one way.
#[derive(Debug, Deserialize)]
struct Line {
    who: String,
    /// The command that installs the peer, if Python lacks it.
    missing: Option<String>,
    /// The reason why the peer is not timed.
    left_out: Option<String>,
    largest_relative_difference: Option<f64>,
    #[serde(default)]
    threads: i32,
    #[serde(default)]
    batch: usize,
    us_per_row: Option<f64>,
    #[serde(default)]
    spread: [f64; 2],
}

/// The program that runs Python.
fn python() -> OsString {
    let named = std::env::var_os("PYTHON").filter(|name| !name.is_empty());
    named.unwrap_or_else(|| OsString::from("python3"))
}

/// Checks that Python runs, before any time is spent.
///
/// # Errors
/// If it does not.
pub fn check() -> Result<(), Failure> {
    let python = python();
    match Command::new(&python).arg("--version").stdin(Stdio::null()).output() {
        Ok(_) => Ok(()),
        Err(error) => Err(does_not_run(&python, &error)),
    }
}

fn does_not_run(python: &OsStr, error: &std::io::Error) -> Failure {
    let message = format!("{} does not run: {error}", python.display());
    Failure::usage(message, "PYTHON names the program, such as that of a virtual environment")
}

/// Adds the points of all peers that Python has, and those of schedc's library as Python calls it.
///
/// # Errors
/// If Python does not run the program.
pub fn add(args: &Bench, model: &Path, run: &mut BenchRun, terminal: &Terminal) -> Result<(), Failure> {
    let schedule = args.schedules.first().cloned();
    let options = ScheduleOptions { schedule, values: args.values.clone() };
    let job = load_job(model, &options, &args.reading, (args.cpu, CodeDestination::Artefact))?;
    let rows = rows_of(&args.rows, args.row_type, &job.model)?;
    let folder = ScriptFolder::new("bench")?;
    for (name, text) in FILES {
        write_atomically(&folder.file(name), |out| out.write_all(text.as_bytes()))?;
    }
    let file = folder.file("rows.npy");
    write_rows(&file, &rows, job.model.forest().num_features)?;
    let python = python();
    let mut command = Command::new(&python);
    command.arg(folder.file("peers.py")).arg("--schedc").arg(own_program()?);
    command.arg("--model").arg(&job.model.path).arg("--rows").arg(&file);
    command.arg("--compile-seconds").arg(COMPILE_SECONDS);
    command.arg("--repetitions").arg(args.samples.to_string()).arg("--batches").arg(batches(run));
    command.arg(format!("--build=--cpu={}", args.cpu));
    if let Some(schedule) = args.schedules.first() {
        command.arg("--build=--schedule").arg("--build").arg(schedule);
    }
    if matches!(rows, FeatureValues::F64(_)) {
        command.arg("--doubles");
    }
    let progress = terminal.progress(None, "timing peers");
    let output = command.stdin(Stdio::null()).output().map_err(|error| does_not_run(&python, &error))?;
    drop(progress);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it prints no reason");
        let help = format!("install NumPy for {}, or let PYTHON name another program", python.display());
        return Err(Failure::new(usage::WRONG, format!("the peers cannot be timed: {last}"), help));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for note in lines.iter().filter_map(|line| note(line, &lines)) {
        terminal.say(&format!("note: {note}"));
    }
    run.points.extend(points(&lines, run.trees));
    Ok(())
}

/// The program, which builds the library for Python.
fn own_program() -> Result<PathBuf, Failure> {
    program::executable().map_err(|error| {
        Failure::usage(format!("schedc does not find its own program: {error}"), "call it by its path")
    })
}

/// The numbers of rows of a run, separated by commas.
fn batches(run: &BenchRun) -> String {
    let mut all: Vec<usize> = run.points.iter().map(|point| point.batch).collect();
    all.sort_unstable();
    all.dedup();
    all.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The sentence about a peer that is not timed. `lines` are all lines of the program, for the names of the
/// peers whose results agree with schedc's.
fn note(line: &Line, lines: &[Line]) -> Option<String> {
    let who = &line.who;
    match (&line.missing, &line.left_out, line.largest_relative_difference) {
        (Some(command), _, _) => Some(format!("{who} is not installed; `{command}` adds it")),
        (_, Some(reason), _) => Some(format!("{who} is left out: {reason}")),
        (_, _, Some(largest)) if largest > TOLERANCE => {
            let percent = percent(largest);
            let agree = agreeing_peers(lines);
            Some(format!("{who} is left out: its results differ from schedc's by up to {percent}%{agree}"))
        }
        _ => None,
    }
}

/// A relative difference in percent, to two digits.
fn percent(difference: f64) -> String {
    let percent = 100.0 * difference;
    match percent {
        p if p >= 10.0 => format!("{p:.0}"),
        p if p >= 1.0 => format!("{p:.1}"),
        p if p >= 0.1 => format!("{p:.2}"),
        p => format!("{p:.3}"),
    }
}

/// `; XGBoost's and LightGBM's agree`: the peers whose results agree with schedc's, if there are any.
fn agreeing_peers(lines: &[Line]) -> String {
    let agrees = |line: &&Line| line.largest_relative_difference.is_some_and(|largest| largest <= TOLERANCE);
    let mut names: Vec<String> = Vec::new();
    for line in lines.iter().filter(agrees).filter(|line| line.who != OWN_NAME) {
        let name = format!("{}'s", line.who);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} agree"),
        [first @ .., last] => format!("; {} and {last} agree", first.join(", ")),
    }
}

/// The points of each contender, with the fastest of the ways to call it.
fn points(lines: &[Line], trees: usize) -> Vec<BenchPoint> {
    let mut found: Vec<BenchPoint> = Vec::new();
    for line in lines {
        let Some(median) = line.us_per_row else { continue };
        let [low, high] = line.spread;
        let name = if line.who == OWN_NAME { "schedc from Python" } else { &line.who };
        let mut point =
            BenchPoint::of(name, line.batch, line.threads, trees, Quartiles { low, median, high });
        point.peer = line.who != OWN_NAME;
        match found.iter_mut().find(|other| other.is_like(&point)) {
            Some(other) if other.us_per_row <= median => {}
            Some(other) => *other = point,
            None => found.push(point),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        serde_json::from_str(text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    #[test]
    fn remarks_become_notes() {
        let text = |json: &str| note(&line(json), &[]).unwrap_or_default();
        let missing = text(r#"{"who": "lignum", "missing": "pip install pylignum==0.3.0"}"#);
        assert_eq!(missing, "lignum is not installed; `pip install pylignum==0.3.0` adds it");
        assert!(text(r#"{"who": "YDF", "left_out": "too deep"}"#).ends_with("left out: too deep"));
        let differs = line(r#"{"who": "YDF", "largest_relative_difference": 2.5}"#);
        let lines = ["XGBoost", "lignum", "schedc"]
            .map(|who| line(&format!(r#"{{"who": "{who}", "largest_relative_difference": 1e-6}}"#)));
        assert_eq!(
            [&lines[..], &lines[..1], &[]].map(|lines| note(&differs, lines).unwrap_or_default()),
            ["; XGBoost's and lignum's agree", "; XGBoost's agree", ""]
                .map(|end| format!("YDF is left out: its results differ from schedc's by up to 250%{end}"))
        );
        assert_eq!(text(r#"{"who": "A", "largest_relative_difference": 1e-6}"#), "");
    }

    #[test]
    fn the_fastest_way_of_a_contender_counts() {
        let way = |who: &str, time: f64| {
            line(&format!(
                r#"{{"who": "{who}", "way": "w", "threads": 1, "batch": 64, "us_per_row": {time},
                    "spread": [{time}, {time}]}}"#
            ))
        };
        let lines = [way("schedc", 1.0), way("XGBoost", 4.0), way("XGBoost", 3.0), way("XGBoost", 5.0)];
        let found: Vec<_> = points(&lines, 10)
            .into_iter()
            .map(|point| (point.schedule, point.peer, point.us_per_row))
            .collect();
        let expected = [("schedc from Python", false, 1.0), ("XGBoost", true, 3.0)];
        assert_eq!(found, expected.map(|(name, peer, time)| (name.to_string(), peer, time)));
    }

    #[test]
    fn tolerance_is_that_of_the_program() {
        assert!(FILES[0].1.contains("\nTOLERANCE = 1e-4\n"));
    }
}
