//! Command lines as a command and its items: options with their values, and words at positions.

use super::Cli;
use clap::{Arg, Command, CommandFactory};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

/// Endings of files with rows.
const ROW_FILE_ENDINGS: [&str; 9] = ["csv", "tsv", "parquet", "arrow", "feather", "ipc", "npy", "npz", "txt"];
/// Endings of files that `schedc build` writes.
const ARTEFACT_ENDINGS: [&str; 9] = ["so", "o", "a", "ll", "s", "h", "ptx", "cubin", "hsaco"];

/// An item of a command line behind the name of its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An option: its name with hyphens, and the words that it takes, as they are written.
    Option(String, Vec<OsString>),
    /// A word at a position.
    Word(OsString),
    /// The words `--`, behind which no word is an option.
    End,
}

impl Item {
    /// The word at a position.
    pub fn word(&self) -> Option<&OsString> {
        match self {
            Item::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The name of an option, with its hyphens.
    pub fn name(&self) -> Option<&str> {
        match self {
            Item::Option(name, _) => Some(name),
            _ => None,
        }
    }

    /// The value of an option, after `=` or as a word of its own.
    pub fn value(&self) -> Option<Cow<'_, str>> {
        let Item::Option(name, words) = self else { return None };
        match words.as_slice() {
            [word] => Some(word.to_str()?.strip_prefix(name.as_str())?.strip_prefix('=')?.into()),
            [_, value] => Some(value.to_string_lossy()),
            _ => None,
        }
    }

    /// The value of an option as a word, with its bytes unchanged.
    pub fn value_word(&self) -> Option<OsString> {
        match self {
            Item::Option(_, words) if words.len() == 2 => words.last().cloned(),
            _ => self.value().map(|value| value.into_owned().into()),
        }
    }
}

/// A command line of a known command.
pub struct CommandLine {
    /// The command.
    pub command: Command,
    /// The program's name, options before the command, and the command's name.
    pub start: Vec<OsString>,
    /// The items behind the command's name.
    pub items: Vec<Item>,
    /// Whether some long option is unknown, so that the next word may be its value.
    pub has_unknown: bool,
}

impl CommandLine {
    /// Splits a command line; `None` without a command. `takes_value` knows options beside clap's.
    pub fn of(arguments: &[OsString], takes_value: impl Fn(&str) -> bool) -> Option<CommandLine> {
        let cli = Cli::command();
        let globals: Vec<Arg> = cli.get_arguments().cloned().collect();
        let mut at = 1;
        let command = loop {
            match next_item(arguments.get(at..)?, &globals, &|_| false)? {
                (Item::Word(name), _) => break cli.find_subcommand(name)?.clone(),
                (_, words) => at += words,
            }
        };
        let options: Vec<Arg> = globals.into_iter().chain(command.get_arguments().cloned()).collect();
        let (start, mut rest) = arguments.split_at(at + 1);
        let (mut items, mut has_unknown) = (Vec::new(), false);
        while let Some((item, words)) = next_item(rest, &options, &takes_value) {
            rest = &rest[words..];
            let is_unknown =
                |name: &str| name.starts_with("--") && named(name, &options).is_none() && !takes_value(name);
            has_unknown |= item.name().is_some_and(is_unknown);
            let ends = item == Item::End;
            items.push(item);
            if ends {
                items.extend(rest.iter().cloned().map(Item::Word));
                break;
            }
        }
        Some(CommandLine { command, start: start.to_vec(), items, has_unknown })
    }

    /// The words of the command line.
    pub fn words(&self) -> Vec<OsString> {
        let words = self.items.iter().flat_map(|item| match item {
            Item::Option(_, words) => words.clone(),
            Item::Word(word) => vec![word.clone()],
            Item::End => vec!["--".into()],
        });
        self.start.iter().cloned().chain(words).collect()
    }
}

/// The first item of `words`, and the number of words that it takes.
fn next_item(
    words: &[OsString],
    options: &[Arg],
    takes_value: &dyn Fn(&str) -> bool,
) -> Option<(Item, usize)> {
    let word = words.first()?;
    let text = word.to_string_lossy();
    if text == "--" {
        return Some((Item::End, 1));
    }
    if !text.starts_with('-') || text == "-" {
        return Some((Item::Word(word.clone()), 1));
    }
    let (name, has_value) = match text.split_once('=') {
        Some((name, _)) => (name, true),
        None => (text.as_ref(), false),
    };
    let values = match named(name, options) {
        _ if has_value => 0,
        Some(option) if option.get_action().takes_values() => {
            option.get_num_args().map_or(1, |range| range.max_values())
        }
        Some(_) => 0,
        None => {
            let follows = words.get(1).is_some_and(|next| !next.to_string_lossy().starts_with("--"));
            usize::from(takes_value(name) && follows)
        }
    };
    let count = words.len().min(1 + values);
    Some((Item::Option(name.to_string(), words[..count].to_vec()), count))
}

/// The option with a name.
fn named<'a>(name: &str, options: &'a [Arg]) -> Option<&'a Arg> {
    match name.strip_prefix("--") {
        Some(long) => options.iter().find(|option| option.get_long() == Some(long)),
        None => {
            let mut letters = name.chars().skip(1);
            let letter = letters.next();
            let option = options.iter().find(|option| option.get_short() == letter);
            option.filter(|_| letters.next().is_none())
        }
    }
}

/// The option of a command that takes a file with this ending.
pub fn option_of_file(file: &Path, command: &Command) -> Option<&'static str> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase())?;
    let is = |known: &[&str]| known.contains(&ending.as_str());
    match () {
        () if is(&["sched"]) && has(command, "schedule") => Some("-s"),
        () if is(&ARTEFACT_ENDINGS) && has(command, "emit") => Some("-o"),
        () if is(&ROW_FILE_ENDINGS) && has(command, "input") => Some("-i"),
        () => None,
    }
}

/// Whether a command has an option.
pub fn has(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(long))
}

/// A command line as a shell reads it.
pub fn shell_text(words: &[OsString]) -> String {
    let words = words.iter().map(|word| {
        let word = word.to_string_lossy();
        let is_plain = |c: char| c.is_alphanumeric() || "-_=./,:+#@%".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.into_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, Item, shell_text};
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn options_take_their_values() {
        let line = "schedc --color never lock --merge a b c -x --old=1 --old 2 - --budget 1s -- --json";
        let split = CommandLine::of(&words(line), |name| name == "--old").expect("a command");
        assert_eq!(split.command.get_name(), "lock");
        assert_eq!(split.start, words("schedc --color never lock"));
        let option = |text: &str| {
            let name = text.split(['=', ' ']).next().unwrap_or_default();
            Item::Option(name.to_string(), words(text))
        };
        let word = |text: &str| Item::Word(text.into());
        let items = [
            option("--merge a b c"),
            option("-x"),
            option("--old=1"),
            option("--old 2"),
            word("-"),
            option("--budget 1s"),
            Item::End,
            word("--json"),
        ];
        assert_eq!(split.items, items);
        assert_eq!(split.words(), words(line));
        let values: Vec<_> = split.items.iter().filter_map(Item::value).collect();
        assert_eq!(values, ["1", "2", "1s"]);
        for line in ["schedc", "schedc --format", "schedc --help", "schedc nothing"] {
            assert!(CommandLine::of(&words(line), |_| false).is_none(), "{line}");
        }
    }

    #[test]
    fn words_with_blanks_are_quoted() {
        assert_eq!(shell_text(&words("schedc build m.json")), "schedc build m.json");
        let odd = ["a b", "it's", ""].map(OsString::from);
        assert_eq!(shell_text(&odd), r"'a b' 'it'\''s' ''");
    }
}
