//! Names of loops in the text of a schedule, and the copies that they select.

use std::sync::Arc;

/// A qualifier in a loop copy's name: a half of a `split`, a run of `splitByDepth`, or an iteration of a
/// specialized loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Name of the half of a `split`, of the loop that `splitByDepth` divided, or of the specialized loop.
    pub name: Arc<str>,
    /// Number of the run or of the iteration; `None` for a half.
    pub number: Option<u32>,
}

impl Tag {
    /// Whether this qualifier means the copy `tag`. Without a number, it means all runs and iterations.
    pub(super) fn covers(&self, tag: &Tag) -> bool {
        self.name == tag.name && (self.number.is_none() || self.number == tag.number)
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A written name: `b0`, `first.b1`, `v[3].t1`. Without qualifiers it means all live copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Qualifiers, outermost first. Some may be missing.
    pub scope: Vec<Tag>,
    /// Declared name.
    pub name: String,
    /// Number of the run of a `splitByDepth`.
    pub number: Option<u32>,
}

impl Select {
    /// All live copies of `name`.
    pub fn all(name: &str) -> Self {
        Select { scope: Vec::new(), name: name.to_owned(), number: None }
    }

    /// Reads a name with literal numbers: `b0`, `first.b1`, `v[3].t1`.
    pub fn read(text: &str) -> Option<Self> {
        let tag = |part: &str| -> Option<Tag> {
            let (name, number) = match part.trim().strip_suffix(']') {
                Some(rest) => rest.split_once('[').map(|(name, n)| (name, n.trim().parse().ok()))?,
                None => (part.trim(), None),
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let known =
                !name.is_empty() && name.chars().all(is_name) && (number.is_some() || !part.contains('['));
            known.then(|| Tag { name: name.into(), number })
        };
        let mut tags: Vec<Tag> = text.split('.').map(tag).collect::<Option<_>>()?;
        let last = tags.pop()?;
        Some(Select { scope: tags, name: last.name.to_string(), number: last.number })
    }

    /// Whether the name has neither qualifiers nor a number, and so selects all copies.
    pub(crate) fn is_bare(&self) -> bool {
        self.scope.is_empty() && self.number.is_none()
    }
}

impl std::fmt::Display for Select {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for tag in &self.scope {
            write!(f, "{tag}.")?;
        }
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.name),
            None => f.write_str(&self.name),
        }
    }
}
