//! Origins of the values that a builder makes.

use super::builder::Builder;
use super::origin::Origin;

/// The origin to which [`Builder::leave_origin`] returns.
#[derive(Clone, Copy, Debug)]
pub struct OuterOrigin(u32);

impl Builder {
    /// Assigns an origin to all values until [`Builder::leave_origin`].
    pub fn enter_origin(&mut self, origin: Origin) -> OuterOrigin {
        OuterOrigin(self.origins_mut().replace_next(origin))
    }

    /// Restores the earlier origin.
    pub fn leave_origin(&mut self, outer: OuterOrigin) {
        self.origins_mut().set_next(outer.0);
    }

    /// Origin of the next value.
    pub fn origin(&mut self) -> Origin {
        self.origins_mut().next()
    }
}
