//! The language server of `.sched` schedules.
//!
//! The server is thin: `sched_ide` answers the questions of editors, and the files of `requests` convert. The
//! rest is the session: messages (`frames`, `guard`), documents and their states (`document`, `state`,
//! `text`), models read by another process (`models`, `jobs`, `refusal`), measurements (`ledgers`),
//! predictions (`gains`), the files beside a schedule (`neighbours`), folders and settings (`workspace`,
//! `settings`).

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
mod refusal;
mod requests;
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
use guard::PanicGuard;
use jobs::Jobs;
use models::ModelFileEndings;
pub use pages::PageOfCode;
use pages::Pages;
use server::Server;
use state::ServerData;

/// Maximum number of requests in progress. Edits and cancellations count too, so the limit must exceed the
/// number of requests that can wait.
const MAX_REQUESTS: usize = 4096;

/// Serves one client over standard input and output until it exits. The exit status is 0 if the client
/// requested the shutdown first, as the protocol demands, and 1 otherwise.
///
/// `explain` returns the page of a code. `endings` are the endings of model files, without the dot; clients
/// watch files with these endings. Completion proposes such a file if `may_be_model` accepts its first bytes.
pub fn run(explain: PageOfCode, endings: &[&'static str], may_be_model: fn(&[u8]) -> bool) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the language server cannot start: {error}");
            return ExitCode::from(2);
        }
    };
    let shut_down = Arc::new(AtomicBool::new(false));
    runtime.block_on(serve(
        Arc::clone(&shut_down),
        explain,
        ModelFileEndings { endings: endings.into(), may_be_model },
    ));
    // The thread that writes may wait for a client that no longer reads.
    runtime.shutdown_background();
    if shut_down.load(Ordering::Relaxed) { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Adds the methods that are not part of the protocol.
fn register(builder: LspServiceBuilder<Server>) -> LspServiceBuilder<Server> {
    builder
        .custom_method("sched/nest", Server::nest)
        .custom_method("sched/drops", Server::drops)
        .custom_method("sched/lineage", Server::lineage)
        .custom_method("sched/ir", Server::ir)
        .custom_method("sched/ledger", Server::ledger)
        .custom_method("window/workDoneProgress/cancel", Server::cancel)
}

async fn serve(shut_down: Arc<AtomicBool>, explain: PageOfCode, endings: ModelFileEndings) {
    let (to_read, wanted) = tokio::sync::mpsc::unbounded_channel();
    let pages = Arc::new(Pages::new(explain));
    let build = |client| {
        let shared = Arc::new(ServerData::new(client, Jobs::new(), to_read, endings));
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
    let server =
        tower_lsp_server::Server::new(input, tokio::io::stdout(), socket).concurrency_level(MAX_REQUESTS);
    server.serve(PanicGuard::new(service, shut_down)).await;
}
