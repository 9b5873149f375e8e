//! The language server of `.sched` schedules.
//!
//! It is thin: what editors ask is answered by `sched_ide`, and the files of `requests` convert. What is here
//! otherwise is the conversation: messages (`frames`, `guard`), documents and their states (`document`, `state`,
//! `text`), models read by another process (`models`, `jobs`, `said`), what was measured (`ledgers`) or predicted (`gains`), the files beside a schedule (`neighbours`), folders
//! and settings (`workspace`, `settings`).

mod abilities;
mod convert;
mod document;
mod frames;
mod gains;
mod guard;
mod jobs;
mod ledgers;
mod machine;
mod models;
mod neighbours;
mod pages;
mod progress;
mod requests;
mod said;
mod server;
mod serving;
mod settings;
mod state;
mod subject;
mod symbol_index;
mod text;
mod workspace;

use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tower_lsp_server::{LspService, LspServiceBuilder};

use frames::Frames;
use guard::Guard;
use jobs::Jobs;
pub use pages::Explain;
use pages::Pages;
use server::Server;
use state::Shared;

/// Requests that are answered at the same time, at most. Edits and cancellations are among them, so there must always be
/// room for one more than can wait for something.
const AT_ONCE: usize = 4096;

/// Serves one client over standard input and output until it says goodbye. The exit status is 0 if it asked for the end
/// first, as it should, and 1 otherwise. `explain` tells the pages of all codes.
pub fn run(explain: Explain) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the language server cannot start: {error}");
            return ExitCode::from(2);
        }
    };
    let shut_down = Arc::new(AtomicBool::new(false));
    runtime.block_on(serve(Arc::clone(&shut_down), explain));
    // The thread that writes may wait for a client that has gone.
    runtime.shutdown_background();
    if shut_down.load(Ordering::Relaxed) { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// The requests that only this server has.
fn register(builder: LspServiceBuilder<Server>) -> LspServiceBuilder<Server> {
    builder
        .custom_method("sched/nest", Server::nest)
        .custom_method("sched/drops", Server::drops)
        .custom_method("sched/lineage", Server::lineage)
        .custom_method("sched/ir", Server::ir)
        .custom_method("sched/ledger", Server::ledger)
        .custom_method("window/workDoneProgress/cancel", Server::cancel)
}

async fn serve(shut_down: Arc<AtomicBool>, explain: Explain) {
    let (to_read, wanted) = tokio::sync::mpsc::unbounded_channel();
    let pages = Arc::new(Pages::new(explain));
    let build = |client| {
        let shared = Arc::new(Shared::new(client, Jobs::new(), to_read));
        Server { shared, pages: Arc::clone(&pages) }
    };
    let (service, socket) = register(LspService::build(build)).finish();

    let shared = Arc::clone(&service.inner().shared);
    let publisher = Arc::clone(&shared);
    tokio::spawn(async move { requests::diagnostics::publish(&publisher, &pages).await });
    let watcher = Arc::clone(&shared);
    tokio::spawn(async move { workspace::watch(&watcher).await });
    tokio::spawn(async move { workspace::read_models(&shared, wanted).await });

    let input = Frames::new(BufReader::new(std::io::stdin()));
    let server = tower_lsp_server::Server::new(input, tokio::io::stdout(), socket).concurrency_level(AT_ONCE);
    server.serve(Guard::new(service, shut_down)).await;
}
