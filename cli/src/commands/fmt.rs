//! `schedc fmt`: formats schedules.

use crate::args::Fmt;
use crate::files::schedules;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::check_syntax;
use schedc_data::write_atomically;
use schedc_driver::Failure;
use schedc_driver::ScheduleSource;
use similar::TextDiff;

/// Number of files by outcome.
#[derive(Default)]
struct FileCounts {
    changed: usize,
    unchanged: usize,
    refused: usize,
}

/// Runs the command. Other files are still formatted after a file with syntax errors.
pub fn run(args: &Fmt, terminal: &Terminal) -> Result<(), Failure> {
    let mut count = FileCounts::default();
    let mut worst = 0;
    for file in schedules(&args.files)? {
        if let Err(failure) =
            ScheduleSource::read(&file).and_then(|source| format_file(args, &source, terminal, &mut count))
        {
            worst = worst.max(terminal.refuse(failure));
        }
    }
    if worst > 0 {
        return Err(Failure::Reported(worst));
    }
    let is_filter = args.files.iter().all(|file| file.as_os_str() == "-") && !args.check && !args.diff;
    if !is_filter {
        summarise(args, terminal, &count);
    }
    let is_wanting = (args.check || args.diff) && count.changed > 0;
    if is_wanting || count.refused > 0 { Err(Failure::Findings) } else { Ok(()) }
}

fn format_file(
    args: &Fmt,
    source: &ScheduleSource,
    terminal: &Terminal,
    count: &mut FileCounts,
) -> Result<(), Failure> {
    let Ok(text) = sched_lang::format(&source.text) else {
        count.refused += 1;
        refuse(source, terminal);
        return Ok(());
    };
    let is_changed = text != source.text;
    *(if is_changed { &mut count.changed } else { &mut count.unchanged }) += 1;
    if args.diff && is_changed {
        let diff = TextDiff::from_lines(&source.text, &text);
        return print(&diff.unified_diff().header(&source.name, &source.name).to_string());
    }
    if args.check && is_changed {
        return print(&format!("{}\n", source.name));
    }
    match &source.path {
        _ if args.check || args.diff => Ok(()),
        None => print(&text),
        Some(path) if is_changed => Ok(write_atomically(path, |out| out.write_all(text.as_bytes()))?),
        Some(_) => Ok(()),
    }
}

/// Reports the syntax errors of a file that is not formatted.
fn refuse(source: &ScheduleSource, terminal: &Terminal) {
    terminal.explain(source, check_syntax(&source.text));
    terminal.say(&format!("{} is unchanged", source.name));
}

fn summarise(args: &Fmt, terminal: &Terminal, count: &FileCounts) {
    let files = |n: usize| if n == 1 { "1 schedule".to_string() } else { format!("{n} schedules") };
    let mut parts = Vec::new();
    if count.changed > 0 {
        let done = if args.check || args.diff { "to be formatted" } else { "formatted" };
        parts.push(format!("{} {done}", files(count.changed)));
    }
    if count.unchanged > 0 {
        parts.push(format!("{} already formatted", files(count.unchanged)));
    }
    if count.refused > 0 {
        parts.push(format!("{} with syntax errors", files(count.refused)));
    }
    terminal.say(&parts.join(", "));
}
