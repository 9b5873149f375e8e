//! `schedc explain`: the page of a code.

use super::print;
use crate::args::Explain;
use crate::failure::Failure;
use sched_lang::diagnostics::{CODES, Code, info};

/// Runs the command.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let Some(text) = &args.code else {
        let lines: Vec<String> =
            CODES.iter().map(|info| format!("{}  {}\n", info.code, info.title)).collect();
        return print(&lines.concat());
    };
    let known = text.parse::<Code>().ok().and_then(info);
    match known {
        Some(info) => print(info.page),
        None => Err(Failure::unusable(
            format!("there is no page for the code `{text}`"),
            "codes of schedules, such as S0022, have pages: `schedc explain` lists them; other messages say it all",
        )),
    }
}
