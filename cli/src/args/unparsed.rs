//! Errors of command lines that clap cannot parse, in all formats of messages.

use super::{Cli, Color, Format};
use crate::terminal::Terminal;
use clap::{CommandFactory, ValueEnum};
use schedc_driver::Failure;

/// Ends the process with an error of the command line, or with the help or the version that it asks for.
pub fn end(error: &clap::Error, arguments: &[String]) -> ! {
    let format = format_of(arguments);
    if !error.use_stderr() || format == Format::Full {
        error.exit();
    }
    let cli = Cli::command();
    let command = arguments.iter().skip(1).find(|word| cli.find_subcommand(word).is_some());
    let terminal = Terminal::new(Color::Never, format, command.is_some_and(|name| name == "check"));
    let status = terminal.refuse(refusal(&error.render().to_string()));
    std::process::exit(i32::from(terminal.finish().map_or_else(|failure| failure.status(), |()| status)))
}

/// The format of messages that a command line asks for, if it is known.
fn format_of(arguments: &[String]) -> Format {
    let named = |(at, word): (usize, &String)| match word.strip_prefix("--format")? {
        "" => arguments.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_string),
    };
    let name = arguments.iter().enumerate().find_map(named);
    name.and_then(|name| Format::from_str(&name, false).ok()).unwrap_or_default()
}

/// Converts clap's text to a message, its first paragraph, and a help, the proposals after it.
fn refusal(text: &str) -> Failure {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let message = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = message.split_whitespace().collect();
    let tips: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let help = if tips.is_empty() { "`--help` lists the arguments".to_string() } else { tips.join("; ") };
    Failure::usage(words.join(" "), help)
}

#[cfg(test)]
mod tests {
    use super::{Format, format_of, refusal};
    use crate::args::Cli;
    use clap::Parser;
    use schedc_driver::Failure;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn the_format_is_found_in_refused_lines() {
        assert_eq!(format_of(&words("schedc predict --nope --format json m.json")), Format::Json);
        assert_eq!(format_of(&words("schedc --format=sarif predict")), Format::Sarif);
        assert_eq!(format_of(&words("schedc predict --format xml")), Format::Full);
        assert_eq!(format_of(&words("schedc predict --format")), Format::Full);
    }

    #[test]
    fn refusals_have_the_message_and_the_proposals_of_clap() {
        let refused = |line: &str| {
            let error = Cli::try_parse_from(words(line)).map(|_| ()).expect_err(line);
            let Failure::Refused(finding) = refusal(&error.to_string()) else { panic!("{line}") };
            (finding.message, finding.help.unwrap_or_default())
        };
        let (message, help) = refused("schedc predict m.json --thread 1");
        assert_eq!(message, "unexpected argument '--thread' found");
        assert_eq!(help, "a similar argument exists: '--threads'");
        let (message, help) = refused("schedc check");
        assert_eq!(message, "the following required arguments were not provided: <MODEL|FILE>...");
        assert_eq!(help, "`--help` lists the arguments");
    }
}
