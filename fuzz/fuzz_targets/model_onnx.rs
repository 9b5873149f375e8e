#![no_main]

mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::check(bytes));
