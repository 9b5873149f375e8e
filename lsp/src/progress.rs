//! Programs that a client waits for: with progress where it is shown, and ended as soon as nobody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::ProgressToken;

use crate::state::Shared;

/// Time limit for a client's answer to a new token; without an answer there is no progress to see.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does work that runs a program, and waits for what it prints. When the request is cancelled, or its
/// progress is, the work is dropped and its program ended.
///
/// # Errors
///
/// The work failed or was cancelled.
pub async fn run(
    shared: &Arc<Shared>,
    work: impl Future<Output = Result<String>> + Send + 'static,
    token: Option<ProgressToken>,
    title: String,
) -> Result<String> {
    let (waiting, nobody_waits) = oneshot::channel::<()>();
    let (sender, receiver) = oneshot::channel();
    let task = Arc::clone(shared);
    // A task of its own says that the progress has ended even when the request is dropped.
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

/// A token that the client has agreed to, if it shows progress.
async fn new_token(shared: &Shared) -> Option<ProgressToken> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if !shared.lock().abilities.progress {
        return None;
    }
    let token = ProgressToken::String(format!("schedc/{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let agreed = tokio::time::timeout(PATIENCE, shared.client.create_work_done_progress(token.clone())).await;
    agreed.is_ok_and(|answer| answer.is_ok()).then_some(token)
}
