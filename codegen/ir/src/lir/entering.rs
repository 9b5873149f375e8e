//! What a builder's values are made for.

use super::builder::Builder;
use super::origin::Origin;

/// Where the origin of values is changed back to.
#[derive(Clone, Copy, Debug)]
pub struct Outer(u32);

impl Builder {
    /// What is made from here on is for this, until [`Builder::leave`].
    pub fn enter(&mut self, origin: Origin) -> Outer {
        Outer(self.origins_mut().begin(origin))
    }

    /// What is made from here on is for what it was for before.
    pub fn leave(&mut self, outer: Outer) {
        self.origins_mut().go_on(outer.0);
    }

    /// What values are made for here.
    pub fn origin(&mut self) -> Origin {
        self.origins_mut().next()
    }
}
