//! `schedc lsp`: replaces this process by the language server, `schedc-lsp`.

use crate::program;
use clap::Args;
use schedc_driver::Failure;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The language server's program, in the folder of schedc or on the search path. A separate program does not
/// keep LLVM in memory while an editor is open.
const SERVER_NAME: &str = "schedc-lsp";

/// `schedc lsp`
#[derive(Debug, Args)]
#[command(after_help = "\
Editors start this command, and communicate with it by the Language Server Protocol. docs/lsp.md \
describes how to set up each editor.")]
pub struct Lsp {
    /// Communicate over standard input and output, as the server always does
    #[arg(long, hide = true)]
    pub stdio: bool,
    /// Print the language server's version and exit
    #[arg(long)]
    pub version: bool,
}

/// Runs the command; returns only if that fails.
pub fn run(args: &Lsp) -> Result<(), Failure> {
    let own = program::executable().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(SERVER_NAME))).filter(|path| path.is_file());
    let server = beside.unwrap_or_else(|| PathBuf::from(SERVER_NAME));
    let error = Command::new(&server).args(args.version.then_some("--version")).exec();
    Err(Failure::usage(
        format!("the language server {} cannot be started: {error}", server.display()),
        format!("install {SERVER_NAME} beside schedc"),
    ))
}
