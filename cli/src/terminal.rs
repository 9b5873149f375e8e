//! What people see beside results: messages, findings and progress, all on standard error.

use crate::args::{Color, Format};
use crate::schedule::Source;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_lang::Checked;
use sched_lang::diagnostics::{Diagnostic, Severity, concise, full, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How messages are shown.
pub struct Terminal {
    color: bool,
    interactive: bool,
}

/// Work shorter than this shows no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

impl Terminal {
    /// Looks at standard error and the environment once.
    pub fn new(color: Color) -> Terminal {
        let interactive = std::io::stderr().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let color = match color {
            Color::Auto => interactive && wanted,
            Color::Always => true,
            Color::Never => false,
        };
        Terminal { color, interactive }
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
        if !shown.is_empty() {
            self.say(self.render(source, &shown, Format::Full).trim_end());
        }
        shown.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// Findings as text. Only the full format has colours.
    pub fn render(&self, source: &Source, findings: &[Diagnostic], format: Format) -> String {
        match format {
            Format::Full => full::render(&source.name, &source.text, findings, self.color),
            Format::Concise => concise::render(&source.name, &source.text, findings),
            Format::Json => json::render(&source.name, &source.text, findings),
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
