//! Old spellings of arguments. They are rewritten to the present ones before clap parses the command line, in
//! all commands that have the present one.

use super::line::{CommandLine, Item, has, option_of_file, shell_text};
use super::model_and_schedules::may_be_schedule;
use clap::{ArgAction, Command};
use schedc_driver::job::is_schedule;
use std::ffi::OsString;
use std::path::Path;

/// An argument of the grammar that all commands share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    /// The first argument that is a file.
    Model,
    /// A schedule.
    Schedule,
    /// Rows of a call.
    Batch,
    /// Type of rows.
    RowType,
    /// Rows that the loops of a schedule process at once.
    BatchSize,
    /// Time of a search or a verification.
    Budget,
}

/// Values with which an option is an old spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// All.
    Any,
    /// Numbers, separated by commas.
    Numbers,
    /// Types of rows.
    Types,
}

/// The old spellings, and those that users bring from other programs: names of an option, its values, and the
/// present argument.
const OLD_SPELLINGS: [(&[&str], Values, Present); 7] = [
    (&["--model", "-m"], Values::Any, Present::Model),
    (&["--start", "--sched", "--schedules"], Values::Any, Present::Schedule),
    (&["--rows"], Values::Numbers, Present::Batch),
    (&["--rows"], Values::Types, Present::RowType),
    (&["--rowtype", "--row_type", "--type", "--dtype"], Values::Any, Present::RowType),
    (&["--batchsize", "--batch_size"], Values::Numbers, Present::BatchSize),
    (&["--seconds", "--time", "--time-limit"], Values::Any, Present::Budget),
];

impl Present {
    /// The spelling of the argument, as a part of a sentence.
    fn spelling(self) -> &'static str {
        match self {
            Present::Model => "the first argument",
            Present::Schedule => "`-s`",
            Present::Batch => "`--batch`",
            Present::RowType => "`--row-type`",
            Present::BatchSize => "`--batch-size`",
            Present::Budget => "`--budget`",
        }
    }

    /// The argument as an option with a value.
    fn option(self, value: OsString) -> Item {
        let name = self.spelling().trim_matches('`');
        Item::Option(name.to_string(), vec![name.into(), self.value(value)])
    }

    /// The value with a unit, if it lacks one.
    fn value(self, value: OsString) -> OsString {
        match value.to_str() {
            Some(text) if self == Present::Budget && text.parse::<f64>().is_ok() => format!("{text}s").into(),
            _ => value,
        }
    }

    /// Whether a command has the argument.
    fn is_of(self, command: &Command) -> bool {
        match self {
            Present::Model => model_index(command).is_some(),
            Present::Schedule => has(command, "schedule"),
            Present::Batch => has(command, "batch"),
            Present::RowType => has(command, "row-type"),
            Present::BatchSize => has(command, "batch-size"),
            Present::Budget => has(command, "budget"),
        }
    }
}

impl Values {
    /// Whether these values include `value`.
    fn include(self, value: &str) -> bool {
        match self {
            Values::Any => true,
            Values::Numbers => is_numbers(value),
            Values::Types => ["f32", "f64", "both"].contains(&value),
        }
    }
}

/// Whether an option is the type of rows, in the present or an old spelling.
pub fn is_row_type(option: &str) -> bool {
    let is_old = |(names, values, now): &(&[&str], Values, Present)| {
        *now == Present::RowType && *values == Values::Any && names.contains(&option)
    };
    option == "--row-type" || OLD_SPELLINGS.iter().any(is_old)
}

/// Whether a text is numbers, separated by commas.
pub fn is_numbers(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == ',')
}

/// The position of the model among the positions of a command, from 0, if it has one.
pub fn model_index(command: &Command) -> Option<usize> {
    command.get_positionals().position(|argument| {
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.starts_with("MODEL")))
    })
}

/// Rewrites old spellings. Also returns a note with the rewritten line if there were any, or about an option
/// that users mistake for another.
pub fn rewrite(arguments: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let is_old = |name: &str| OLD_SPELLINGS.iter().any(|(old, _, _)| old.contains(&name));
    let Some(line) = CommandLine::of(&arguments, is_old) else { return (arguments, None) };
    let mut rewriting = Rewriting { line, model: None, changes: Vec::new() };
    rewriting.rewrite_options();
    if !rewriting.line.has_unknown || rewriting.model.is_some() {
        rewriting.rewrite_words();
    }
    if rewriting.changes.is_empty() {
        return (arguments, limit_note(&rewriting.line));
    }
    let words = rewriting.line.words();
    let shown: Vec<OsString> = ["schedc".into()].into_iter().chain(words.iter().skip(1).cloned()).collect();
    let note = format!("note: {}: `{}`", rewriting.changes.join(", "), shell_text(&shown));
    (words, Some(note))
}

/// A note on `--batch-size` in commands whose calls have the rows of `--batch`: some users mean that option.
fn limit_note(line: &CommandLine) -> Option<String> {
    let names: Vec<&str> = line.items.iter().filter_map(Item::name).collect();
    let is_meant = names.contains(&"--batch-size") && !names.contains(&"--batch");
    let note = "note: `--batch-size` limits the rows that the schedule's loops process at once; \
                `--batch` sets the rows of a call";
    (is_meant && has(&line.command, "batch")).then(|| note.to_string())
}

/// A command line while it is rewritten.
struct Rewriting {
    line: CommandLine,
    /// The model that an option named.
    model: Option<OsString>,
    /// The changes, as parts of a sentence.
    changes: Vec<String>,
}

impl Rewriting {
    /// Notes a change.
    fn note(&mut self, change: String) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Replaces old names of options, and takes the model out of its option.
    fn rewrite_options(&mut self) {
        let items = std::mem::take(&mut self.line.items);
        let words: Vec<OsString> = items.iter().filter_map(|item| item.word().cloned()).collect();
        for mut item in items {
            if let Some((old, now)) = present(&item, &self.line.command)
                && let Some(value) = item.value_word()
                && !(now == Present::Model && self.model.is_some())
            {
                self.note(format!("`{old}` is now {}", now.spelling()));
                if now == Present::Model {
                    // Some users name the model in both ways.
                    self.model = Some(value).filter(|value| !words.contains(value));
                    continue;
                }
                item = now.option(value);
            }
            self.line.items.push(item);
        }
    }

    /// Puts the model first, and -s before schedules at positions.
    fn rewrite_words(&mut self) {
        let Some(first) = model_index(&self.line.command) else { return };
        let items = self.line.items.iter().enumerate().take_while(|(_, item)| **item != Item::End);
        let words = items.filter(|(_, item)| matches!(item, Item::Word(_)));
        let places: Vec<usize> = words.map(|(at, _)| at).skip(first).collect();
        if Present::Schedule.is_of(&self.line.command) {
            self.rewrite_schedules(&places);
        }
        if let Some(model) = self.model.take() {
            let words = self.line.items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Word(_)));
            let before = match first.checked_sub(1) {
                None => Some(0),
                Some(last) => words.map(|(at, _)| at + 1).nth(last),
            };
            let end = self.line.items.len();
            self.line.items.insert(before.unwrap_or(end), Item::Word(model));
        }
    }

    /// Puts -s before the schedules among the words at `places`, which begin with that of the model. If the
    /// model follows its schedule there, takes it out.
    fn rewrite_schedules(&mut self, places: &[usize]) {
        let files: Vec<OsString> =
            places.iter().filter_map(|at| self.line.items[*at].word().cloned()).collect();
        let (schedules, model) = schedules_among(&files, &self.line, self.model.is_some());
        for at in &schedules {
            let value = files[*at].clone();
            self.line.items[places[*at]] = Present::Schedule.option(value);
        }
        if let Some(at) = model {
            self.line.items.remove(places[at]);
            self.model = Some(files[at].clone());
            self.note("the model comes first".to_string());
        }
        if !schedules.is_empty() {
            self.note("a schedule follows -s".to_string());
        }
    }
}

/// The indices of the schedules among the files of a command line, and that of a model behind its schedule.
/// `has_model` tells whether an option names the model.
fn schedules_among(files: &[OsString], line: &CommandLine, has_model: bool) -> (Vec<usize>, Option<usize>) {
    let command = &line.command;
    let is_many = |argument: &clap::Arg| matches!(argument.get_action(), ArgAction::Append);
    let takes_many = command.get_positionals().any(is_many);
    let takes_one = command.get_positionals().count() == 1;
    let (path, is_named) =
        (|at: usize| Path::new(&files[at]), |at: usize| is_schedule(Path::new(&files[at])));
    // A file that another option takes is no schedule.
    let is_left = |at: usize| takes_one && option_of_file(path(at), command).is_none();
    let is_no_library = |at: usize| {
        option_of_file(path(at), command).is_none()
            && path(at).extension().is_none_or(|ending| ending != "so")
    };
    let has_option = || {
        let mut options = line.items.iter().filter_map(Item::name);
        options.any(|name| name.starts_with("-s") || name == "--schedule")
    };
    let all = 0..files.len();
    let schedules = match files {
        _ if has_model && takes_many => all.collect(),
        _ if has_model => all.filter(|at| is_named(*at) || is_left(*at)).collect(),
        // In the order of the command line, which `diff` reads.
        [first, ..] if takes_many => {
            let are_schedules =
                |files: &[OsString]| files.iter().all(|file| may_be_schedule(Path::new(file)));
            let last = files.len() - 1;
            match may_be_schedule(Path::new(first)) {
                false if are_schedules(&files[1..]) => all.skip(1).collect(),
                true if last > 0 && are_schedules(&files[..last]) && !are_schedules(&files[last..]) => {
                    return (all.take(last).collect(), Some(last));
                }
                true if has_option() && are_schedules(files) => all.collect(),
                _ => Vec::new(),
            }
        }
        [_, _] if is_named(0) && !is_named(1) && (is_left(1) || is_no_library(1)) => {
            return (vec![0], Some(1));
        }
        [_, ..] if !is_named(0) => all.skip(1).filter(|at| is_named(*at)).collect(),
        _ => Vec::new(),
    };
    (schedules, None)
}

/// The old name and the present argument of an option, if it is an old spelling in a command.
fn present(item: &Item, command: &Command) -> Option<(&'static str, Present)> {
    let name = item.name()?;
    let value = item.value()?;
    let is_known = |option: &clap::Arg| {
        let is_long = option.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long));
        is_long || option.get_short().is_some_and(|short| name == format!("-{short}"))
    };
    if command.get_arguments().any(is_known) {
        return None;
    }
    OLD_SPELLINGS.iter().find_map(|(names, values, now)| {
        let old = names.iter().find(|old| **old == name)?;
        (values.include(&value) && now.is_of(command)).then_some((*old, *now))
    })
}

#[cfg(test)]
mod tests {
    use super::{OLD_SPELLINGS, Present, Values, model_index, rewrite};
    use crate::args::Cli;
    use clap::{Arg, Command, CommandFactory, Parser};
    use std::ffi::OsString;

    /// The rewritten line, and the note.
    fn rewritten(line: &str) -> (String, Option<String>) {
        let (words, note) = rewrite(line.split(' ').map(OsString::from).collect());
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        (words.join(" "), note)
    }

    /// A line of a command with all arguments that it needs, except its model.
    fn start_of(command: &Command) -> String {
        let model = model_index(command).and_then(|at| command.get_positionals().nth(at)).map(Arg::get_id);
        let mut line = format!("schedc {}", command.get_name());
        for argument in
            command.get_arguments().filter(|one| one.is_required_set() && Some(one.get_id()) != model)
        {
            line.extend(argument.get_long().map(|long| format!(" --{long}")));
            let words = argument.get_possible_values();
            line += &format!(" {}", words.first().map_or("x", |word| word.get_name()));
        }
        line
    }

    /// A value of `now` with which a spelling for `values` is old.
    fn sample(values: Values, now: Present) -> &'static str {
        match (values, now) {
            (Values::Numbers, _) => "64",
            (_, Present::RowType) => "f32",
            (_, Present::Schedule) => "x.sched",
            (_, Present::Budget) => "5",
            _ => "m.json",
        }
    }

    /// Asserts that an old line has the meaning of a new one, and that a note names `old`.
    fn assert_is_rewritten(line: &str, old: &str, new: &str) {
        let parsed = |line: &str| match Cli::try_parse_from(line.split(' ')) {
            Ok(cli) => format!("{cli:?}"),
            Err(error) => panic!("{line}: {error}"),
        };
        let (words, note) = rewritten(line);
        assert_eq!(parsed(&words), parsed(new), "{line}");
        let note = note.unwrap_or_default();
        assert!(note.starts_with(&format!("note: `{old}` is now ")), "{line}: {note}");
        assert!(note.ends_with(&format!(": `{words}`")), "{line}: {note}");
        assert_eq!(rewritten(new).0, new);
    }

    #[test]
    fn old_spellings_work_in_all_commands_that_have_the_present_one() {
        let cli = Cli::command();
        let mut tried = 0;
        for command in cli.get_subcommands() {
            let model = model_index(command).map_or("", |_| " m.json");
            for (names, values, now) in OLD_SPELLINGS {
                let mut start = start_of(command);
                if command.get_name() == "lock" && now == Present::Budget {
                    start += " --upgrade m.json:1";
                }
                let value = sample(values, now);
                let new = match now {
                    Present::Model => format!("{start} {value}"),
                    _ => {
                        let present = now.value(value.into());
                        let option = now.spelling().trim_matches('`');
                        format!("{start}{model} {option} {}", present.to_string_lossy())
                    }
                };
                let before = if now == Present::Model { "" } else { model };
                for old in names.iter().filter(|_| now.is_of(command)) {
                    for gap in [" ", "="] {
                        assert_is_rewritten(&format!("{start}{before} {old}{gap}{value}"), old, &new);
                        tried += 1;
                    }
                }
            }
            if Present::Model.is_of(command) && Present::Schedule.is_of(command) {
                let start = start_of(command);
                let (words, note) = rewritten(&format!("{start} m.json x.sched"));
                assert_eq!(words, format!("{start} m.json -s x.sched"));
                assert_eq!(note, Some(format!("note: a schedule follows -s: `{words}`")));
            }
        }
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn all_commands_share_one_grammar() {
        let cli = Cli::command();
        let old: Vec<&str> = OLD_SPELLINGS.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
        for command in cli.get_subcommands() {
            for argument in command.get_arguments() {
                let place = format!("{} of {}", argument.get_id(), command.get_name());
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let long = argument.get_long();
                assert_eq!(argument.get_short() == Some('s'), long == Some("schedule"), "{place}");
                assert_eq!(help.starts_with("Rows per call"), long == Some("batch"), "{place}");
                let of_rows = ["type of the rows", "Type of the rows", "Types of rows"];
                assert_eq!(
                    of_rows.iter().any(|words| help.contains(words)),
                    long == Some("row-type"),
                    "{place}"
                );
                assert!(
                    !argument.is_positional() || !help.contains("model file") || {
                        let names = argument.get_value_names().unwrap_or_default();
                        names.iter().any(|name| name.starts_with("MODEL"))
                    },
                    "{place}"
                );
                assert!(long.is_none_or(|long| !old.contains(&format!("--{long}").as_str())), "{place}");
                assert!(argument.get_short() != Some('m'), "{place}");
            }
        }
    }

    #[test]
    fn notes_have_the_present_line() {
        let lines = [
            ("check --model m.json a.sched b.sched", "check m.json -s a.sched -s b.sched"),
            ("diff a.txt --model=m.json b.txt", "diff m.json -s a.txt -s b.txt"),
            ("show nest a.sched --model m.json", "show nest m.json -s a.sched"),
            ("ir --model m.json a.txt --stage lir", "ir m.json -s a.txt --stage lir"),
            ("build a.sched -m m.json -o m.so", "build m.json -s a.sched -o m.so"),
            ("verify libm.so --model m.json", "verify m.json libm.so"),
            ("bench a.sched m.json", "bench m.json -s a.sched"),
            ("verify a.sched m.json", "verify m.json -s a.sched"),
            ("check a.sched b.sched m.json", "check m.json -s a.sched -s b.sched"),
            ("check m.json -s a.sched b.sched", "check m.json -s a.sched -s b.sched"),
            ("show nest a.sched m.json", "show nest m.json -s a.sched"),
            ("diff m.json -s b.sched a.sched", "diff m.json -s b.sched -s a.sched"),
            ("diff -s b.sched a.sched", "diff -s b.sched -s a.sched"),
            (
                "tune m.json --rows 1,8 --type=f32 --start a.sched",
                "tune m.json --batch 1,8 --row-type f32 -s a.sched",
            ),
            ("build m.json --model m.json -s a.sched", "build m.json -s a.sched"),
            ("verify m.json --seconds 5", "verify m.json --budget 5s"),
            ("tune m.json --time=2m", "tune m.json --budget 2m"),
            ("build m.json -s a.sched --batchsize 8", "build m.json -s a.sched --batch-size 8"),
            ("--format full bench m.json --rows f32", "--format full bench m.json --row-type f32"),
        ];
        for (old, new) in lines {
            let (words, note) = rewritten(&format!("schedc {old}"));
            assert_eq!(words, format!("schedc {new}"));
            assert!(note.is_some_and(|note| note.ends_with(&format!(": `{words}`"))), "{old}");
        }
        let (words, note) = rewritten("schedc bench m.json --batch-size 64");
        assert_eq!(words, "schedc bench m.json --batch-size 64");
        assert!(note.is_some_and(|note| note.ends_with("`--batch` sets the rows of a call")));
        let (_, note) = rewrite(["schedc", "ir", "--model", "a b"].map(OsString::from).to_vec());
        assert_eq!(note.unwrap_or_default(), "note: `--model` is now the first argument: `schedc ir 'a b'`");
    }

    #[test]
    fn other_lines_stay() {
        let lines = [
            "bench m.json --row-type f32 --batch 1 --batch-size 8",
            "predict m.json --rows r.csv",
            "predict m.json r.csv",
            "build m.json --rows 64",
            "build a.sched b.sched",
            "check a.sched b.sched",
            "verify m.json libm.so",
            "fmt --model m.json",
            "build --model",
            "predict m.json -- --rows",
            "check a.sched --unknown m.json",
        ];
        for line in lines.map(|line| format!("schedc {line}")) {
            assert_eq!(rewritten(&line), (line.clone(), None));
        }
    }
}
