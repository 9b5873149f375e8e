//! Names of loops in the text of a schedule, and the copies that they select.

use std::sync::Arc;

/// A qualifier in a loop copy's name: a half of a `split`, a run of `splitByDepth`, or an iteration of a
/// specialized loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Qualifier {
    /// Name of the half of a `split`, of the loop that `splitByDepth` divided, or of the specialized loop.
    pub name: Arc<str>,
    /// Number of the run or of the iteration; `None` for a half.
    pub number: Option<u32>,
}

impl Qualifier {
    /// Whether this qualifier includes the copy of `other`. Without a number, it includes all runs of a
    /// `splitByDepth`, or all iterations of a specialized loop.
    pub(super) fn covers(&self, other: &Qualifier) -> bool {
        self.name == other.name && (self.number.is_none() || self.number == other.number)
    }
}

impl std::fmt::Display for Qualifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A written name: `b0`, `first.b1`, `v[3].t1`. Without qualifiers it means all live copies.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopSelector {
    /// Qualifiers, outermost first. Some may be missing.
    pub scope: Vec<Qualifier>,
    /// Declared name.
    pub name: String,
    /// Number of the run of a `splitByDepth`.
    pub number: Option<u32>,
}

impl LoopSelector {
    /// All live copies of `name`.
    pub fn all(name: &str) -> Self {
        LoopSelector { scope: Vec::new(), name: name.to_owned(), number: None }
    }

    /// Reads a name with literal numbers: `b0`, `first.b1`, `v[3].t1`.
    pub fn parse(text: &str) -> Option<Self> {
        let qualifier = |part: &str| -> Option<Qualifier> {
            let (name, number) = match part.trim().strip_suffix(']') {
                Some(rest) => rest.split_once('[').map(|(name, n)| (name, n.trim().parse().ok()))?,
                None => (part.trim(), None),
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let known =
                !name.is_empty() && name.chars().all(is_name) && (number.is_some() || !part.contains('['));
            known.then(|| Qualifier { name: name.into(), number })
        };
        let mut qualifiers: Vec<Qualifier> = text.split('.').map(qualifier).collect::<Option<_>>()?;
        let last = qualifiers.pop()?;
        Some(LoopSelector { scope: qualifiers, name: last.name.to_string(), number: last.number })
    }

    /// Whether the name has neither qualifiers nor a number, and so selects all copies.
    pub(crate) fn is_bare(&self) -> bool {
        self.scope.is_empty() && self.number.is_none()
    }
}

impl std::fmt::Display for LoopSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for qualifier in &self.scope {
            write!(f, "{qualifier}.")?;
        }
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.name),
            None => f.write_str(&self.name),
        }
    }
}
