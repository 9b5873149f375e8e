//! Budget of trials, counted in loops that are copied or made.

/// Remaining work. Answers about an operation are exact as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkBudget {
    /// Work for the whole schedule.
    pub whole: usize,
    /// Work for trials at the position alone, used once `whole` is used up.
    pub here: usize,
}

impl WorkBudget {
    /// Unlimited work.
    pub const ENDLESS: WorkBudget = WorkBudget { whole: usize::MAX, here: usize::MAX };

    /// Whether all work is used up.
    pub fn is_done(&self) -> bool {
        self.whole == 0 && self.here == 0
    }

    /// Returns an equal share of the work for each of `searches` searches.
    pub fn share(&self, searches: usize) -> WorkBudget {
        let searches = searches.max(1);
        WorkBudget { whole: self.whole / searches, here: self.here.div_ceil(searches) }
    }

    /// Remaining work after a search that got `share` of this work and left `rest` of its share.
    pub fn after(&self, share: WorkBudget, rest: WorkBudget) -> WorkBudget {
        let left = |all: usize, share: usize, rest: usize| all.saturating_sub(share.saturating_sub(rest));
        WorkBudget {
            whole: left(self.whole, share.whole, rest.whole),
            here: left(self.here, share.here, rest.here),
        }
    }

    /// Uses up work: of `whole` first, then of `here`.
    pub fn spend(&mut self, work: usize) {
        let over = work.saturating_sub(self.whole);
        self.whole = self.whole.saturating_sub(work);
        self.here = self.here.saturating_sub(over);
    }
}
