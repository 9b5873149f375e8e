//! `schedc explain`: prints the page of a code.

use crate::args::Explain;
use crate::pages::{all, find};
use crate::stdout::print;
use schedc_driver::Failure;

/// Runs the command.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let Some(code) = &args.code else {
        let lines: Vec<String> = all().map(|code| format!("{code}  {}\n", code.title())).collect();
        return print(&lines.concat());
    };
    match find(code) {
        Some(code) => print(&format!("{}\n", code.page().trim_end())),
        None => Err(Failure::usage(
            format!("there is no page for the code `{code}`"),
            "`schedc explain` without a code lists all codes",
        )),
    }
}
