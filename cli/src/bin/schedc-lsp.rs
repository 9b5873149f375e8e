//! The language server as a program of its own. `schedc lsp` becomes this program: `schedc` has LLVM in it, which a server
//! that waits beside an editor all day has no use for.

use std::process::ExitCode;

fn main() -> ExitCode {
    sched_lsp::run()
}
