//! Turns panics of the Parquet and Arrow crates into errors.
//!
//! Both intend to return errors, and both have panicked: on damaged files, since they index and multiply by
//! numbers of the file in hundreds of places, and on intact files with types that they do not support. After
//! a panic, everything that they built from the file is dropped, so that no half-made value remains.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::errors::shorten_error;
use crate::codes;
use crate::error::DataError;

thread_local! {
    /// Whether this thread is within [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will become an error. Panic hooks then print nothing.
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
    result.unwrap_or_else(|panic| Err(gave_up(name, panic.as_ref())))
}

/// The error of a reader that panicked with `panic`.
fn gave_up(name: &str, panic: &(dyn Any + Send)) -> DataError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let why = shorten_error(text.unwrap_or("it gave no reason").trim());
    DataError::new(codes::READER_LIMIT, name, format!("the reader of Parquet and Arrow files gave up: {why}"))
        .help(
            "save the columns with plain types, or as CSV; if other programs cannot read the file \
               either, it is damaged",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| assert!(panics_are_errors())));
        let result = guarded::<()>("rows", || panic!("index out of bounds"));
        std::panic::set_hook(hook);
        let error = result.unwrap_err();
        assert_eq!(error.code, codes::READER_LIMIT);
        assert!(error.to_string().contains("gave up: index out of bounds"), "{error}");
        assert!(!panics_are_errors());
        assert_eq!(guarded("rows", || Ok(1)).ok(), Some(1));
    }
}
