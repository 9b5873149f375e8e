//! Reports of panics: bugs in schedc itself.

use crate::args::Format;
use crate::interrupt;
use crate::terminal::render;
use sched_diagnostics::{Diagnostic, Place, internal};
use sched_lang::diagnostics::Findings;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

/// Message format, known once the command line has been read.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// Installs a hook that reports a panic as a bug in schedc. The exit status of a panic is 101.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        // LLVM's bindings panic when memory runs out.
        interrupt::end_if_out_of_memory();
        // A reader of damaged rows catches this panic and reports an error.
        if schedc_data::panics_are_errors() {
            return;
        }
        let rendered = rendered(&diagnostic(info), FORMAT.get().copied().unwrap_or_default());
        let _ = std::io::stderr().lock().write_all(rendered.as_bytes());
    }));
}

/// Sets the message format of later panics.
pub fn set_format(format: Format) {
    let _ = FORMAT.set(format);
}

fn rendered(diagnostic: &Diagnostic, format: Format) -> String {
    let diagnostics = std::slice::from_ref(diagnostic);
    render(&[Findings { path: "", source: "", diagnostics }], format, false)
}

fn diagnostic(info: &PanicHookInfo) -> Diagnostic {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let message = format!("bug in schedc {}: {text}", env!("CARGO_PKG_VERSION"));
    let place = info.location().map_or_else(|| "an unknown place".to_string(), ToString::to_string);
    let mut diagnostic =
        Diagnostic::new(internal::PANIC, Place::Whole, message).help(internal::BUG_REPORT_HELP);
    diagnostic.notes.push(format!("at {place}"));
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::{Format, diagnostic, rendered};
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_panic_is_reported_with_its_code_and_its_place() {
        let seen = Arc::new(Mutex::new(None));
        let there = Arc::clone(&seen);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            *there.lock().expect("no panic") = Some(diagnostic(info));
        }));
        let result = std::panic::catch_unwind(|| panic!("the {} is odd", "sum"));
        std::panic::set_hook(before);
        assert!(result.is_err());
        let seen = seen.lock().expect("no panic").clone().expect("the hook has run");
        let full = rendered(&seen, Format::Full);
        assert!(full.starts_with("internal error: X0001: bug in schedc "), "{full}");
        assert!(full.contains("the sum is odd\n  at cli/src/internal.rs:"), "{full}");
        assert!(full.contains("\n  help: this is not your fault. Please report it"), "{full}");
        let json: serde_json::Value = serde_json::from_str(&rendered(&seen, Format::Json)).expect("JSON");
        assert_eq!((&json[0]["code"], &json[0]["path"]), (&"X0001".into(), &serde_json::Value::Null));
        assert!(json[0]["notes"][0].as_str().is_some_and(|note| note.contains("internal.rs:")), "{json}");
    }
}
