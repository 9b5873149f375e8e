//! Names as they are written, and the copies that they mean.

use std::sync::Arc;

/// One step of copying: below a half of a `split`, or in one iteration of a specialised loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The half or the specialised loop.
    pub name: Arc<str>,
    /// The iteration or run.
    pub number: Option<u32>,
}

impl Tag {
    /// Whether, as a qualifier, it means `tag`; without a number it means every run and iteration.
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

/// A name as the user writes it: `b0`, `first.b1`, `v[3].t1`. Without qualifiers it means every live copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The copies to look in, outermost first. Some may be left out.
    pub scope: Vec<Tag>,
    /// The declared name.
    pub name: String,
    /// Which run of a `splitByDepth`.
    pub number: Option<u32>,
}

impl Select {
    /// Every live copy of `name`.
    pub fn all(name: &str) -> Self {
        Select { scope: Vec::new(), name: name.to_owned(), number: None }
    }

    /// Reads a name whose numbers are written out: `b0`, `first.b1`, `v[3].t1`.
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

    /// Whether it means every copy.
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
