//! Names that refused directives would have declared. Their uses need no further message.

use std::collections::HashSet;

/// Names without loops, because of refused directives or a missing model.
#[derive(Clone, Debug, Default)]
pub(super) struct MissingNames {
    /// Names whose declaration was refused.
    refused: HashSet<String>,
    /// Names whose number of copies is unknown.
    uncounted: HashSet<String>,
    /// Whether a refused operation would have made loops with unknown names.
    includes_unknown: bool,
}

impl MissingNames {
    /// Adds the name of a refused loop.
    pub fn refuse(&mut self, name: &str) {
        self.refused.insert(name.to_owned());
    }

    /// Adds all unknown names.
    pub fn refuse_unknown(&mut self) {
        self.includes_unknown = true;
    }

    /// Adds the numbered copies of a name.
    pub fn refuse_copies(&mut self, name: &str) {
        self.uncounted.insert(name.to_owned());
    }

    /// Whether the declaration of this name was refused.
    pub fn is_refused(&self, name: &str) -> bool {
        self.refused.contains(name)
    }

    /// Whether the declaration of this unknown name may have been refused.
    pub fn may_be_refused(&self, name: &str) -> bool {
        self.includes_unknown || self.is_refused(name)
    }

    /// Whether the number of copies of this name is unknown.
    pub fn is_uncounted(&self, name: &str) -> bool {
        self.uncounted.contains(name)
    }

    /// Whether the number of copies of any name is unknown.
    pub fn has_uncounted(&self) -> bool {
        !self.uncounted.is_empty()
    }
}
