//! Proposals in the order of their predicted gains. A background process predicts the gains. Until it has
//! finished, the user gets the proposals in their usual order.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sched_ide::{self as ide, Completion, Gain};

use crate::document::Snapshot;
use crate::gains::{ByLabel, ProposalPlace};
use crate::state::ServerData;

/// Rows per call for which gains are predicted; fewer in a block `when n_rows <= N` with a smaller `N`.
const PREDICTED_ROWS: u64 = 1024;

/// Puts proposals in the order of their known gains. Otherwise starts the predictions and returns true: the
/// client should request the list again.
pub fn order(
    shared: &Arc<ServerData>,
    snapshot: &Arc<Snapshot>,
    offset: usize,
    items: &mut [Completion],
) -> bool {
    let source = snapshot.text.source();
    let Some((path, model)) = snapshot.binding.path.clone().zip(snapshot.binding.status.model()) else {
        return false;
    };
    let Some(first) = items.iter().find(|item| item.accepted_directive(source).is_some()) else {
        return false;
    };
    let (start, end) = (first.replace.start as usize, first.replace.end as usize);
    let (Some(before), Some(after)) = (source.get(..start), source.get(end..)) else { return false };
    let fingerprint = model.fingerprint.clone();
    let place = ProposalPlace { before: before.to_owned(), after: after.to_owned(), fingerprint };
    if let Some(gains) = shared.gains.of(&place) {
        ide::order_by_gain(items, |item| gains.get(&item.label).copied());
        return false;
    }
    let name = snapshot.uri.as_str();
    if shared.gains.is_running(name, &place) {
        return true;
    }
    let rows = snapshot.analysis.rows_at(offset).unwrap_or(PREDICTED_ROWS).min(PREDICTED_ROWS);
    let proposed = items.iter().filter(|item| item.accepted_directive(source).is_some()).cloned().collect();
    let request = GainRequest { place: place.clone(), snapshot: Arc::clone(snapshot), proposed, path, rows };
    let task = Arc::clone(shared);
    let work = tokio::spawn(async move {
        let place = request.place.clone();
        let gains = request.answer(&task).await;
        task.gains.keep(place, gains);
    });
    shared.gains.register(name, place, work.abort_handle());
    true
}

/// A request to predict the gains of all proposals at one position of a document.
struct GainRequest {
    place: ProposalPlace,
    snapshot: Arc<Snapshot>,
    proposed: Vec<Completion>,
    path: PathBuf,
    rows: u64,
}

impl GainRequest {
    /// The gains of all proposals that compile. Empty if the text does not compile without a proposal.
    async fn answer(&self, shared: &ServerData) -> ByLabel {
        let mut costs = HashMap::new();
        let mut gains = ByLabel::new();
        let ProposalPlace { before, after, .. } = &self.place;
        let Some(plain) = self.cost(shared, &mut costs, format!("{before}{after}")).await else {
            return gains;
        };
        for item in &self.proposed {
            let Some(text) = item.accepted_directive(self.snapshot.text.source()) else { continue };
            let at = item.replace.start as usize + item.label.len();
            let (options, taken) = (self.snapshot.analysis.options().clone(), text.clone());
            let followed =
                tokio::task::spawn_blocking(move || ide::with_following_directives(&taken, at, &options))
                    .await;
            let Some(now) = self.cost(shared, &mut costs, text).await else { continue };
            let then = match followed {
                Ok(followed) => self.cost(shared, &mut costs, followed).await.unwrap_or(now),
                Err(_) => now,
            };
            gains.insert(item.label.clone(), Gain { alone: plain / now, with_following: plain / then });
        }
        gains
    }

    /// Predicted cycles of a call under a schedule; `None` if it does not compile. `known` caches the costs
    /// by text.
    async fn cost(
        &self,
        shared: &ServerData,
        known: &mut HashMap<String, Option<f64>>,
        text: String,
    ) -> Option<f64> {
        if let Some(cost) = known.get(&text) {
            return *cost;
        }
        let predicted = shared.serving.cost(self.path.clone(), text.clone(), self.rows).await;
        let cost = predicted.ok().filter(|cost| cost.is_finite() && *cost > 0.0);
        known.insert(text, cost);
        cost
    }
}
