//! Conversion of findings for Python.

use crate::error::Refused;
use pyo3::PyErr;
use sched_diagnostics::Diagnostic;
use sched_lang::CheckedSchedule;
use sched_lang::diagnostics::{Severity, full, json};
use schedc_driver::{Failure, Reporter, ScheduleSource};
use std::cell::RefCell;

/// Findings as JSON and as text.
#[derive(Clone, Debug, Default)]
pub struct FindingsReport {
    /// Findings as one JSON array.
    pub json: String,
    /// Text with the source lines.
    pub text: String,
    /// Text with the source lines and ANSI colours.
    pub color: String,
}

impl FindingsReport {
    /// Findings in a text.
    pub fn of(name: &str, text: &str, findings: &[Diagnostic]) -> FindingsReport {
        FindingsReport {
            json: json::render(name, text, findings),
            text: full::render(name, text, findings, false),
            color: full::render(name, text, findings, true),
        }
    }

    /// A refusal without a position in a text.
    pub fn refused(diagnostic: Diagnostic) -> FindingsReport {
        FindingsReport {
            text: full::plain("", &diagnostic, false),
            color: full::plain("", &diagnostic, true),
            json: json::render("", "", &[diagnostic]),
        }
    }

    /// The Python exception for these findings.
    pub fn error(self) -> PyErr {
        Refused::new_err((self.json, self.text, self.color))
    }
}

/// Collects diagnostics for a later report.
#[derive(Default)]
pub struct DiagnosticCollector(RefCell<FindingsReport>);

impl DiagnosticCollector {
    /// The collected diagnostics.
    pub fn report(self) -> FindingsReport {
        self.0.into_inner()
    }

    /// The error that stops a compilation: findings in the schedule, or a refusal.
    pub fn stopped(self, failure: Failure) -> FindingsReport {
        match failure {
            Failure::Findings | Failure::Reported(_) => self.report(),
            Failure::Refused(diagnostic) => FindingsReport::refused(*diagnostic),
        }
    }
}

impl Reporter for DiagnosticCollector {
    fn report(&self, source: &ScheduleSource, checked: &CheckedSchedule, least: Severity) -> usize {
        let severe = |diagnostic: &&Diagnostic| diagnostic.severity >= least;
        let found: Vec<Diagnostic> = checked.diagnostics.iter().filter(severe).cloned().collect();
        let errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
        // A report without findings does not replace an earlier one: an automatic schedule is checked once
        // for each version, without findings.
        if !found.is_empty() || self.0.borrow().json.is_empty() {
            *self.0.borrow_mut() = FindingsReport::of(&source.name, &source.text, &found);
        }
        errors
    }
}
