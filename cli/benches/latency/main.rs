//! Response times for editors. `bench/lsp.sh` builds and runs this benchmark, which drives the program over
//! its standard input and output, as editors do, and prints the table of `docs/lsp.md`.
//!
//! Arguments: the server's program with its arguments, and after `--` a model from which one of 100 MB is
//! made.

#[path = "../../tests/lsp/client.rs"]
mod client;
mod compiled;
mod texts;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use client::{Client, uri};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Timed keystrokes for each text.
const KEYSTROKES: usize = 1000;
/// Timed requests of each kind.
const REQUESTS: usize = 1000;
/// Timed starts of the server.
const SERVER_STARTS: usize = 40;
/// Size of the large model that a schedule names, in bytes.
const MODEL_BYTES: usize = 100_000_000;

fn main() -> Result<()> {
    // Cargo adds the argument `--bench`.
    let mut program: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let at = program
        .iter()
        .position(|word| word == "--")
        .ok_or("usage: latency PROGRAM [ARGUMENT]... -- MODEL")?;
    let model = PathBuf::from(program.get(at + 1).ok_or("no model is named")?);
    program.truncate(at);
    let folder = std::env::temp_dir().join(format!("schedc-latency-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = measure(&program, &model, &folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn measure(program: &[String], model: &Path, folder: &Path) -> Result<()> {
    println!("| | median | p99 | worst | processor, median | p99 | aim |\n|---|---|---|---|---|---|---|");
    let mut starts = Vec::new();
    for _ in 0..SERVER_STARTS {
        starts.push(start(program)?);
    }
    row("start to first diagnostic, 200 lines", starts, 100.0);

    let mut client = greet(program)?;
    for (name, text) in texts::all(200) {
        let times = keystrokes(&mut client, &untitled(&format!("{name}-200")), &text)?;
        row(&format!("keystroke to diagnostics, 200 lines, {name}"), times, 5.0);
    }
    for (name, text) in texts::all(5000) {
        let times = keystrokes(&mut client, &untitled(&format!("{name}-5000")), &text)?;
        row(&format!("keystroke to diagnostics, 5,000 lines, {name}"), times, 20.0);
    }
    for (name, text) in texts::all(200) {
        for method in ["hover", "completion"] {
            let times = requests(&mut client, &untitled(&format!("{name}-{method}")), method, &text)?;
            row(&format!("{method}, 200 lines, {name}"), times, 2.0);
        }
    }
    end(client)?;
    compiled::measure(program, model)?;
    bound(program, model, folder)
}

/// Prints the times of keystrokes and completions, and the memory of the server, for a schedule with a large
/// model.
fn bound(program: &[String], model: &Path, folder: &Path) -> Result<()> {
    let size = enlarge(model, &folder.join("large.json"))?;
    let mut client = greet(program)?;
    let text = format!("model \"large.json\"\n{}", texts::blocks(200));
    // This document stays open, so that the server keeps the model and the times do not include reading it.
    client.open(&uri(&folder.join("first.sched")), 0, &text);
    let changed = client.wait(|message| message["method"] == "sched/changed");
    changed.ok_or("the model was not read")?;
    let times = keystrokes(&mut client, &uri(&folder.join("keystrokes.sched")), &text)?;
    row("keystroke to diagnostics, 200 lines, model bound", times, 5.0);
    let times = requests(&mut client, &uri(&folder.join("completions.sched")), "completion", &text)?;
    row("completion, 200 lines, model bound", times, 2.0);
    let status = fs::read_to_string(format!("/proc/{}/status", client.id()))?;
    let memory = |key: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
    };
    let (now, most) = (memory("VmRSS:").unwrap_or(f64::NAN), memory("VmHWM:").unwrap_or(f64::NAN));
    let megabytes = size / 1_000_000;
    println!(
        "\nResident memory with a model of {megabytes} MB bound: {now:.1} MiB, at most {most:.1} MiB (aim: \
         50 MB)."
    );
    end(client)
}

fn greet(program: &[String]) -> Result<Client> {
    let (first, rest) = program.split_first().ok_or("no program is named")?;
    let mut client = Client::start(Command::new(first).args(rest))?;
    client.initialize(json!({
        "capabilities": {
            "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } }
        },
    }));
    Ok(client)
}

fn end(client: Client) -> Result<()> {
    if client.end() == Some(0) { Ok(()) } else { Err("the server did not end as it should".into()) }
}

/// The name of a document that is no file.
fn untitled(name: &str) -> String {
    format!("untitled:{}", name.replace(' ', "-"))
}

/// The time from the start of the program to the diagnostics of the first document.
fn start(program: &[String]) -> Result<Elapsed> {
    let text = texts::blocks(200);
    let begin = Instant::now();
    let mut client = greet(program)?;
    client.open("untitled:first", 1, &text);
    client.diagnostics("untitled:first", 1).ok_or("no diagnostics")?;
    let time =
        Elapsed { passed: client.arrived.saturating_duration_since(begin), used: Some(used(&client)?) };
    end(client)?;
    Ok(time)
}

/// The positions of all ends of words in a text.
fn places(text: &str) -> Vec<(u32, u32)> {
    let mut places = Vec::new();
    for (line, content) in (0..).zip(text.lines()) {
        let ends = content.char_indices().zip(content.chars().skip(1).chain(['\n']));
        let is_end = |(at, c): (usize, char), next: char| {
            (c.is_alphanumeric() && !next.is_alphanumeric()).then_some(at + c.len_utf8())
        };
        let columns = ends.filter_map(|(here, next)| is_end(here, next));
        places.extend(columns.filter_map(|column| Some((line, u32::try_from(column).ok()?))));
    }
    places
}

fn position((line, character): (u32, u32)) -> Value {
    json!({ "line": line, "character": character })
}

/// Types a character at many positions and deletes it again, and waits each time for the diagnostics.
fn keystrokes(client: &mut Client, name: &str, text: &str) -> Result<Vec<Elapsed>> {
    client.open(name, 1, text);
    client.diagnostics(name, 1).ok_or("no diagnostics")?;
    let places = places(text);
    let mut times = Vec::new();
    for number in 0..KEYSTROKES {
        let (line, column) = *places.get(number / 2 * 7919 % places.len()).ok_or("an empty text")?;
        let version = i32::try_from(number + 2)?;
        let at = position((line, column));
        let (end, new) = if number % 2 == 0 { (at.clone(), "x") } else { (position((line, column + 1)), "") };
        let (begin, before) = (Instant::now(), used(client)?);
        client.change(name, version, &[(json!({ "start": at, "end": end }), new)]);
        client.diagnostics(name, version).ok_or("no diagnostics")?;
        let passed = client.arrived.saturating_duration_since(begin);
        times.push(Elapsed { passed, used: Some(used(client)?.saturating_sub(before)) });
        client.unread.clear();
    }
    Ok(times)
}

/// Sends a request at many positions, each just after a keystroke, as editors do while somebody types.
fn requests(client: &mut Client, name: &str, method: &str, text: &str) -> Result<Vec<Elapsed>> {
    client.open(name, 1, text);
    client.diagnostics(name, 1).ok_or("no diagnostics")?;
    let places = places(text);
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let at = *places.get(number * 7919 % places.len()).ok_or("an empty text")?;
        let version = i32::try_from(number + 2)?;
        client.change(name, version, &[(Value::Null, text)]);
        client.diagnostics(name, version).ok_or("no diagnostics")?;
        let params = json!({ "textDocument": { "uri": name }, "position": position(at) });
        let (begin, before) = (Instant::now(), used(client)?);
        client.request(&format!("textDocument/{method}"), params);
        let passed = client.arrived.saturating_duration_since(begin);
        times.push(Elapsed { passed, used: Some(used(client)?.saturating_sub(before)) });
        client.unread.clear();
    }
    Ok(times)
}

/// The time of an operation, by the clock and by the processor.
struct Elapsed {
    /// Wall-clock time, from a request on the pipe to its answer.
    passed: Duration,
    /// Processor time of the server, which other load on the machine does not change. `None` if other
    /// programs do the work.
    used: Option<Duration>,
}

/// The processor time of the server since its start.
fn used(client: &Client) -> Result<Duration> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{}/task", client.id()))? {
        let statistics = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += statistics.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

fn row(name: &str, times: Vec<Elapsed>, aim: f64) {
    let mut passed: Vec<Duration> = times.iter().map(|time| time.passed).collect();
    let mut used: Vec<Duration> = times.iter().filter_map(|time| time.used).collect();
    passed.sort_unstable();
    used.sort_unstable();
    let at = |times: &[Duration], part: f64| {
        let place = ((times.len() as f64 * part).ceil() as usize).clamp(1, times.len().max(1)) - 1;
        times.get(place).map_or(String::new(), |time| format!("{:.2} ms", time.as_secs_f64() * 1e3))
    };
    let (median, high, worst) = (at(&passed, 0.5), at(&passed, 0.99), at(&passed, 1.0));
    let (own, own_high) = (at(&used, 0.5), at(&used, 0.99));
    println!("| {name} | {median} | {high} | {worst} | {own} | {own_high} | {aim} ms |");
}

/// Writes a large model that repeats the trees of another. Returns its size in bytes.
fn enlarge(model: &Path, to: &Path) -> Result<usize> {
    let text = fs::read_to_string(model)?;
    let mut value: Value = serde_json::from_str(&text)?;
    let booster =
        value.pointer_mut("/learner/gradient_booster/model").ok_or("this is no model of XGBoost's")?;
    let trees = booster["trees"].as_array().cloned().ok_or("the model has no trees")?;
    let groups = booster["tree_info"].as_array().cloned().ok_or("the model has no tree_info")?;
    let times = MODEL_BYTES.div_ceil(text.len());
    let mut all = Vec::new();
    for _ in 0..times {
        for tree in &trees {
            let mut tree = tree.clone();
            tree["id"] = json!(all.len());
            all.push(tree);
        }
    }
    let count = all.len();
    booster["gbtree_model_param"]["num_trees"] = json!(count.to_string());
    booster["iteration_indptr"] = (0..=count).collect();
    booster["tree_info"] = groups.iter().cycle().take(count).cloned().collect();
    booster["trees"] = Value::Array(all);
    let text = value.to_string();
    fs::write(to, &text)?;
    Ok(text.len())
}
