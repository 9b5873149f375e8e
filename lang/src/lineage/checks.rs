//! Checks that several modifiers share: new names, loops that cannot be reshaped, and the size of the nest.

use super::{DirectiveIndex, LoopNode, MAX_DEPTH, MAX_EXPANSION, MAX_LOOPS, NestBuilder};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::sym::Property;
use sched_nest::{LoopId, ModelInfo, StageKind};

/// Largest number of loops in all constraints together. It bounds memory if long chains of tiles are copied
/// often.
const MAX_MENTIONS: usize = 2_000_000;

/// Whether a stage of the model, or any nest of trees, begins with a loop of this name.
pub(crate) fn is_first_loop(model: Option<&ModelInfo>, name: &str) -> bool {
    let kinds = model.map_or(&[][..], |model| &model.stages).iter().map(|stage| stage.kind);
    let mut loops = kinds.chain([StageKind::Trees]).flat_map(StageKind::loops);
    name == "batch" || loops.any(|(own, _)| *own == name)
}

/// Refuses names of existing indices for the new loops of a modifier, and the same name for both. Each name
/// has the number of its argument. A loop with the name of a first loop of another stage would share its bare
/// name.
pub(super) fn check_new_names(
    nest: &NestBuilder,
    step: DirectiveIndex,
    new: [(usize, &str); 2],
) -> Result<(), Illegal> {
    let taken = |(argument, name): (usize, &str), owner: Option<LoopId>| {
        let problem = Problem::NameTaken { name: name.to_owned() };
        Err(Illegal::argument(step, argument, problem, owner.into_iter().collect()))
    };
    let is_stage = |name: &str| {
        let stages = nest.model().map_or(&[][..], |model| &model.stages);
        stages.iter().any(|stage| stage.kind != StageKind::Trees && stage.name == name)
    };
    for (argument, name) in new {
        if is_stage(name) {
            return taken((argument, name), None);
        }
        if nest.names().is_declared(name) {
            return taken((argument, name), nest.names().copies(name).first().copied());
        }
        if is_first_loop(nest.model().map(|model| &**model), name) {
            return taken((argument, name), None);
        }
    }
    if new[0].1 == new[1].1 {
        return taken(new[1], None);
    }
    Ok(())
}

/// Refuses loops whose body depends on their iterations.
pub(super) fn check_not_specialized(
    nest: &NestBuilder,
    step: DirectiveIndex,
    v: LoopId,
) -> Result<(), Illegal> {
    match nest.node(v).specialized_by {
        Some(by) => Err(Illegal::argument(step, 0, Problem::Specialized { by }, vec![v])),
        None => Ok(()),
    }
}

/// Refuses loops whose body depends on their iterations, and loops with annotations, which would have no
/// effect.
pub(super) fn check_reshapable(nest: &NestBuilder, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
    check_not_specialized(nest, step, v)?;
    match nest.node(v).annotations.first() {
        Some((_, annotation)) => {
            let problem = Problem::AnnotationLost { consumer: step };
            Err(Illegal::argument(*annotation, 0, problem, vec![v]))
        }
        None => Ok(()),
    }
}

/// Number of iterations to expand; `None` if that needs a model.
pub(super) fn check_expansion(
    nest: &mut NestBuilder,
    step: DirectiveIndex,
    v: LoopId,
) -> Result<Option<usize>, Illegal> {
    let LoopNode { start, stop, step: stride, .. } = nest.node(v);
    let refuse = |problem| Err(Illegal::argument(step, 0, problem, vec![v]));
    if let Some(trips) = nest.node(v).trips() {
        if trips > MAX_EXPANSION {
            return refuse(Problem::TripsHuge { trips, limit: MAX_EXPANSION });
        }
        return Ok(Some(trips as usize));
    }
    let at_run_time = |property| property == Property::Rows;
    if nest.model().is_some() || [start, stop, stride].iter().any(|bound| bound.mentions(&at_run_time)) {
        return refuse(Problem::TripsUnknown);
    }
    let name = nest.name(v);
    nest.remarks.add_unverified(step, v, Obligation::Trips { name });
    Ok(None)
}

/// Refuses an operation that puts one more loop on the paths through `v`, if the longest of them already has
/// [`MAX_DEPTH`] loops. The operation follows this check.
pub(super) fn check_depth(nest: &NestBuilder, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
    if nest.tree.longest_path(v) < MAX_DEPTH {
        return Ok(());
    }
    Err(Illegal::at(step, Problem::TooDeep, vec![v]))
}

/// Refuses a nest that would grow beyond what can be compiled.
pub(super) fn check_growth(
    nest: &NestBuilder,
    step: DirectiveIndex,
    at: LoopId,
    more_loops: usize,
    more_mentions: usize,
) -> Result<(), Illegal> {
    if nest.tree.loop_count().saturating_add(more_loops) > MAX_LOOPS
        || nest.constraints.mentions().saturating_add(more_mentions) > MAX_MENTIONS
    {
        return Err(Illegal::at(step, Problem::TooManyLoops, vec![at]));
    }
    Ok(())
}

/// Refuses `copies` more copies of the bodies of `loops` if the nest becomes too large.
pub(super) fn check_copies(
    nest: &NestBuilder,
    step: DirectiveIndex,
    loops: &[LoopId],
    copies: usize,
) -> Result<(), Illegal> {
    let (mut more, mut mentions) = (0, 0);
    for v in loops {
        let subtree = nest.tree.subtree(*v);
        more += subtree.len();
        mentions += nest.constraints.mentions_of(&subtree);
    }
    check_growth(nest, step, loops[0], more.saturating_mul(copies), mentions.saturating_mul(copies))
}
