//! Proposals for refused arguments: options of other programs, and files without their option.

use super::Cli;
use super::line::{has, option_of_file, shell_text};
use super::old_spellings::{is_numbers, is_row_type, model_index};
use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// Options by which other programs ask for sums before the transformation of the objective.
const RAW_OPTIONS: [&str; 5] = ["--raw", "--margin", "--raw-score", "--raw_score", "--output-margin"];

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
    let has = |long| has(command, long);
    match error.kind() {
        ErrorKind::UnknownArgument if matches!(refused, "--model" | "-m") => {
            model_index(command)?;
            Some(format!("the model is the first argument: `schedc {} MODEL`", arguments[at]))
        }
        ErrorKind::UnknownArgument if is_row_type(refused) => Some(format!(
            "`schedc {}` makes no code for a type of rows; `build` and `predict` take --row-type",
            arguments[at]
        )),
        ErrorKind::UnknownArgument if RAW_OPTIONS.contains(&refused) && has("output") => {
            Some(format!("`--output raw` is schedc's spelling of `{refused}`"))
        }
        ErrorKind::UnknownArgument if refused == "--rows" => {
            let value = value_of(arguments, refused)?;
            match is_numbers(value) {
                false => has("input").then(|| format!("the file of rows follows -i: `-i {value}`")),
                true => has("batch-size").then(|| {
                    format!(
                        "`--batch-size {value}` is the largest number of rows that the loops process at once"
                    )
                }),
            }
        }
        ErrorKind::UnknownArgument if !refused.starts_with('-') => {
            let option = option_of_file(Path::new(refused), command)?;
            let file = match option {
                "-s" => "a schedule",
                "-o" => "the file to write",
                _ => "the file of rows",
            };
            Some(format!("{file} follows {option}: `{option} {refused}`"))
        }
        // clap's own proposal corrects a misspelt view.
        ErrorKind::InvalidValue
            if refused == "<WHAT>"
                && command.get_name() == "show"
                && error.get(ContextKind::SuggestedValue).is_none() =>
        {
            let (before, after) = arguments.split_at(at + 1);
            let line = [&before[1..], &["nest".to_string()], after].concat();
            let line: Vec<OsString> = line.into_iter().map(OsString::from).collect();
            Some(format!("the view comes first, nest or lineage: `schedc {}`", shell_text(&line)))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if has("batch") => {
            let value = context(ContextKind::InvalidValue).filter(|value| is_numbers(value))?;
            match refused.split(' ').next()? {
                "--row-type" => {
                    Some(format!("`--batch {value}` sets the rows of a call; a type is f32 or f64"))
                }
                "--batch-size" => Some(format!("`--batch {value}` sets the rows of a call")),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value of an option in a command line.
fn value_of<'a>(arguments: &'a [String], option: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
        "" => arguments.get(at + 1).map(String::as_str).filter(|word| !word.starts_with('-')),
        rest => rest.strip_prefix('='),
    })
}

#[cfg(test)]
mod tests {
    use super::explained;
    use crate::args::{Cli, old_spellings};
    use clap::Parser;

    #[test]
    fn refused_arguments_have_proposals() {
        let tip = |line: &str| {
            let (words, _) = old_spellings::rewrite(line.split(' ').map(Into::into).collect());
            let words: Vec<String> =
                words.iter().filter_map(|word| word.to_str().map(str::to_string)).collect();
            let error = Cli::try_parse_from(&words).map(|_| ()).expect_err(line);
            let text = explained(error, &words).to_string();
            text.split_once("tip: ").and_then(|(_, tip)| tip.lines().next()).unwrap_or_default().to_string()
        };
        let first = "the model is the first argument: ";
        for command in ["bench", "tune", "profile", "explain-speed", "inspect", "convert", "ir"] {
            assert_eq!(tip(&format!("schedc {command} --model")), format!("{first}`schedc {command} MODEL`"));
        }
        assert_eq!(tip("schedc predict m.json --rows r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc predict m.json --rows=r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc predict m.json r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc predict --model m.json r.csv"), "the file of rows follows -i: `-i r.csv`");
        assert_eq!(tip("schedc bench a.sched b.sched"), "a schedule follows -s: `-s b.sched`");
        assert_eq!(tip("schedc build m.json libx.so"), "the file to write follows -o: `-o libx.so`");
        assert_eq!(
            tip("schedc build m.json --rows 64"),
            "`--batch-size 64` is the largest number of rows that the loops process at once"
        );
        assert_eq!(tip("schedc predict m.json --raw"), "`--output raw` is schedc's spelling of `--raw`");
        assert_eq!(
            tip("schedc predict m.json --margin"),
            "`--output raw` is schedc's spelling of `--margin`"
        );
        assert_eq!(
            tip("schedc tune m.json --row-type 64"),
            "`--batch 64` sets the rows of a call; a type is f32 or f64"
        );
        assert_eq!(tip("schedc bench m.json --batch-size 1,64"), "`--batch 1,64` sets the rows of a call");
        assert_eq!(
            tip("schedc show m.json -s f.sched"),
            "the view comes first, nest or lineage: `schedc show nest m.json -s f.sched`"
        );
        assert_eq!(tip("schedc show nets m.json"), "a similar value exists: 'nest'");
        assert_eq!(
            tip("schedc profile m.json --row-type f32"),
            "`schedc profile` makes no code for a type of rows; `build` and `predict` take --row-type"
        );
        assert_eq!(tip("schedc fmt --model m.json"), "");
    }
}
