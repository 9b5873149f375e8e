//! Puts problems into words, and adds them to a report.

use std::collections::BTreeMap;

use foldhash::{HashSet, HashSetExt};

use crate::device::Limits;
use crate::diagnostics::{Code, Diagnostic, Severity, SpanLabel, WordingOptions, codes, put_into_words};
use crate::illegal::{Illegal, Problem};
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::listener::Listener;
use crate::options::TargetKind;
use crate::report::Report;
use sched_nest::LoopId;
use sched_nest::show::show_marked;

/// Largest nest in a note, in loops.
const MAX_NOTE_LOOPS: usize = 400;
/// Largest number of notes with a nest. More would make checks of long files slow.
const MAX_NEST_NOTES: usize = 50;

/// Largest number of errors with a search for legal alternatives.
const MAX_SEARCHES: usize = 20;

/// A listener that puts problems into words.
pub(super) struct Words<'r, 'a> {
    report: &'r mut Report<'a>,
    /// Limits of the target.
    limits: Limits,
    /// Whether the target is explicitly a CPU.
    for_cpu: bool,
    /// For calls that the nest of trees refuses, loops that only other stages have.
    other_loops: BTreeMap<DirectiveIndex, Vec<String>>,
    /// Reported pairs. A problem of several copies of a loop is reported once.
    seen: HashSet<(DirectiveIndex, Code)>,
    nests: usize,
    /// Number of searches for alternatives so far.
    searches: usize,
}

impl Listener for Words<'_, '_> {
    /// Reports a problem, unless it follows from an earlier one.
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        let Some(code) = illegal.problem.code() else { return };
        if illegal.problem.may_be_a_consequence() && illegal.loops.iter().any(|id| builder.node(*id).tainted)
        {
            return;
        }
        if !self.seen.insert((illegal.step, code)) || self.report.is_full(code) {
            return;
        }
        // Problems of names have specific fixes, and a nest that is too large has none.
        let is_about_loops = code >= codes::CONSUMED && !illegal.problem.is_fatal();
        let limits = if is_about_loops { self.search(code) } else { None };
        let other_loops = self.other_loops.get(&illegal.step).map_or(&[][..], Vec::as_slice);
        let options = WordingOptions { limits, for_cpu: self.for_cpu, other_loops };
        let wording = put_into_words(illegal, builder, self.report, &options);
        let span = self.report.place(illegal.step, illegal.argument);
        let mut diagnostic = Diagnostic::new(code, span, wording.message).label(wording.label);
        diagnostic.help = wording.help;
        diagnostic.fixes = wording.fixes;
        for (step, argument, what) in wording.labels {
            diagnostic = diagnostic.and(self.report.place(step, argument), what);
        }
        if diagnostic.severity == Severity::Error {
            self.explain_loops(builder, illegal, &mut diagnostic);
        }
        self.report.push(diagnostic);
    }
}

impl<'r, 'a> Words<'r, 'a> {
    /// An empty listener. `is_given` tells whether the target is explicit or follows from the directives.
    pub fn new(report: &'r mut Report<'a>, limits: Limits, is_given: bool) -> Self {
        let for_cpu = is_given && limits.kind == TargetKind::Cpu;
        let (other_loops, seen) = (BTreeMap::new(), HashSet::new());
        Words { report, limits, for_cpu, other_loops, seen, nests: 0, searches: 0 }
    }

    /// Lets messages of unknown loops name those that only stages of columns have.
    pub fn name_other_loops(&mut self, other_loops: BTreeMap<DirectiveIndex, Vec<String>>) {
        self.other_loops = other_loops;
    }

    /// Leaves out legal alternatives and notes with nests, for diagnostics that are only counted.
    pub fn omit_alternatives_and_nests(&mut self) {
        self.searches = MAX_SEARCHES;
        self.nests = MAX_NEST_NOTES;
    }

    /// Leaves out legal alternatives: their search knows the rules of the nest of trees alone.
    pub fn omit_alternatives(&mut self) {
        self.searches = MAX_SEARCHES;
    }

    /// Limits for alternatives, if they are to be searched.
    fn search(&mut self, code: Code) -> Option<Limits> {
        if self.report.severity(code) != Severity::Error {
            return None;
        }
        self.searches += 1;
        (self.searches <= MAX_SEARCHES).then_some(self.limits)
    }

    /// Adds labels for the origin of the loops, and a note with the nest.
    fn explain_loops(&mut self, builder: &NestBuilder, illegal: &Illegal, diagnostic: &mut Diagnostic) {
        const LABELS: usize = 4;
        // Each directive with some of the loops that it made, and the number of the others.
        let mut makers: Vec<(DirectiveIndex, Vec<String>, usize)> = Vec::new();
        for id in &illegal.loops {
            let Some(step) = builder.node(*id).made_by.filter(|step| *step != illegal.step) else { continue };
            let name = format!("`{}`", builder.name(*id));
            match makers.iter_mut().find(|(known, ..)| *known == step) {
                Some((_, names, _)) if names.len() < LABELS => names.push(name),
                Some((.., others)) => *others += 1,
                None => makers.push((step, vec![name], 0)),
            }
        }
        for (step, names, others) in makers.into_iter().take(LABELS) {
            let place = self.report.place(step, None);
            if diagnostic.labels.iter().any(|label| label.span == place) {
                continue;
            }
            let verb = if names.len() == 1 { "was" } else { "were" };
            let others = if others > 0 { format!(" and {others} more") } else { String::new() };
            let message = format!("{}{others} {verb} made here", names.join(", "));
            diagnostic.labels.push(SpanLabel { span: place, message });
        }
        let about_loops =
            !illegal.loops.is_empty() || matches!(illegal.problem, Problem::UnknownIndex { .. });
        if about_loops && self.nests < MAX_NEST_NOTES && builder.tree().loop_count() <= MAX_NOTE_LOOPS {
            self.nests += 1;
            let (nest, origin) = builder.nest();
            let marks: Vec<LoopId> = (0..origin.len() as u32)
                .map(LoopId)
                .filter(|id| illegal.loops.contains(&origin[id.0 as usize]))
                .collect();
            let shown = show_marked(&nest, &marks);
            diagnostic.notes.push(format!("the loop nest at this point:\n{}", shown.trim_end()));
        }
    }
}
