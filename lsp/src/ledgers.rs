//! Measured ledgers: the output of `schedc bench --prefixes`, cached by text and model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{AbortHandle, JoinHandle};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::Uri;

use crate::convert::failed;

/// Ledgers that are kept, at most.
const MOST: usize = 64;

/// A ledger, and what it was measured of.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// The document.
    pub uri: String,
    /// Its text then.
    pub text: Arc<str>,
    /// The fingerprint of its model then.
    pub fingerprint: String,
    /// The measurements, as `schedc bench --json` prints them.
    pub ledger: Arc<Value>,
}

/// All of them, and what is being measured.
#[derive(Debug)]
pub struct Ledgers {
    /// The latest last.
    kept: Mutex<Vec<Remembered>>,
    running: Mutex<HashMap<String, AbortHandle>>,
    /// Programs that measure at the same time would disturb each other.
    turn: Semaphore,
}

impl Default for Ledgers {
    fn default() -> Self {
        Ledgers { kept: Mutex::default(), running: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl Ledgers {
    /// The ledger of a text with a model, whatever document it was measured of.
    pub fn of(&self, text: &str, fingerprint: &str) -> Option<Remembered> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|one| &*one.text == text && one.fingerprint == fingerprint).cloned()
    }

    /// The last ledger of a document, of whatever text.
    pub fn last(&self, uri: &Uri) -> Option<Remembered> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|one| one.uri == uri.as_str()).cloned()
    }

    /// Keeps a ledger, and drops the oldest where there are many.
    pub fn keep(&self, one: Remembered) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| {
            (&other.uri, &other.text, &other.fingerprint) != (&one.uri, &one.text, &one.fingerprint)
        });
        kept.push(one);
        let surplus = kept.len().saturating_sub(MOST);
        kept.drain(..surplus);
    }

    /// Registers the background measurement of a document, and ends the document's earlier one.
    pub fn runs(&self, uri: &Uri, work: &JoinHandle<()>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, task| !task.is_finished());
        if let Some(before) = running.insert(uri.as_str().to_owned(), work.abort_handle()) {
            before.abort();
        }
    }

    /// Lets one program measure at a time.
    ///
    /// # Errors
    ///
    /// The server ends.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        self.turn.acquire().await.map_err(|error| failed(error.to_string()))
    }
}
