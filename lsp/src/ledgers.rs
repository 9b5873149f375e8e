//! Measured ledgers: the output of `schedc bench --prefixes`, cached by text and model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{AbortHandle, JoinHandle};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::Uri;

use crate::convert::failed;

/// Maximum number of cached ledgers.
const MAX_CACHED_LEDGERS: usize = 64;

/// A cached ledger, with the text and the model of the measurement.
#[derive(Clone, Debug)]
pub struct CachedLedger {
    /// The document.
    pub uri: String,
    /// The document's text at the time of the measurement.
    pub text: Arc<str>,
    /// The fingerprint of the model at the time of the measurement.
    pub fingerprint: String,
    /// The measurements, as `schedc bench --json` prints them.
    pub ledger: Arc<Value>,
}

/// The cache of ledgers, and the measurements in progress.
#[derive(Debug)]
pub struct Ledgers {
    /// The cached ledgers, the latest last.
    kept: Mutex<Vec<CachedLedger>>,
    running: Mutex<HashMap<String, AbortHandle>>,
    /// One permit, since programs that measure at the same time would disturb each other.
    permit: Semaphore,
}

impl Default for Ledgers {
    fn default() -> Self {
        Ledgers { kept: Mutex::default(), running: Mutex::default(), permit: Semaphore::new(1) }
    }
}

impl Ledgers {
    /// The ledger of a text with a model; the document does not matter.
    pub fn of(&self, text: &str, fingerprint: &str) -> Option<CachedLedger> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|one| &*one.text == text && one.fingerprint == fingerprint).cloned()
    }

    /// The last ledger of a document, even if the document's text has changed since.
    pub fn last(&self, uri: &Uri) -> Option<CachedLedger> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|one| one.uri == uri.as_str()).cloned()
    }

    /// Caches a ledger, and drops the oldest if the cache is full.
    pub fn keep(&self, one: CachedLedger) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| {
            (&other.uri, &other.text, &other.fingerprint) != (&one.uri, &one.text, &one.fingerprint)
        });
        kept.push(one);
        let surplus = kept.len().saturating_sub(MAX_CACHED_LEDGERS);
        kept.drain(..surplus);
    }

    /// Registers the background measurement of a document, and ends the document's earlier measurement.
    pub fn register(&self, uri: &Uri, work: &JoinHandle<()>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, task| !task.is_finished());
        if let Some(before) = running.insert(uri.as_str().to_owned(), work.abort_handle()) {
            before.abort();
        }
    }

    /// Waits for the permit to measure.
    ///
    /// # Errors
    ///
    /// When the server ends.
    pub async fn permit(&self) -> Result<SemaphorePermit<'_>> {
        self.permit.acquire().await.map_err(|error| failed(error.to_string()))
    }
}
