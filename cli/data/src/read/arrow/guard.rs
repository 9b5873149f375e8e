//! The one place where panics of the Parquet and Arrow crates end.
//!
//! Both mean to return errors on damaged files, and both have panicked on some: they index and multiply by numbers of the
//! file in hundreds of places. What they build from a file is dropped after a panic, so that nothing half-made is seen
//! again; results that are being written are beside their place until they are whole.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::damaged;
use crate::error::DataError;

thread_local! {
    /// Whether this thread is within [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is about to become an error of a damaged file. Panic hooks say nothing then.
pub fn panics_are_errors() -> bool {
    GUARDED.get()
}

/// The result of `read`, or an error if it panics.
pub(in crate::read) fn guarded<T>(
    name: &str,
    read: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(outer);
    result.unwrap_or_else(|_| Err(damaged(name, "its parts contradict each other")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    #[test]
    fn a_panic_becomes_an_error() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| assert!(panics_are_errors())));
        let result = guarded::<()>("rows", || panic!("index out of bounds"));
        std::panic::set_hook(hook);
        assert_eq!(result.map_err(|error| error.code), Err(codes::DAMAGED));
        assert!(!panics_are_errors());
        assert_eq!(guarded("rows", || Ok(1)).ok(), Some(1));
    }
}
