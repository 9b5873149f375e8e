//! Predicted gains of proposals, cached by text and model, and the predictions in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sched_ide::Gain;
use tokio::task::AbortHandle;

/// Maximum number of positions whose gains are cached.
const MAX_CACHED_POSITIONS: usize = 128;

/// Predicted gains of proposals, by the labels that the list shows.
pub type ByLabel = HashMap<String, Gain>;

/// A position at which a proposal may be inserted: the text around it, and the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalPlace {
    /// Text of the document before the position.
    pub before: String,
    /// Text of the document after the position.
    pub after: String,
    /// Fingerprint of the model.
    pub fingerprint: String,
}

/// The cache of predicted gains, and the predictions in progress.
#[derive(Debug, Default)]
pub struct Gains {
    /// The cached gains, the latest last.
    kept: Mutex<Vec<(ProposalPlace, Arc<ByLabel>)>>,
    /// For each document, the prediction in progress.
    running: Mutex<HashMap<String, (ProposalPlace, AbortHandle)>>,
}

impl Gains {
    /// The cached gains at a position.
    pub fn of(&self, place: &ProposalPlace) -> Option<Arc<ByLabel>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == place).map(|(_, gains)| Arc::clone(gains))
    }

    /// Caches gains, and drops the oldest if the cache is full.
    pub fn keep(&self, place: ProposalPlace, gains: ByLabel) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != place);
        kept.push((place, Arc::new(gains)));
        let surplus = kept.len().saturating_sub(MAX_CACHED_POSITIONS);
        kept.drain(..surplus);
    }

    /// Whether a prediction for this position of a document is in progress.
    pub fn is_running(&self, document: &str, place: &ProposalPlace) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(document).is_some_and(|(at, task)| at == place && !task.is_finished())
    }

    /// Registers the task that predicts gains at a position, and ends the document's earlier task.
    pub fn register(&self, document: &str, place: ProposalPlace, task: AbortHandle) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, (_, task)| !task.is_finished());
        if let Some((_, before)) = running.insert(document.to_owned(), (place, task)) {
            before.abort();
        }
    }
}
