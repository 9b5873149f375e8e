//! Proposals for refused arguments: options of other programs, and files without their option.

use super::line::{has, option_of_file, shell_text};
use super::old_spellings::{is_numbers, is_row_type, model_index};
use super::{Cli, ScheduleView};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, ValueEnum};
use std::ffi::OsString;
use std::path::Path;

/// Options by which other programs ask for sums before the transformation of the objective.
const RAW_OPTIONS: [&str; 5] = ["--raw", "--margin", "--raw-score", "--raw_score", "--output-margin"];

/// Options of other programs, each with an option that a command must have, and the way in schedc.
const OPTIONS: [(&[&str], &str, &str); 9] = [
    (
        &["--header", "--no-header", "--noheader", "--skip-header"],
        "input",
        "schedc finds out whether the first line has names; `--by-position` ignores them",
    ),
    (
        &["--sep", "--separator", "--delimiter", "--delim"],
        "input",
        "commas, semicolons and tabs are found without an option",
    ),
    (&["--data", "--features", "--csv", "--file"], "input", "the file of rows follows -i"),
    (&["--expected", "--reference", "--labels"], "against", "`--against` names the file of predictions"),
    (
        &["--gpu", "--device", "--cuda"],
        "target",
        "a GPU is a target, such as `--target gpu`, for a schedule that maps loops to it",
    ),
    (&["--march", "--mcpu", "--arch"], "cpu", "`--cpu` names the processor"),
    (&["--repeat", "--repeats", "--iters", "--trials"], "budget", "`--budget 10s` sets the time"),
    (&["--jobs", "--n-jobs", "--nthread", "-t", "-j"], "threads", "`--threads` sets the number of threads"),
    (
        &["--shap", "--contribs", "--pred-contribs"],
        "output",
        "contributions of features are left to the trainer; schedc predicts values, margins and leaves",
    ),
];

/// Largest number of edits between an unknown option and a similar one that clap proposes.
const MOST_EDITS: usize = 2;

/// Names that other programs give to commands of schedc.
const COMMANDS: [(&[&str], &str); 9] = [
    (&["compile", "export"], "build"),
    (&["run", "infer", "apply", "score", "eval"], "predict"),
    (&["benchmark", "time"], "bench"),
    (&["info", "describe", "dump", "summary"], "inspect"),
    (&["format"], "fmt"),
    (&["lint", "validate"], "check"),
    (&["test", "compare"], "verify"),
    (&["search", "optimize", "optimise", "autotune"], "tune"),
    (&["nest", "lineage"], "show"),
];

/// The error of a command line with a proposal in the words of schedc, if there is one, instead of clap's.
pub fn explained(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let proposed = proposal(&error, arguments);
    // No argument of schedc begins with a hyphen, as clap's proposal assumes: `-- --option`.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    let is_far = |error: &clap::Error| {
        let similar = text_of(error, ContextKind::SuggestedArg)?;
        Some(strsim::osa_distance(text_of(error, ContextKind::InvalidArg)?, similar) > MOST_EDITS)
    };
    if is_far(&error) == Some(true) {
        error.remove(ContextKind::SuggestedArg);
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

/// The proposal for a refused argument or command.
fn proposal(error: &clap::Error, arguments: &[String]) -> Option<String> {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let name = text_of(error, ContextKind::InvalidSubcommand)?;
        let (_, command) = COMMANDS.iter().find(|(names, _)| names.contains(&name))?;
        return Some(format!("`schedc {command}` is schedc's command for it"));
    }
    let cli = Cli::command();
    let (at, command) =
        arguments.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, cli.find_subcommand(word)?)))?;
    let refused = Refused { command, arguments, at, argument: text_of(error, ContextKind::InvalidArg)? };
    match error.kind() {
        ErrorKind::UnknownArgument if refused.argument.starts_with('-') => refused.option(),
        ErrorKind::UnknownArgument => refused.file(),
        // clap's own proposal corrects a misspelt view.
        ErrorKind::InvalidValue
            if refused.argument == "<WHAT>" && error.get(ContextKind::SuggestedValue).is_none() =>
        {
            refused.view(text_of(error, ContextKind::InvalidValue)?)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            refused.value(text_of(error, ContextKind::InvalidValue)?)
        }
        _ => None,
    }
}

/// A text that belongs to an error.
fn text_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// An argument that clap refuses.
struct Refused<'a> {
    command: &'a Command,
    /// All words of the command line.
    arguments: &'a [String],
    /// The index of the command's name among them.
    at: usize,
    /// The argument as clap names it.
    argument: &'a str,
}

impl Refused<'_> {
    /// Whether the command has an option.
    fn has(&self, long: &str) -> bool {
        has(self.command, long)
    }

    /// The proposal for an unknown option.
    fn option(&self) -> Option<String> {
        let (name, refused) = (self.command.get_name(), self.argument);
        match refused {
            "--model" | "-m" => {
                model_index(self.command)?;
                Some(format!("the model is the first argument: `schedc {name} MODEL`"))
            }
            _ if is_row_type(refused) => Some(format!(
                "`schedc {name}` makes no code for a type of rows; `build` and `predict` take --row-type"
            )),
            _ if RAW_OPTIONS.contains(&refused) && self.has("output") => {
                Some(format!("`--output raw` is schedc's spelling of `{refused}`"))
            }
            "-n" if self.has("batch") => Some("`--batch` sets the rows of a call".to_string()),
            "--json" if self.has("fix") => Some("`--format json` prints the findings as JSON".to_string()),
            "--rows" | "--batch" => {
                let value = value_of(self.arguments, refused)?;
                match is_numbers(value) {
                    false => self.has("input").then(|| format!("the file of rows follows -i: `-i {value}`")),
                    true => self.has("batch-size").then(|| self.rows_of_calls(value)),
                }
            }
            _ => {
                let known = OPTIONS.iter().filter(|(names, _, _)| names.contains(&refused));
                let way = known.map(|(_, needed, way)| (self.has(needed), *way)).find(|(has, _)| *has);
                way.map(|(_, way)| way.to_string())
            }
        }
    }

    /// The proposal for numbers of rows in a command that times no calls.
    fn rows_of_calls(&self, rows: &str) -> String {
        let all = "calls may have any number of rows, and `schedc bench` times some";
        match rows.contains(',') {
            true => format!("{all}: `--batch {rows}`"),
            false => format!("{all}; `--batch-size {rows}` limits the rows that loops process at once"),
        }
    }

    /// The proposal for a file without its option.
    fn file(&self) -> Option<String> {
        let refused = self.argument;
        if let Some(rows) = self.rows_before_model() {
            let name = self.command.get_name();
            return Some(format!("the model comes first: `schedc {name} {refused} -i {rows}`"));
        }
        let Some(option) = option_of_file(Path::new(refused), self.command) else {
            let options = match (self.has("schedule"), self.has("emit")) {
                (true, true) => "a schedule follows -s, and the file to write -o",
                (true, false) => "a schedule follows -s",
                _ => return None,
            };
            return Some(options.to_string());
        };
        let file = match option {
            "-s" => "a schedule",
            "-o" => "the file to write",
            _ => "the file of rows",
        };
        Some(format!("{file} follows {option}: `{option} {refused}`"))
    }

    /// The file of rows at the place of the model, if there is one.
    fn rows_before_model(&self) -> Option<&str> {
        let first = self.arguments.get(self.at + 1)?;
        let is_rows = option_of_file(Path::new(first), self.command) == Some("-i");
        (is_rows && self.argument != first).then_some(first)
    }

    /// The proposal for a line of `show` whose first argument, `found`, is no view.
    fn view(&self, found: &str) -> Option<String> {
        let views = ScheduleView::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let views: Vec<String> = views.map(|view| view.get_name().to_string()).collect();
        let (before, after) = self.arguments.split_at(self.at + 1);
        let mut after = after.to_vec();
        let view = match after.iter().position(|word| views.contains(word)) {
            Some(at) => after.remove(at),
            None => views.first()?.clone(),
        };
        // A word that is no file stands for a view.
        if !found.contains(['.', '/', '#']) && !Path::new(found).exists() {
            after.retain(|word| word != found);
        }
        let line = before.iter().skip(1).cloned().chain([view]).chain(after).map(OsString::from);
        let line: Vec<OsString> = line.collect();
        Some(format!("the view comes first, {}: `schedc {}`", views.join(" or "), shell_text(&line)))
    }

    /// The proposal for a refused value of an option.
    fn value(&self, value: &str) -> Option<String> {
        if self.argument.starts_with("--output") && self.has("input") {
            return match value {
                "margin" | "margins" => Some("`--output raw` is schedc's spelling".to_string()),
                "proba" | "probability" | "probabilities" => {
                    Some("`--output value`, the default, has the probabilities".to_string())
                }
                file if file.contains('.') => {
                    Some(format!("the file for the predictions follows -o: `-o {file}`"))
                }
                _ => None,
            };
        }
        if !is_numbers(value) || !self.has("batch") {
            return None;
        }
        match self.argument.split(' ').next()? {
            "--row-type" => Some(format!("`--batch {value}` sets the rows of a call; a type is f32 or f64")),
            "--batch-size" => Some(format!("`--batch {value}` sets the rows of a call")),
            _ => None,
        }
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
            "calls may have any number of rows, and `schedc bench` times some; `--batch-size 64` limits the \
             rows that loops process at once"
        );
        for line in ["predict m.json --rows 1,64", "check f.sched --batch 1,64"] {
            assert_eq!(
                tip(&format!("schedc {line}")),
                "calls may have any number of rows, and `schedc bench` times some: `--batch 1,64`"
            );
        }
        assert_eq!(tip("schedc build m.json f g"), "a schedule follows -s, and the file to write -o");
        assert_eq!(
            tip("schedc predict r.csv m.json"),
            "the model comes first: `schedc predict m.json -i r.csv`"
        );
        assert_eq!(
            tip("schedc predict m.json --output o.csv"),
            "the file for the predictions follows -o: `-o o.csv`"
        );
        assert_eq!(
            tip("schedc predict m.json --sep ;"),
            "commas, semicolons and tabs are found without an option"
        );
        assert_eq!(tip("schedc bench m.json -t 2"), "`--threads` sets the number of threads");
        assert_eq!(tip("schedc predict m.json --seed 1"), "");
        assert_eq!(tip("schedc predict m.json --thread 1"), "a similar argument exists: '--threads'");
        assert_eq!(tip("schedc check f.sched --json"), "`--format json` prints the findings as JSON");
        for (line, command) in [("compile m.json", "build"), ("run m.json", "predict"), ("nest f", "show")] {
            assert_eq!(
                tip(&format!("schedc {line}")),
                format!("`schedc {command}` is schedc's command for it")
            );
        }
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
        for line in ["show m.json -s f.sched nest", "show loops m.json -s f.sched"] {
            assert_eq!(
                tip(&format!("schedc {line}")),
                "the view comes first, nest or lineage: `schedc show nest m.json -s f.sched`"
            );
        }
        assert_eq!(tip("schedc show nets m.json"), "a similar value exists: 'nest'");
        assert_eq!(
            tip("schedc profile m.json --row-type f32"),
            "`schedc profile` makes no code for a type of rows; `build` and `predict` take --row-type"
        );
        assert_eq!(tip("schedc fmt --model m.json"), "");
    }
}
