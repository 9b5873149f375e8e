//! Old spellings of arguments, which still work and cause a note, and proposals for options of other
//! programs.

use super::{Cli, Command};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, ValueEnum};
use std::path::Path;

/// Renamed options: the command, the old spelling and the new one.
const RENAMED_OPTIONS: [(&str, &str, &str); 6] = [
    ("bench", "--rows", "--row-type"),
    ("build", "--rows", "--row-type"),
    ("explain-speed", "--rows", "--row-type"),
    ("ir", "--rows", "--row-type"),
    ("tune", "--rows", "--batch"),
    ("tune", "--start", "--schedule"),
];

/// Notes on the old spellings in a command line. `command` is its command.
pub fn notes(command: &str, cli: &Cli, arguments: &[String]) -> Vec<String> {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let has = |old: &str| {
        let mut options = options.clone();
        options.any(|argument| argument.split_once('=').map_or(argument.as_str(), |(name, _)| name) == old)
    };
    let renamed = RENAMED_OPTIONS.iter().filter(|(of, old, _)| *of == command && has(old));
    let mut notes: Vec<String> =
        renamed.map(|(_, old, new)| format!("note: `{old}` is now `{new}`")).collect();
    notes.extend(respelled(cli).map(|line| format!("note: `--model` is now the first argument: `{line}`")));
    notes
}

/// The command line with the model as first argument, if its model follows `--model`.
fn respelled(cli: &Cli) -> Option<String> {
    match &cli.command {
        Command::Check(args) => args.files.respelled("check"),
        Command::Diff(args) => args.files.respelled("diff"),
        Command::Show(args) => {
            let view = args.what.to_possible_value()?;
            args.files.respelled(&format!("show {}", view.get_name()))
        }
        Command::Ir(args) => {
            let model = args.old_model.as_ref()?.display();
            let schedule = args.what.as_ref().map(|file| format!(" -s {}", file.display()));
            Some(format!("schedc ir {model}{}", schedule.unwrap_or_default()))
        }
        _ => None,
    }
}

/// Options by which other programs ask for sums before the transformation of the objective.
const RAW_OPTIONS: [&str; 5] = ["--raw", "--margin", "--raw-score", "--raw_score", "--output-margin"];
/// Endings of files with rows.
const ROW_FILE_ENDINGS: [&str; 9] = ["csv", "tsv", "parquet", "arrow", "feather", "ipc", "npy", "npz", "txt"];

/// The error of a command line with a proposal in the words of schedc, if there is one, instead of clap's.
pub fn explained(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let proposed = proposal(&error, arguments);
    // No argument of schedc begins with a hyphen, as clap's proposal assumes: `-- --option`.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    if let Some(text) = proposed {
        for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand]
        {
            error.remove(kind);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(text)]));
    }
    error
}

/// The proposal for a refused argument.
fn proposal(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let refused = context(ContextKind::InvalidArg)?;
    let cli = Cli::command();
    let (at, command) =
        arguments.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, cli.find_subcommand(word)?)))?;
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    match error.kind() {
        ErrorKind::UnknownArgument if matches!(refused, "--model" | "-m") && has("model") => {
            Some(model_first(arguments, at, refused))
        }
        ErrorKind::UnknownArgument if RAW_OPTIONS.contains(&refused) && has("output") => {
            Some(format!("`--output raw` is schedc's spelling of `{refused}`"))
        }
        ErrorKind::UnknownArgument if refused == "--rows" && has("input") => {
            let (_, value) = value_of(arguments, refused)?;
            Some(format!("the file of rows follows -i: `-i {}`", value.unwrap_or("FILE")))
        }
        ErrorKind::UnknownArgument if !refused.starts_with('-') => {
            let path = Path::new(refused);
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            let is = |known: &[&str]| ending.as_deref().is_some_and(|ending| known.contains(&ending));
            let first = arguments.get(at + 1).filter(|word| word.ends_with(".sched"));
            let takes_schedules = has("schedule") || has("schedules");
            if is(&["sched"]) && takes_schedules {
                Some(format!("a schedule follows -s: `-s {refused}`"))
            } else if let Some(schedule) = first.filter(|_| takes_schedules) {
                let name = &arguments[at];
                Some(format!("the model comes first: `schedc {name} {refused} -s {schedule}`"))
            } else if is(&ROW_FILE_ENDINGS) && has("input") {
                Some(format!("the file of rows follows -i: `-i {refused}`"))
            } else {
                None
            }
        }
        ErrorKind::InvalidValue if refused.starts_with("--row-type") && has("batch") => {
            let value = context(ContextKind::InvalidValue)?;
            let is_number = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || c == ',');
            is_number.then(|| format!("`--batch {value}` sets the rows of a call; a type is f32 or f64"))
        }
        _ => None,
    }
}

/// The index of an option in a command line, and its value.
fn value_of<'a>(arguments: &'a [String], option: &str) -> Option<(usize, Option<&'a str>)> {
    arguments.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
        "" => Some((at, arguments.get(at + 1).map(String::as_str).filter(|word| !word.starts_with('-')))),
        rest => Some((at, Some(rest.strip_prefix('=')?))),
    })
}

/// The sentence that the model is the first argument, with the corrected line if no word needs quotes.
/// `command` is the index of the command's name.
fn model_first(arguments: &[String], command: usize, option: &str) -> String {
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:+#@%".contains(c))
    };
    let name = arguments[command].as_str();
    let Some((at, Some(model))) = value_of(arguments, option) else {
        return format!("the model is the first argument: `schedc {name} MODEL`");
    };
    let model_words = if arguments[at] == option { 2 } else { 1 };
    if !arguments.iter().skip(1).all(is_plain) || at < command {
        return format!("the model is the first argument: `schedc {name} MODEL`");
    }
    let mut line = vec!["schedc"];
    for (place, word) in arguments.iter().enumerate().skip(1) {
        if !(at..at + model_words).contains(&place) {
            line.push(word);
        }
        if place == command {
            line.push(model);
        }
    }
    format!("the model is the first argument: `{}`", line.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{RENAMED_OPTIONS, explained, notes};
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    fn notes_of(line: &str) -> Vec<String> {
        let arguments: Vec<String> = line.split(' ').map(str::to_string).collect();
        let cli = Cli::try_parse_from(&arguments).expect(line);
        notes(&arguments[1], &cli, &arguments)
    }

    #[test]
    fn old_spellings_are_aliases_of_the_present_ones() {
        let cli = Cli::command();
        for (command, old, new) in RENAMED_OPTIONS {
            let command = cli.find_subcommand(command).expect("a command");
            let long = new.trim_start_matches('-');
            let option = command.get_arguments().find(|option| option.get_long() == Some(long));
            let aliases = option.and_then(|option| option.get_all_aliases()).unwrap_or_default();
            assert!(aliases.contains(&old.trim_start_matches('-')), "{old} of {}", command.get_name());
        }
    }

    #[test]
    fn refused_arguments_have_proposals() {
        let tip = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let error = Cli::try_parse_from(&words).map(|_| ()).expect_err(line);
            let text = explained(error, &words).to_string();
            text.split_once("tip: ").and_then(|(_, tip)| tip.lines().next()).unwrap_or_default().to_string()
        };
        let first = "the model is the first argument: ";
        assert_eq!(
            tip("schedc build --model m.json -o m.so"),
            format!("{first}`schedc build m.json -o m.so`")
        );
        assert_eq!(tip("schedc verify --model=m.json"), format!("{first}`schedc verify m.json`"));
        assert_eq!(
            tip("schedc predict -i r.csv --model m.json"),
            format!("{first}`schedc predict m.json -i r.csv`")
        );
        for command in ["bench", "tune", "profile", "explain-speed", "inspect", "convert"] {
            let line = format!("schedc {command} --model m.json");
            assert_eq!(tip(&line), format!("{first}`schedc {command} m.json`"));
        }
        assert_eq!(tip("schedc build --model m;.json"), format!("{first}`schedc build MODEL`"));
        assert_eq!(tip("schedc predict m.json --rows r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc predict m.json r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc predict m.json a.sched"), "a schedule follows -s: `-s a.sched`");
        assert_eq!(tip("schedc bench m.json a.sched"), "a schedule follows -s: `-s a.sched`");
        assert_eq!(tip("schedc predict m.json --raw"), "`--output raw` is schedc's spelling of `--raw`");
        assert_eq!(
            tip("schedc predict m.json --margin"),
            "`--output raw` is schedc's spelling of `--margin`"
        );
        for line in ["bench m.json --rows 64", "tune m.json --row-type 64"] {
            let batch = "`--batch 64` sets the rows of a call; a type is f32 or f64";
            assert_eq!(tip(&format!("schedc {line}")), batch);
        }
        assert_eq!(
            tip("schedc bench a.sched m.json"),
            "the model comes first: `schedc bench m.json -s a.sched`"
        );
        assert_eq!(tip("schedc fmt --model m.json"), "");
    }

    #[test]
    fn notes_name_the_present_spelling() {
        assert_eq!(notes_of("schedc bench m.json --rows=f32"), ["note: `--rows` is now `--row-type`"]);
        assert_eq!(notes_of("schedc tune m.json --rows 1,8"), ["note: `--rows` is now `--batch`"]);
        assert_eq!(
            notes_of("schedc check --model m.json a.sched b.sched"),
            ["note: `--model` is now the first argument: `schedc check m.json -s a.sched -s b.sched`"]
        );
        assert_eq!(
            notes_of("schedc show nest a.sched --model m.json"),
            ["note: `--model` is now the first argument: `schedc show nest m.json -s a.sched`"]
        );
        assert_eq!(
            notes_of("schedc ir --model m.json a.sched"),
            ["note: `--model` is now the first argument: `schedc ir m.json -s a.sched`"]
        );
        assert!(notes_of("schedc bench m.json --row-type f32 --batch 1").is_empty());
    }
}
