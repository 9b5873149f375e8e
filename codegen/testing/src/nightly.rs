//! The parts of long lists of cases that every run tests. Nightly runs test all cases; the variable
//! `SCHEDC_NIGHTLY` is set in them.

use std::ops::Range;

/// Whether this is a nightly run.
pub fn is_nightly() -> bool {
    std::env::var_os("SCHEDC_NIGHTLY").is_some()
}

/// The members of a list for case `number`: one of them, in turn; each night all of them.
///
/// # Panics
/// If the list is empty.
pub fn in_turn<T>(number: usize, all: &[T]) -> &[T] {
    if is_nightly() {
        return all;
    }
    let one = number % all.len();
    &all[one..=one]
}

/// The seeds of random cases: a third of them, and each night all.
pub fn seeds(all: u64) -> Range<u64> {
    0..if is_nightly() { all } else { all.div_ceil(3) }
}
