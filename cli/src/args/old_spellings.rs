//! Old spellings of arguments. They still work, and a note names the present spelling.

use super::{Cli, Command};
use clap::ValueEnum;

/// Renamed options: the command, the old spelling and the present one.
const RENAMED: [(&str, &str, &str); 6] = [
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
    let renamed = RENAMED.iter().filter(|(of, old, _)| *of == command && has(old));
    let mut notes: Vec<String> =
        renamed.map(|(_, old, new)| format!("note: `{old}` is now `{new}`")).collect();
    notes.extend(respelled(cli).map(|line| format!("note: `--model` is now the first argument: `{line}`")));
    notes
}

/// The command line in the present spelling, if its model follows `--model`.
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

#[cfg(test)]
mod tests {
    use super::{RENAMED, notes};
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
        for (command, old, new) in RENAMED {
            let command = cli.find_subcommand(command).expect("a command");
            let long = new.trim_start_matches('-');
            let option = command.get_arguments().find(|option| option.get_long() == Some(long));
            let aliases = option.and_then(|option| option.get_all_aliases()).unwrap_or_default();
            assert!(aliases.contains(&old.trim_start_matches('-')), "{old} of {}", command.get_name());
        }
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
