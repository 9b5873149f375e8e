//! Predicted gains of proposals, cached by text and model, and the predictions in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sched_ide::Gain;
use tokio::task::AbortHandle;

/// Places of which gains are kept, at most.
const MOST: usize = 128;

/// The gains of proposals, by what they write.
pub type ByLabel = HashMap<String, Gain>;

/// A place where something may be written: the text around it, and the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalPlace {
    /// The text before it.
    pub before: String,
    /// The text after it.
    pub after: String,
    /// Of the model.
    pub fingerprint: String,
}

/// All that is known, and what is being found out.
#[derive(Debug, Default)]
pub struct Gains {
    /// The latest last.
    kept: Mutex<Vec<(ProposalPlace, Arc<ByLabel>)>>,
    /// For each document.
    running: Mutex<HashMap<String, (ProposalPlace, AbortHandle)>>,
}

impl Gains {
    /// The known gains at a place.
    pub fn of(&self, place: &ProposalPlace) -> Option<Arc<ByLabel>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == place).map(|(_, gains)| Arc::clone(gains))
    }

    /// Keeps what was found out, and drops the oldest where there is much.
    pub fn keep(&self, place: ProposalPlace, gains: ByLabel) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != place);
        kept.push((place, Arc::new(gains)));
        let surplus = kept.len().saturating_sub(MOST);
        kept.drain(..surplus);
    }
    /// Whether a place of a document is being asked about.
    pub fn is_asked(&self, document: &str, place: &ProposalPlace) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(document).is_some_and(|(asked, task)| asked == place && !task.is_finished())
    }

    /// Registers the task that predicts gains at a place, and ends the document's earlier task.
    pub fn ask(&self, document: &str, place: ProposalPlace, task: AbortHandle) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, (_, task)| !task.is_finished());
        if let Some((_, before)) = running.insert(document.to_owned(), (place, task)) {
            before.abort();
        }
    }
}
