//! `schedc explain`: the page of a code.

use super::print;
use crate::args::Explain;
use crate::failure::Failure;
use crate::pages::{find, pages};

/// Runs the command.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let Some(code) = &args.code else {
        let lines: Vec<String> =
            pages().iter().map(|page| format!("{}  {}\n", page.code, page.title)).collect();
        return print(&lines.concat());
    };
    match find(code) {
        Some(page) => print(&format!("{}\n", page.text)),
        None => Err(Failure::unusable(
            format!("there is no page for the code `{code}`"),
            "`schedc explain` without a code lists all codes",
        )),
    }
}
