//! Runs commands with the program under test, and normalizes their output for comparison.

use std::path::Path;
use std::process::{Command, Stdio};

/// A command for `sh` in a folder. `schedc` is the program under test, and no variables are inherited.
pub fn shell(command: &str, folder: &Path) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_schedc")).parent().unwrap_or(Path::new("")).display();
    let search = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{programs}:{search}"))
        .env("LC_ALL", "C")
        .env("SCHEDC_NUM_THREADS", "2")
        .stdin(Stdio::null());
    shell
}

/// Replaces by `N` each number before a unit whose values differ between runs.
pub fn without_figures(line: &str) -> String {
    [" ms", " µs", " KiB"].into_iter().fold(line.to_string(), |line, unit| {
        let mut text = String::new();
        let mut pieces = line.split(unit).peekable();
        while let Some(piece) = pieces.next() {
            let kept = piece.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            match pieces.peek() {
                Some(_) if kept.len() < piece.len() => text += &format!("{kept}N{unit}"),
                Some(_) => text += &format!("{piece}{unit}"),
                None => text += piece,
            }
        }
        text
    })
}
