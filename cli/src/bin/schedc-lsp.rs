//! The language server as a separate program, which editors start and which `schedc lsp` becomes. `schedc`
//! contains LLVM, which takes a while to load and would occupy memory all day in a server that never uses it.

#[path = "../pages.rs"]
mod pages;

use std::process::ExitCode;

/// Each keystroke checks the text, which allocates many small objects. The C library's allocator takes a
/// third longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Editors ask for the version before they start the server. `schedc` would answer later, since it loads
    // LLVM.
    if std::env::args().nth(1).as_deref() == Some("--version") {
        println!("schedc-lsp {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let page = |code: &str| pages::find(code).map(|code| code.page().trim_end());
    sched_lsp::run(page, &sched_forest::endings(), sched_forest::may_be_model)
}
