//! What people see beside results: messages, findings and progress, all on standard error.

use crate::args::{Color, Format};
use crate::schedule::Source;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_lang::Checked;
use sched_lang::diagnostics::{Diagnostic, Findings, Severity, concise, full, github, json, sarif};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How messages are shown.
pub struct Terminal {
    /// Colours on standard error.
    color: bool,
    /// Colours on standard output.
    color_out: bool,
    interactive: bool,
}

/// Work shorter than this shows no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

impl Terminal {
    /// Looks at standard output, standard error and the environment once.
    pub fn new(color: Color) -> Terminal {
        let interactive = std::io::stderr().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let colored = |is_terminal: bool| match color {
            Color::Auto => is_terminal && wanted,
            Color::Always => true,
            Color::Never => false,
        };
        let color_out = colored(std::io::stdout().is_terminal());
        Terminal { color: colored(interactive), color_out, interactive }
    }

    /// Prints a line; a standard error that cannot be written is nobody's loss.
    pub fn say(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Prints an error that ends the command.
    pub fn error(&self, message: &str) {
        let (red, off) = if self.color { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        self.say(&format!("{red}error{off}: {message}"));
    }

    /// Prints the findings that are at least this severe, and counts the errors.
    pub fn findings(&self, source: &Source, checked: &Checked, least: Severity) -> usize {
        let severe = |d: &&Diagnostic| d.severity >= least;
        let shown: Vec<Diagnostic> = checked.diagnostics.iter().filter(severe).cloned().collect();
        self.explain(source, &shown);
        shown.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// Prints findings for people.
    pub fn explain(&self, source: &Source, findings: &[Diagnostic]) {
        if !findings.is_empty() {
            self.say(full::render(&source.name, &source.text, findings, self.color).trim_end());
        }
    }

    /// The findings of all files as one text for standard output. Only the full format has colours.
    pub fn render<'f>(&self, files: &'f [(Source, Vec<Diagnostic>)], format: Format) -> String {
        let each = |one: &dyn Fn(&str, &str, &[Diagnostic]) -> String| -> String {
            files.iter().map(|(source, findings)| one(&source.name, &source.text, findings)).collect()
        };
        let all = || -> Vec<Findings<'f>> {
            let one = |(source, diagnostics): &'f (Source, Vec<Diagnostic>)| Findings {
                path: &source.name,
                source: &source.text,
                diagnostics,
            };
            files.iter().map(one).collect()
        };
        match format {
            Format::Full => each(&|path, text, findings| full::render(path, text, findings, self.color_out)),
            Format::Concise => each(&concise::render),
            Format::Github => each(&github::render),
            Format::Json => json::render_files(&all()) + "\n",
            Format::Sarif => sarif::render(&all(), env!("CARGO_PKG_VERSION")),
        }
    }

    /// A progress bar over `total` steps. It appears on a terminal only, and only when the work takes a while.
    pub fn progress(&self, total: u64, what: &str) -> Progress {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.to_string());
        Progress { bar, since: Instant::now(), interactive: self.interactive }
    }
}

/// Progress of one piece of work.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
    interactive: bool,
}

impl Progress {
    /// So many steps are done.
    pub fn advance(&self, steps: u64) {
        if self.interactive && self.bar.is_hidden() && self.since.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
