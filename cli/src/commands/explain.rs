//! `schedc explain`: prints the page of a code or of a directive.

use crate::args::Explain;
use crate::pages::{all, find};
use crate::stdout::print;
use sched_lang::diagnostics::nearest;
use sched_lang::directives::SIGNATURES;
use sched_lang::pages::plain;
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let Some(subject) = &args.subject else {
        let codes = all().map(|code| format!("{code}  {}\n", code.title()));
        let directives = SIGNATURES.iter().map(|one| format!("{}  {}\n", one.name, one.summary));
        return print(&codes.chain(directives).collect::<String>());
    };
    let named = SIGNATURES.iter().find(|one| one.name.eq_ignore_ascii_case(subject));
    match (find(subject), named) {
        (Some(code), _) => print(&format!("{}\n", code.page().trim_end())),
        (None, Some(directive)) => print(&format!("{}\n", plain(directive).trim_end())),
        (None, None) => {
            let near = nearest(subject, SIGNATURES.iter().map(|one| one.name));
            let near = near.map(|name| format!("is `{name}` meant? ")).unwrap_or_default();
            Err(Failure::usage(
                format!("there is no page for `{subject}`"),
                format!("{near}`schedc explain` without a name lists all codes and directives"),
            ))
        }
    }
}
