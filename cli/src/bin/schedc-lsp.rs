//! The language server as a program of its own, which editors start and `schedc lsp` becomes: `schedc` has LLVM in it, which
//! takes a while to load and which a server that waits beside an editor all day has no use for.

#[path = "../pages.rs"]
mod pages;

use std::process::ExitCode;

/// A check makes and drops many small things at every key, which takes a third longer with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Editors ask before they start it: `schedc` takes longer to say so, since LLVM is loaded with it.
    if std::env::args().nth(1).as_deref() == Some("--version") {
        println!("schedc-lsp {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    sched_lsp::run(|code| pages::find(code).map(|code| code.page().trim_end()), &sched_forest::endings())
}
