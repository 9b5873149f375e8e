//! The loops of a stage of columns, as directives arrange them.

use std::sync::Arc;

use super::{annotate, modifiers};
use crate::accumulation;
use crate::directives::DirectiveOp;
use crate::illegal::{Illegal, Problem};
use crate::legality;
use crate::lineage::{Annotation, NestBuilder};
use crate::lints;
use crate::listener::Listener;
use crate::operation::{Operation, TRIED_OPERATION};
use crate::options::TargetKind;
use crate::resolve::DirectiveCall;
use crate::stages::acts_on_stages;
use sched_nest::{Accumulation, Axis, ModelInfo, StageInfo, StageKind, StageNest};

/// A stage of columns and its loops.
#[derive(Clone, Debug)]
pub struct StageVariant {
    /// The stage.
    pub stage: StageInfo,
    /// The stage's nest with annotations, as far as the schedule is legal.
    pub builder: NestBuilder,
    target: TargetKind,
}

/// Facts that the stages of a schedule share.
#[derive(Clone, Copy, Debug)]
pub struct StageContext<'m> {
    /// Kind of the target.
    pub target: TargetKind,
    /// The model, if there is one.
    pub model: Option<&'m Arc<ModelInfo>>,
    /// Largest number of rows that the loops process at once, if known.
    pub batch_size: Option<u64>,
    /// The nest of the last trees, for messages; `None` if nobody reads them.
    pub forest: Option<&'m NestBuilder>,
}

/// Most loops of the last trees that a message can propose.
const MOST_LOOPS_OF_TREES: usize = 8;

impl StageContext<'_> {
    /// Loops of the last trees, the outermost first.
    fn loops_of_trees(&self) -> Vec<String> {
        let Some(forest) = self.forest else { return Vec::new() };
        let loops = forest.tree().loops().into_iter();
        loops.map(|id| forest.name(id)).take(MOST_LOOPS_OF_TREES).collect()
    }
}

impl StageVariant {
    /// The stage before any directive.
    fn plain(stage: StageInfo, context: StageContext, operations: usize) -> Self {
        let StageContext { target, model, batch_size, .. } = context;
        let builder = NestBuilder::of_stage(model.cloned(), &stage, batch_size, operations);
        StageVariant { builder, stage, target }
    }

    /// The stages of columns of a model without those that a schedule arranges.
    pub fn unarranged(context: StageContext, arranged: &[StageVariant]) -> Vec<StageVariant> {
        let is_other = |stage: &&StageInfo| {
            stage.kind != StageKind::Trees && !arranged.iter().any(|other| other.stage.name == stage.name)
        };
        let stages = context.model.map_or(&[][..], |model| &model.stages).iter().filter(is_other);
        stages.map(|stage| StageVariant::plain(stage.clone(), context, 0)).collect()
    }

    /// Applies the directives that concern a stage, and judges its nest.
    pub(super) fn arrange(
        (stage, calls): (StageInfo, Vec<DirectiveCall>),
        context: StageContext,
        listener: &mut dyn Listener,
    ) -> Self {
        let mut variant = StageVariant::plain(stage, context, calls.len());
        let builder = &mut variant.builder;
        for call in calls.iter().filter(|call| !acts_on_stages(call.op)) {
            let (stage, of_trees) = (variant.stage.name.clone(), context.loops_of_trees());
            let problem = Problem::NotInStage { stage, of_trees };
            listener.illegal(builder, &Illegal::at(call.step, problem, Vec::new()));
        }
        let acting = || calls.iter().filter(|call| acts_on_stages(call.op));
        if modifiers::apply(acting(), builder, listener) {
            annotate::attach(acting(), builder, listener);
            let problems = legality::stage::check(builder, &variant.stage, context.target);
            let lints = if problems.is_empty() { lints::stage_problems(builder) } else { Vec::new() };
            for illegal in problems.iter().chain(&lints) {
                listener.illegal(builder, illegal);
            }
        }
        variant
    }

    /// Whether an operation of the text leaves the stage legal. It concerns the stage if the stage has all
    /// loops that it names.
    pub fn stays_legal_with(&self, operation: &Operation) -> bool {
        // A mapping makes the target a GPU.
        if operation.op() == DirectiveOp::GpuDimension && self.is_for_cpus() {
            return false;
        }
        let loops = operation.loops();
        let has = |select| self.builder.select(TRIED_OPERATION, 0, select).is_ok();
        if loops.is_empty() || !loops.iter().all(has) {
            return true;
        }
        let copies = matches!(
            operation.op(),
            DirectiveOp::Split | DirectiveOp::SplitByDepth | DirectiveOp::Specialize
        );
        !copies && (!acts_on_stages(operation.op()) || self.fits(operation))
    }

    /// The stage's loops.
    pub fn nest(&self) -> StageNest {
        StageNest { stage: self.stage.clone(), nest: self.builder.nest().0 }
    }

    /// Whether an operation that [fits](StageVariant::fits) changes the order in which sums add their terms.
    pub fn reassociates(&self, operation: &Operation) -> bool {
        let is_exact = |builder: &NestBuilder| accumulation::infer(builder) == Accumulation::Exact;
        let mut changed = self.builder.clone();
        is_exact(&self.builder)
            && operation.apply(TRIED_OPERATION, &mut changed).is_ok()
            && !is_exact(&changed)
    }

    /// Whether threads share units of the stage, or lanes of vectors have terms. On GPUs, the former is
    /// illegal, and the latter in many stages.
    fn is_for_cpus(&self) -> bool {
        let loops = self.builder.tree().loops().into_iter().map(|id| self.builder.node(id));
        loops.into_iter().any(|node| {
            let has = |test: fn(&Annotation) -> bool| node.directive_of(test).is_some();
            match node.axis {
                Axis::Unit => has(|annotation| matches!(annotation, Annotation::Parallel)),
                Axis::Feature => has(|annotation| matches!(annotation, Annotation::Vectorize(_))),
                _ => false,
            }
        })
    }

    /// Whether one more operation on the loops is legal.
    pub fn fits(&self, operation: &Operation) -> bool {
        let mut builder = self.builder.clone();
        let problems = |builder: &NestBuilder| legality::stage::check(builder, &self.stage, self.target);
        if !acts_on_stages(operation.op()) || operation.apply(TRIED_OPERATION, &mut builder).is_err() {
            return false;
        }
        let new = problems(&builder);
        new.iter().all(|illegal| illegal.step != TRIED_OPERATION)
            && new.len() <= problems(&self.builder).len()
    }
}
