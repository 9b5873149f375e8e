//! `schedc explain`: prints the pages of codes and directives.

use crate::args::Explain;
use crate::pages::{all, find};
use crate::stdout::print;
use sched_lang::diagnostics::nearest;
use sched_lang::directives::SIGNATURES;
use sched_lang::pages::{plain, without_links};
use schedc_driver::Failure;
use std::collections::BTreeSet;

/// Runs the command.
pub fn run(args: &Explain) -> Result<(), Failure> {
    if args.subjects.is_empty() {
        let codes = all().map(|code| format!("{code}  {}\n", code.title()));
        let directives = SIGNATURES.iter().map(|one| format!("{}  {}\n", one.name, one.summary));
        return print(&codes.chain(directives).collect::<String>());
    }
    let pages = args.subjects.iter().map(|subject| page(subject)).collect::<Result<Vec<_>, _>>()?;
    let mut printed = BTreeSet::new();
    let pages: Vec<String> = pages.into_iter().filter(|page| printed.insert(page.clone())).collect();
    print(&pages.join(SEPARATOR))
}

/// The lines between two pages.
const SEPARATOR: &str = "\n----\n\n";

/// The page of a code or of a directive.
fn page(subject: &str) -> Result<String, Failure> {
    let named = SIGNATURES.iter().find(|one| one.name.eq_ignore_ascii_case(subject));
    match (find(subject), named) {
        (Some(code), _) => Ok(format!("{}\n", without_links(code.page()).trim_end())),
        (None, Some(directive)) => Ok(format!("{}\n", plain(directive).trim_end())),
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
