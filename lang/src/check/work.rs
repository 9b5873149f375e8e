//! How much may be done to find out whether operations fit, counted in loops that are copied or made.

/// Work that is left. What is told of an operation is exact as long as there is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// For looking at all of a schedule.
    pub whole: usize,
    /// For looking at the place alone, once there is no more for the rest.
    pub here: usize,
}

impl Work {
    /// As much as it takes.
    pub const ENDLESS: Work = Work { whole: usize::MAX, here: usize::MAX };

    /// Whether nothing more can be found out.
    pub fn is_done(&self) -> bool {
        self.whole == 0 && self.here == 0
    }

    /// The part of this that each of so many searches may have.
    pub fn share(&self, searches: usize) -> Work {
        let searches = searches.max(1);
        Work { whole: self.whole / searches, here: self.here.div_ceil(searches) }
    }

    /// What is left when a share has become `rest`.
    pub fn after(&self, share: Work, rest: Work) -> Work {
        let left = |all: usize, share: usize, rest: usize| all.saturating_sub(share.saturating_sub(rest));
        Work {
            whole: left(self.whole, share.whole, rest.whole),
            here: left(self.here, share.here, rest.here),
        }
    }

    /// Takes work of one kind or the other.
    pub fn spend(&mut self, work: usize) {
        let over = work.saturating_sub(self.whole);
        self.whole = self.whole.saturating_sub(work);
        self.here = self.here.saturating_sub(over);
    }
}
