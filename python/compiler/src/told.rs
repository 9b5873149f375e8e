//! Findings on their way to Python.

use crate::Refused;
use pyo3::PyErr;
use sched_diagnostics::Diagnostic;
use sched_lang::Checked;
use sched_lang::diagnostics::{Severity, full, json};
use schedc_driver::{Failure, Reporter, Source};
use std::cell::RefCell;

/// Findings as JSON, and as people read them.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// One JSON array.
    pub json: String,
    /// With the source text around each.
    pub text: String,
    /// The same with ANSI colours.
    pub color: String,
}

impl Told {
    /// Findings in a text.
    pub fn of(name: &str, text: &str, findings: &[Diagnostic]) -> Told {
        Told {
            json: json::render(name, text, findings),
            text: full::render(name, text, findings, false),
            color: full::render(name, text, findings, true),
        }
    }

    /// A refusal that is about no text.
    pub fn refused(diagnostic: Diagnostic) -> Told {
        Told {
            text: full::plain("", &diagnostic, false),
            color: full::plain("", &diagnostic, true),
            json: json::render("", "", &[diagnostic]),
        }
    }

    /// As an exception.
    pub fn error(self) -> PyErr {
        Refused::new_err((self.json, self.text, self.color))
    }
}

/// Keeps what is found, for those who ask later.
#[derive(Default)]
pub struct Keeper(RefCell<Told>);

impl Keeper {
    /// What was found.
    pub fn told(self) -> Told {
        self.0.into_inner()
    }

    /// What stops a compilation: what was found in the schedule, or what was refused.
    pub fn stopped(self, failure: Failure) -> Told {
        match failure {
            Failure::Findings | Failure::Reported(_) => self.told(),
            Failure::Refused(diagnostic) => Told::refused(*diagnostic),
        }
    }
}

impl Reporter for Keeper {
    fn report(&self, source: &Source, checked: &Checked, least: Severity) -> usize {
        let severe = |diagnostic: &&Diagnostic| diagnostic.severity >= least;
        let found: Vec<Diagnostic> = checked.diagnostics.iter().filter(severe).cloned().collect();
        let errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
        // A schedule that schedc has chosen is checked once for each version, and has nothing to tell.
        if !found.is_empty() || self.0.borrow().json.is_empty() {
            *self.0.borrow_mut() = Told::of(&source.name, &source.text, &found);
        }
        errors
    }
}
