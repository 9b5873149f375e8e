//! Programs that a client waits for. Clients that can show progress get it, and a program ends as soon as
//! nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::ProgressToken;

use crate::state::ServerData;

/// Time limit for the client to accept a token for progress; after it, the work runs without progress.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs `work`, which runs a program, and returns the program's output. Shows progress under `title` if the
/// client can. If the client cancels the request or its progress, drops the work, which ends the program.
///
/// # Errors
///
/// The work failed or was cancelled.
pub async fn run(
    shared: &Arc<ServerData>,
    work: impl Future<Output = Result<String>> + Send + 'static,
    token: Option<ProgressToken>,
    title: String,
) -> Result<String> {
    let (waiting, nobody_waits) = oneshot::channel::<()>();
    let (sender, receiver) = oneshot::channel();
    let task = Arc::clone(shared);
    // In a task, so that the client gets the end of the progress even if the request is dropped.
    tokio::spawn(async move {
        let token = match token {
            Some(token) => Some(token),
            None => new_token(&task).await,
        };
        let shown = match &token {
            Some(token) => {
                let progress = task.client.progress(token.clone(), title).with_cancel_button();
                Some(progress.begin().await)
            }
            None => None,
        };
        let cancelled = task.cancellation(token.clone());
        let result = tokio::select! {
            result = work => result,
            _ = nobody_waits => Err(Error::request_cancelled()),
            () = cancelled => Err(Error::request_cancelled()),
        };
        if let Some(token) = &token {
            task.forget(token);
        }
        if let Some(shown) = shown {
            shown.finish().await;
        }
        let _ = sender.send(result);
    });
    let result = receiver.await.unwrap_or_else(|_| Err(Error::internal_error()));
    drop(waiting);
    result
}

/// Creates a token for progress. `None` if the client cannot show progress or does not accept the token.
async fn new_token(shared: &ServerData) -> Option<ProgressToken> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if !shared.lock().abilities.progress {
        return None;
    }
    let token = ProgressToken::String(format!("schedc/{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let agreed =
        tokio::time::timeout(TOKEN_TIMEOUT, shared.client.create_work_done_progress(token.clone())).await;
    agreed.is_ok_and(|answer| answer.is_ok()).then_some(token)
}
