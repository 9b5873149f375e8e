//! Operations by number.

/// Which operation on the builder did something: the caller's number, for example the position of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirectiveIndex(pub u32);
