//! The language server as a program of its own. `schedc lsp` becomes this program: `schedc` has LLVM in it, which a server
//! that waits beside an editor all day has no use for.

use std::process::ExitCode;

/// A check makes and drops many small things at every key, which takes a third longer with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sched_lsp::run()
}
