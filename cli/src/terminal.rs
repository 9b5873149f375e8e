//! Messages, findings and progress on standard error; findings of `schedc check` on standard output.

use crate::args::{Color, Format};
use crate::stdout::print;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_lang::CheckedSchedule;
use sched_lang::diagnostics::{Diagnostic, Findings, Severity, codes, concise, full, github, json, sarif};
use schedc_driver::{Failure, Reporter, ScheduleSource};
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The output of messages, in the chosen format and colours.
pub struct Terminal {
    /// Colours on standard error.
    color: bool,
    /// Colours on standard output.
    color_out: bool,
    interactive: bool,
    /// The format of findings.
    format: Format,
    /// Whether findings are the command's result and go to standard output.
    to_output: bool,
    /// Findings that are printed at the end, in formats for programs.
    kept: RefCell<Vec<FileFindings>>,
}

/// Findings of a file. For findings without a file, name and text are empty.
struct FileFindings {
    name: String,
    text: String,
    findings: Vec<Diagnostic>,
}

impl FileFindings {
    fn findings(&self) -> Findings<'_> {
        Findings { path: &self.name, source: &self.text, diagnostics: &self.findings }
    }
}

/// The findings of all files as one text.
pub fn render(files: &[Findings], format: Format, color: bool) -> String {
    let each = |one: &dyn Fn(&Findings) -> String| -> String { files.iter().map(one).collect() };
    match format {
        Format::Full => each(&|file| full::render(file.path, file.source, file.diagnostics, color)),
        Format::Concise => each(&|file| concise::render(file.path, file.source, file.diagnostics)),
        Format::Github => each(&|file| github::render(file.path, file.source, file.diagnostics)),
        Format::Json => json::render_files(files) + "\n",
        Format::Sarif => sarif::render(files, env!("CARGO_PKG_VERSION")),
    }
}

fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Shortest duration of work that shows a progress bar.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

impl Terminal {
    /// Detects terminals and colours. `to_output`: findings are the command's result and go to standard
    /// output.
    pub fn new(color: Color, format: Format, to_output: bool) -> Terminal {
        let interactive = std::io::stderr().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb");
        let colored = |is_terminal: bool| match color {
            Color::Auto => is_terminal && wanted,
            Color::Always => true,
            Color::Never => false,
        };
        let color_out = colored(std::io::stdout().is_terminal());
        Terminal {
            color: colored(interactive),
            color_out,
            interactive,
            format,
            to_output,
            kept: RefCell::default(),
        }
    }

    /// Prints a line for people to standard error, and ignores errors. In formats for programs, prints it
    /// only if findings go to standard output.
    pub fn say(&self, text: &str) {
        if self.is_for_people() || self.to_output {
            print_error(text);
        }
    }

    /// The format of findings.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether messages are for people and are printed at once.
    pub fn is_for_people(&self) -> bool {
        self.format == Format::Full
    }

    /// Refuses `--explain-schedule` if standard error is for programs.
    pub fn expect_people(&self, explain_schedule: bool) -> Result<(), Failure> {
        if !explain_schedule || self.is_for_people() {
            return Ok(());
        }
        let message =
            "--explain-schedule prints text to standard error, where --format writes findings for programs";
        Err(Failure::usage(message, "leave out --format, or print the schedule in a call of its own"))
    }

    /// Reports the failure that stops a command, unless its findings are already printed. Returns the exit
    /// status.
    pub fn refuse(&self, failure: Failure) -> u8 {
        let status = failure.status();
        match failure {
            Failure::Findings | Failure::Reported(_) => {}
            Failure::Refused(diagnostic) if self.is_for_people() => {
                print_error(full::plain("", &diagnostic, self.color).trim_end());
            }
            Failure::Refused(diagnostic) => self.keep("", "", vec![*diagnostic]),
        }
        status
    }

    /// Reports a diagnostic that does not stop the command.
    pub fn show(&self, diagnostic: Diagnostic) {
        match self.is_for_people() {
            true => print_error(full::plain("", &diagnostic, self.color).trim_end()),
            false => self.keep("", "", vec![diagnostic]),
        }
    }

    /// Reports findings in a schedule.
    pub fn explain(&self, source: &ScheduleSource, findings: Vec<Diagnostic>) {
        if !self.is_for_people() && (self.to_output || !findings.is_empty()) {
            self.keep(&source.name, &source.text, findings);
        } else if self.is_for_people() && !findings.is_empty() {
            print_error(full::render(&source.name, &source.text, &findings, self.color).trim_end());
        }
    }

    /// Findings of a schedule with the source text around each, for standard output.
    pub fn full(&self, source: &ScheduleSource, findings: &[Diagnostic]) -> String {
        full::render(&source.name, &source.text, findings, self.color_out)
    }

    /// Keeps findings until the end: most formats put all of them into one document.
    fn keep(&self, name: &str, text: &str, findings: Vec<Diagnostic>) {
        self.kept.borrow_mut().push(FileFindings {
            name: name.to_string(),
            text: text.to_string(),
            findings,
        });
    }

    /// Prints the findings that were kept.
    pub fn finish(&self) -> Result<(), Failure> {
        if self.is_for_people() {
            return Ok(());
        }
        let kept = self.kept.borrow();
        let files: Vec<Findings> = kept.iter().map(FileFindings::findings).collect();
        let text = render(&files, self.format, false);
        if self.to_output {
            return print(&text);
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        Ok(())
    }

    /// A progress bar over `total` steps, or a counter if the total is unknown. Appears only on a terminal,
    /// after [`PROGRESS_DELAY`].
    pub fn progress(&self, total: impl Into<Option<u64>>, what: &str) -> Progress {
        let total = total.into();
        let template = match total {
            Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} {eta}",
            None => "{msg} {spinner} {human_pos}",
        };
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.to_string());
        Progress { bar, since: Instant::now(), interactive: self.interactive }
    }
}

impl Reporter for Terminal {
    fn report(&self, source: &ScheduleSource, checked: &CheckedSchedule, least: Severity) -> usize {
        // A schedule for GPUs that does not name its target is worth a note, though it is fine.
        let is_note = |d: &Diagnostic| least <= Severity::Warning && d.code == codes::NO_TARGET;
        if self.is_for_people() {
            let notes = checked.diagnostics.iter().filter(|d| d.severity < least && is_note(d));
            notes.for_each(|note| {
                self.say(&format!(
                    "note: {}: {}; write `target gpu` if that is intended",
                    source.name, note.message
                ));
            });
        }
        let severe = |d: &&Diagnostic| d.severity >= least || !self.is_for_people() && is_note(d);
        let shown: Vec<Diagnostic> = checked.diagnostics.iter().filter(severe).cloned().collect();
        let errors = shown.iter().filter(|d| d.severity == Severity::Error).count();
        self.explain(source, shown);
        errors
    }
}

/// Progress of one piece of work.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
    interactive: bool,
}

impl Progress {
    /// Advances the bar by `steps`.
    pub fn advance(&self, steps: u64) {
        if self.interactive && self.bar.is_hidden() && self.since.elapsed() > PROGRESS_DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(steps);
    }
}

impl Progress {
    /// Sets the text beside the bar.
    pub fn say(&self, text: &str) {
        self.bar.set_message(text.to_string());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
