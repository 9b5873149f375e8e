//! A position in a schedule for one more directive, and whether an operation fits there.

use std::collections::HashSet;

use super::problem_counter::{ProblemCounter, Trial, judge};
use super::stage_variant::StageVariant;
use super::{WorkBudget, annotate, modifiers};
use crate::accumulation;
use crate::device::Limits;
use crate::directives::DirectiveOp;
use crate::lineage::{Annotation, LoopSelector, NestBuilder};
use crate::listener::Listener;
use crate::operation::{Operation, TRIED_OPERATION};
use crate::resolve::DirectiveCall;
use sched_nest::{Accumulation, LoopId, TreeOrder};

/// Largest number of runs of trees of the same depth that are worth trying.
const MOST_RUNS: usize = 256;

/// A position in a schedule. The directives before it are applied once. Each trial of a modifier applies
/// those after it again.
#[derive(Debug)]
pub struct InsertionPoint<'p> {
    before: Vec<&'p DirectiveCall>,
    after: Vec<&'p DirectiveCall>,
    limits: Limits,
    /// Limits of an operation that maps a loop to a GPU.
    gpu: Limits,
    /// The nest at the position, without annotations.
    here: NestBuilder,
    /// The final nest with its annotations; `None` if it is too large.
    whole: Option<NestBuilder>,
    /// Problems of the schedule without a tried operation.
    known: ProblemCounter,
    /// Names of loops used by modifiers after the position, or by annotations anywhere.
    named: HashSet<&'p str>,
    /// The stages of columns that the schedule arranges, after all directives.
    stages: Vec<StageVariant>,
}

impl<'p> InsertionPoint<'p> {
    /// The position between these directives.
    pub fn new(
        mut here: NestBuilder,
        before: Vec<&'p DirectiveCall>,
        after: Vec<&'p DirectiveCall>,
        limits: Limits,
        gpu: Limits,
    ) -> Self {
        let mut known = ProblemCounter::default();
        let is_fine = modifiers::apply(before.iter().copied(), &mut here, &mut known);
        let annotations = before.iter().filter(|call| !call.is_modifier);
        let named =
            annotations.chain(&after).flat_map(|call| call.selects()).map(|(_, select)| select.name.as_str());
        let named = named.collect();
        let mut point = InsertionPoint {
            before,
            after,
            limits,
            gpu,
            here,
            whole: None,
            known: ProblemCounter::default(),
            named,
            stages: Vec::new(),
        };
        let mut whole = point.here.clone();
        if is_fine && point.finish(&mut whole, &point.limits, &mut known) {
            point.whole = Some(whole);
        }
        point.known = known;
        point
    }

    /// Adds the stages of columns that the schedule arranges, and the names of loops that their directives
    /// use.
    #[must_use]
    pub(super) fn with_stages(
        mut self,
        stages: Vec<StageVariant>,
        names: impl IntoIterator<Item = &'p str>,
    ) -> InsertionPoint<'p> {
        self.named.extend(names);
        InsertionPoint { stages, ..self }
    }

    /// The nest at the position, without annotations.
    pub fn nest(&self) -> &NestBuilder {
        &self.here
    }

    /// Whether an operation is worth trying. It is not if it replaces a loop that other directives name,
    /// splits the trees into too many runs, or maps loops to a GPU around or inside loops on CPU threads.
    pub fn may_fit(&self, operation: &Operation) -> bool {
        let is_left = |v: &LoopSelector| !v.is_bare() || !self.named.contains(v.name.as_str());
        match operation {
            Operation::SplitByDepth(_) => self.runs() <= MOST_RUNS,
            _ if operation.op() == DirectiveOp::GpuDimension => !self.is_beside_threads(operation),
            _ if operation.signature().is_some_and(|signature| signature.new_loops() > 0) => {
                operation.loops().iter().all(is_left)
            }
            _ => true,
        }
    }

    /// Whether a loop around or inside those of an operation runs on CPU threads.
    fn is_beside_threads(&self, operation: &Operation) -> bool {
        let Some(whole) = &self.whole else { return false };
        let on_threads =
            |id: LoopId| whole.node(id).annotations.iter().any(|(a, _)| *a == Annotation::Parallel);
        let loops =
            operation.loops().iter().flat_map(|v| whole.select(TRIED_OPERATION, 0, v).unwrap_or_default());
        loops
            .into_iter()
            .any(|id| whole.tree().path(id).into_iter().chain(whole.tree().subtree(id)).any(on_threads))
    }

    /// Number of loops that an operation would copy. If they exceed the remaining work, the schedule would
    /// also compile slowly.
    fn copies(&self, operation: &Operation) -> usize {
        let Operation::Specialize(v) = operation else { return 0 };
        let ids = self.here.select(TRIED_OPERATION, 0, v).unwrap_or_default();
        let copied = |id: LoopId| {
            let trips = self.here.node(id).trips().and_then(|trips| usize::try_from(trips).ok()).unwrap_or(0);
            trips.saturating_mul(self.here.tree().subtree(id).len())
        };
        ids.into_iter().map(copied).fold(0, usize::saturating_add)
    }

    /// Number of runs of trees of the same depth, in the order of the nest; 0 if unknown.
    fn runs(&self) -> usize {
        match (self.here.model(), self.here.tree_order()) {
            (Some(model), TreeOrder::Model) => model.depths.changes(),
            _ => 0,
        }
    }

    /// Whether the schedule with this operation is as legal as without it: it has no new errors and warnings.
    /// If the remaining work does not suffice for the later directives, a modifier fits if it is legal at the
    /// position. Without any work left, nothing fits.
    pub fn fits(&mut self, operation: &Operation, work: &mut WorkBudget) -> bool {
        if work.is_done() || !self.may_fit(operation) || self.copies(operation) > work.whole {
            return false;
        }
        if !self.stages.iter().all(|stage| stage.stays_legal_with(operation)) {
            return false;
        }
        let limits = if operation.op() == DirectiveOp::GpuDimension { self.gpu } else { self.limits };
        if operation.is_modifier() {
            self.modifier_fits(operation, &limits, work)
        } else {
            self.annotation_fits(operation, &limits, work)
        }
    }

    /// Whether an operation that fits changes the order of accumulation from exact to reassociated: a
    /// modifier at the position, an annotation in the final nest.
    pub fn reassociates(&mut self, operation: &Operation) -> bool {
        let is_exact = |nest: &NestBuilder| accumulation::infer(nest) == Accumulation::Exact;
        if operation.is_modifier() {
            if !is_exact(&self.here) {
                return false;
            }
            let mut trial = self.here.clone();
            return operation.apply(TRIED_OPERATION, &mut trial).is_ok() && !is_exact(&trial);
        }
        let Some(whole) = self.whole.as_mut().filter(|whole| is_exact(whole)) else { return false };
        let reassociates = operation.apply(TRIED_OPERATION, whole).is_ok() && !is_exact(whole);
        whole.forget(TRIED_OPERATION);
        reassociates
    }

    /// Whether a modifier fits.
    fn modifier_fits(&self, operation: &Operation, limits: &Limits, work: &mut WorkBudget) -> bool {
        let mut trial = self.here.clone();
        work.spend(trial.indices().iter().len() / 2);
        let loops = trial.indices().iter().len();
        if operation.apply(TRIED_OPERATION, &mut trial).is_err() {
            return false;
        }
        work.spend(trial.indices().iter().len() - loops);
        let mut found = Trial::with_work(&self.known, work.whole);
        modifiers::report_remarks(operation.op(), &mut trial, &mut found);
        let is_whole = self.finish(&mut trial, limits, &mut found);
        work.whole = found.remaining_work();
        !found.has_new() && (is_whole || found.remaining_work() == 0)
    }

    /// Whether an annotation fits. Annotations apply to the final nest and can be taken back.
    fn annotation_fits(&mut self, operation: &Operation, limits: &Limits, work: &mut WorkBudget) -> bool {
        let Some(whole) = &mut self.whole else { return false };
        work.spend(1 + whole.tree().loop_count() / 2);
        let mut found = Trial::new(&self.known);
        let is_annotated = operation.apply(TRIED_OPERATION, whole).is_ok();
        if is_annotated {
            judge(whole, limits, &mut found);
        }
        whole.forget(TRIED_OPERATION);
        is_annotated && !found.has_new()
    }

    /// Applies the later modifiers, attaches all annotations and judges the nest, until the listener has
    /// enough. Returns false if that is impossible.
    fn finish(&self, builder: &mut NestBuilder, limits: &Limits, listener: &mut dyn Listener) -> bool {
        if listener.has_enough() || !modifiers::apply(self.after.iter().copied(), builder, listener) {
            return false;
        }
        annotate::attach(self.before.iter().chain(&self.after).copied(), builder, listener);
        listener.spend(builder.tree().loop_count() / 2);
        if !listener.has_enough() {
            judge(builder, limits, listener);
        }
        true
    }
}
