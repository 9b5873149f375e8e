//! What people see when schedc itself is wrong.

use crate::interrupt;
use std::io::Write;
use std::panic::PanicHookInfo;

/// Makes a panic say that schedc is wrong and not its user. The exit status of a panic is 101.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        // What LLVM's bindings take for impossible happens without memory.
        interrupt::end_if_out_of_memory();
        let _ = std::io::stderr().lock().write_all(report(info).as_bytes());
    }));
}

fn report(info: &PanicHookInfo) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = info.location().map_or_else(|| "an unknown place".to_string(), ToString::to_string);
    format!(
        "internal error: schedc {} has made a mistake: {text}\n  at {place}\n  help: this is not your fault. Please \
         report it with this text, the command line, and the schedule and the model if you can share them\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_panic_is_reported_with_its_place() {
        let seen = Arc::new(Mutex::new(String::new()));
        let there = Arc::clone(&seen);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| *there.lock().expect("no panic") = super::report(info)));
        let result = std::panic::catch_unwind(|| panic!("the {} is odd", "sum"));
        std::panic::set_hook(before);
        assert!(result.is_err());
        let seen = seen.lock().expect("no panic").clone();
        assert!(seen.starts_with("internal error: schedc "), "{seen}");
        assert!(seen.contains("the sum is odd\n  at cli/src/internal.rs:"), "{seen}");
        assert!(seen.contains("Please report it"), "{seen}");
    }
}
