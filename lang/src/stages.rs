//! Directives by stage: each stage of a model has a separate nest, and a directive acts in every stage that
//! has all the loops that it names.
//!
//! A stage's loops have the stage's name before theirs, as in `layer1.unit`, or that of the step of the model
//! that the stage computes, as in `hidden.unit`: it means the loop of every stage of the step that has one. A
//! name without either means the loop of every stage that has one, or of the last trees if it is a loop over
//! trees. The last trees have the name of the last step: it means them alone if they have the loops. So the
//! directives of a schedule that names no stage concern the nest of trees alone: a stage of columns whose own
//! loops no directive names is arranged by the compiler.

use std::collections::{BTreeMap, BTreeSet};

use crate::directives::DirectiveOp;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{DirectiveIndex, LoopSelector};
use crate::obligation::Obligation;
use crate::resolve::{Arg, DirectiveCall};
use sched_nest::{Axis, ModelInfo, StageInfo, StageKind};

/// The calls of a schedule by stage.
#[derive(Debug, Default)]
pub(crate) struct StageCalls {
    /// Calls that concern the nest of trees, without the name of its stage before loops.
    pub forest: Vec<DirectiveCall>,
    /// Stages of sums whose loops some directive names, with the calls that concern them.
    pub stages: Vec<(StageInfo, Vec<DirectiveCall>)>,
    /// Problems of the names of stages.
    pub problems: Vec<Illegal>,
    /// Names of new loops of the calls that have these problems, if no other call makes such loops.
    pub refused_names: Vec<String>,
    /// For each call that the nest of trees refuses, since no stage has its loops: loops that only other
    /// stages have, by their bare names.
    pub other_loops: BTreeMap<DirectiveIndex, Vec<String>>,
}

/// Sorts the calls of a schedule by stage. Without a model, a name before a loop that no directive makes is
/// taken for a stage.
pub(crate) fn by_stage(calls: &[DirectiveCall], model: Option<&ModelInfo>) -> StageCalls {
    let mut sorter = CallSorter::new(calls, model);
    // Annotations are of loops of the final nest.
    let (modifiers, annotations): (Vec<&DirectiveCall>, Vec<&DirectiveCall>) =
        calls.iter().partition(|call| call.is_modifier);
    modifiers.into_iter().chain(annotations).for_each(|call| sorter.add(call));
    let mut result = sorter.finish();
    let new = || calls.iter().flat_map(DirectiveCall::new_names);
    result.refused_names.retain(|name| new().filter(|other| other == name).count() == 1);
    result
}

/// The loops that a text without a model names with one name before them.
#[derive(Default)]
struct GuessedStage {
    has_units: bool,
    has_vectors: bool,
    has_features: bool,
    has_trees: bool,
}

impl GuessedStage {
    fn add_loop(&mut self, name: &str) {
        match name {
            "unit" => self.has_units = true,
            "vector" => self.has_vectors = true,
            "feature" => self.has_features = true,
            "tree" => self.has_trees = true,
            _ => {}
        }
    }

    /// The kinds of stages that have these loops.
    fn kinds(&self, name: &str) -> Vec<StageKind> {
        let of_name = StageKind::of_name(name);
        let has_products = self.has_units || (self.has_features && !self.has_vectors);
        let has_own = of_name.is_some_and(|kind| !kind.has_terms());
        let found = [
            (has_products, StageKind::Products),
            (self.has_vectors, StageKind::Distances),
            (self.has_trees && !has_own, StageKind::Trees),
        ];
        let mut kinds: Vec<StageKind> =
            found.into_iter().filter_map(|(is_there, kind)| is_there.then_some(kind)).collect();
        if kinds.is_empty() {
            kinds.push(of_name.unwrap_or(StageKind::Trees));
        }
        kinds
    }
}

/// The names of a stage's loops, as far as calls have made them, and its calls.
struct StageLoops {
    info: StageInfo,
    names: BTreeSet<String>,
    /// The loops over trees among `names`.
    trees: BTreeSet<String>,
    /// Names of loops that some call has replaced.
    replaced: BTreeSet<String>,
    calls: Vec<DirectiveCall>,
    /// Whether some call names a loop that the nest of trees lacks.
    is_arranged: bool,
    /// The first call that divides rows in a way that stages of columns cannot follow.
    copied_by: Option<(DirectiveIndex, usize)>,
}

struct CallSorter<'m> {
    model: Option<&'m ModelInfo>,
    /// Names of the stage of trees: the model's own name; without a model, each stage name that is written
    /// before loops, but before no loop of a layer.
    trees: BTreeSet<String>,
    /// The names of the loops of the nest of trees.
    forest: BTreeSet<String>,
    stages: Vec<StageLoops>,
    /// Names of loops that some call makes.
    made: BTreeSet<String>,
    result: StageCalls,
}

impl<'m> CallSorter<'m> {
    fn new(calls: &[DirectiveCall], model: Option<&'m ModelInfo>) -> Self {
        // A loop with the name of a stage is refused. It may have the name of a step, which then means the
        // loop.
        let is_stage = |name: &&str| {
            let stages = model.map_or(&[][..], |model| &model.stages);
            stages.iter().any(|stage| stage.kind != StageKind::Trees && stage.name == *name)
        };
        let new = calls.iter().flat_map(DirectiveCall::new_names);
        let made: BTreeSet<String> = new.filter(|name| !is_stage(name)).map(str::to_owned).collect();
        let roots = ["batch", "tree"].map(str::to_owned);
        let mut sorter = CallSorter {
            model,
            trees: BTreeSet::new(),
            forest: roots.into(),
            stages: Vec::new(),
            made,
            result: StageCalls::default(),
        };
        let known = model.map_or_else(|| sorter.guess_stages(calls), |model| model.stages.clone());
        for info in known {
            match info.kind {
                // The last trees are also called `trees`, whatever the model's last step is.
                StageKind::Trees => sorter.trees.extend([info.name, "trees".to_owned()]),
                _ => sorter.stages.push(StageLoops::new(info)),
            }
        }
        sorter
    }

    /// The stages that a text without a model names. A name that stands before loops of several kinds of
    /// stages is that of a step, and stands for a stage of each kind.
    fn guess_stages(&mut self, calls: &[DirectiveCall]) -> Vec<StageInfo> {
        let mut named: BTreeMap<String, GuessedStage> = BTreeMap::new();
        for (step, at, select) in selects(calls) {
            let own = if self.made.contains(&select.name) { "" } else { select.name.as_str() };
            let is_of_stage = matches!(own, "unit" | "vector" | "feature") && select.scope.is_empty();
            let bare = || is_of_stage.then(|| "layer".to_owned());
            let Some(name) = self.stage_name(select).map(str::to_owned).or_else(bare) else { continue };
            let is_new = !named.contains_key(&name);
            named.entry(name.clone()).or_default().add_loop(own);
            if is_new {
                let what = Obligation::Stage { name }.into();
                self.result.problems.push(Illegal::argument(step, at, Problem::Unverified { what }, vec![]));
            }
        }
        let infos = named.into_iter().flat_map(|(name, guessed)| {
            let kinds = guessed.kinds(&name).into_iter();
            kinds.map(move |kind| StageInfo { name: name.clone(), kind, ..StageInfo::default() })
        });
        infos.collect()
    }

    /// The name of a stage before a loop: a qualifier that no loop has.
    fn stage_name<'s>(&self, select: &'s LoopSelector) -> Option<&'s str> {
        let first = select.scope.first().filter(|qualifier| qualifier.number.is_none())?;
        let is_loop = self.made.contains(&*first.name) || matches!(&*first.name, "batch" | "tree");
        (!is_loop).then_some(&*first.name)
    }

    fn add(&mut self, call: &DirectiveCall) {
        let named: BTreeSet<String> =
            call.selects().filter_map(|(_, select)| self.stage_name(select)).map(str::to_owned).collect();
        if let Some(unknown) = named.iter().find(|name| !self.is_stage(name)) {
            return self.refuse_name(call, unknown);
        }
        if let Some(problem) = self.copy_in_stage(call).or_else(|| self.mixed_stages(call)) {
            self.result.refused_names.extend(call.new_names().map(str::to_owned));
            return self.result.problems.push(problem);
        }
        let in_forest = named.is_subset(&self.trees)
            && call.selects().all(|(_, select)| self.forest.contains(&select.name) || has_copies(select));
        let mut is_taken = false;
        for stage in &mut self.stages {
            is_taken |= stage.add(call, &named, in_forest);
        }
        // Some stage that the call names refuses loops that none of them has.
        if !named.is_empty()
            && !in_forest
            && !is_taken
            && let Some(stage) = self.stages.iter_mut().find(|stage| stage.has_names(&named))
        {
            return stage.refuse(call);
        }
        if !in_forest && !is_taken {
            let forest = &self.forest;
            let is_refuser =
                |stage: &&mut StageLoops| stage.had_all_loops(call) || stage.has_own_loop(call, forest);
            if let Some(stage) = self.stages.iter_mut().find(is_refuser) {
                return stage.refuse(call);
            }
            self.result.other_loops.insert(call.step, self.loops_of_stages());
        }
        if in_forest || !is_taken {
            self.forest.extend(call.new_names().map(str::to_owned));
            self.result.forest.push(without_stage(call, &self.trees));
        }
    }

    /// Loops of stages of columns that the nest of trees lacks, by their bare names.
    fn loops_of_stages(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.stages.iter().flat_map(|stage| &stage.names).collect();
        all.into_iter().filter(|name| !self.forest.contains(*name)).cloned().collect()
    }

    /// The problem of a call that names a copy of a stage's loop. Only the nest of trees has copies.
    fn copy_in_stage(&self, call: &DirectiveCall) -> Option<Illegal> {
        call.selects().find_map(|(at, select)| {
            let mut qualifiers = select.scope.iter();
            if !qualifiers.any(|qualifier| self.forest.contains(&*qualifier.name)) {
                return None;
            }
            let names_stage = |stage: &&StageLoops| {
                select.scope.iter().any(|qualifier| stage.info.has_name(&qualifier.name))
            };
            let has_loop = |stage: &&StageLoops| stage.names.contains(&select.name);
            let named = self.stages.iter().find(names_stage).filter(has_loop);
            let any = || {
                let is_only_there = !self.forest.contains(&select.name);
                self.stages.iter().find(|stage| is_only_there && has_loop(stage))
            };
            let stage = named.or_else(any)?.info.name.clone();
            let problem = Problem::CopyInStage { stage, path: select.to_string() };
            Some(Illegal::argument(call.step, at, problem, Vec::new()))
        })
    }

    /// The problem of a call that names loops of several stages.
    fn mixed_stages(&self, call: &DirectiveCall) -> Option<Illegal> {
        let mut common: Option<(&LoopSelector, Vec<&str>)> = None;
        for (at, select) in call.selects() {
            let own = self.owners(select);
            if own.is_empty() {
                return None;
            }
            let Some((first, before)) = &mut common else {
                common = Some((select, own));
                continue;
            };
            let shared: Vec<&str> = before.iter().copied().filter(|stage| own.contains(stage)).collect();
            if shared.is_empty() {
                let place = |select: &LoopSelector, stage: &str| (select.name.clone(), stage.to_owned());
                let other = place(first, before.first()?);
                let problem = Problem::TwoStages(Box::new([other, place(select, own.first()?)]));
                return Some(Illegal::argument(call.step, at, problem, Vec::new()));
            }
            if shared.len() < before.len() {
                *first = select;
            }
            *before = shared;
        }
        None
    }

    /// The stages that a loop may belong to.
    fn owners(&self, select: &LoopSelector) -> Vec<&str> {
        let named = self.stage_name(select);
        let is_owner = |stage: &&StageLoops| {
            stage.names.contains(&select.name) && named.is_none_or(|named| stage.info.has_name(named))
        };
        let stages = self.stages.iter().filter(is_owner);
        let in_forest = (self.forest.contains(&select.name) || has_copies(select))
            && named.is_none_or(|named| self.trees.contains(named));
        let own = self.trees.iter().find(|name| *name != "trees");
        let trees = own.map_or("trees", String::as_str);
        stages.map(|stage| stage.info.name.as_str()).chain(in_forest.then_some(trees)).collect()
    }

    fn is_stage(&self, name: &str) -> bool {
        self.trees.contains(name) || self.stages.iter().any(|stage| stage.info.has_name(name))
    }

    /// Refuses a call that names no stage of the model.
    fn refuse_name(&mut self, call: &DirectiveCall, name: &str) {
        let at = call.selects().find(|(_, select)| self.stage_name(select) == Some(name)).map(|(at, _)| at);
        let stages = self.model.map_or(&[][..], |model| &model.stages);
        let mut known: Vec<(String, StageKind)> =
            stages.iter().map(|stage| (stage.name.clone(), stage.kind)).collect();
        for (step, kind) in stages.iter().flat_map(|stage| stage.steps.iter().map(|step| (step, stage.kind)))
        {
            if !known.iter().any(|(name, _)| name == step) {
                known.push((step.clone(), kind));
            }
        }
        let problem = Problem::UnknownStage { name: name.to_owned(), known };
        self.result.refused_names.extend(call.new_names().map(str::to_owned));
        self.result.problems.push(Illegal { argument: at, ..Illegal::at(call.step, problem, Vec::new()) });
    }

    fn finish(mut self) -> StageCalls {
        self.result.forest.sort_by_key(|call| call.step);
        for mut stage in self.stages.into_iter().filter(|stage| stage.is_arranged) {
            stage.calls.sort_by_key(|call| call.step);
            if let Some((step, at)) = stage.copied_by {
                let problem = Problem::NotInStage { stage: stage.info.name.clone(), of_trees: Vec::new() };
                self.result.problems.push(Illegal::argument(step, at, problem, Vec::new()));
            }
            self.result.stages.push((stage.info, stage.calls));
        }
        self.result
    }
}

impl StageLoops {
    fn new(info: StageInfo) -> Self {
        let inside = info.kind.loops().iter().map(|(name, _)| *name);
        let names = std::iter::once("batch").chain(inside).map(str::to_owned).collect();
        let is_tree = |(_, axis): &&(&str, Axis)| *axis == Axis::Tree;
        let trees = info.kind.loops().iter().filter(is_tree).map(|(name, _)| (*name).to_owned()).collect();
        let (replaced, calls) = (BTreeSet::new(), Vec::new());
        StageLoops { info, names, trees, replaced, calls, is_arranged: false, copied_by: None }
    }

    /// Whether the stage has, or once had, all loops that a call names without a stage.
    fn had_all_loops(&self, call: &DirectiveCall) -> bool {
        let had =
            |select: &LoopSelector| self.names.contains(&select.name) || self.replaced.contains(&select.name);
        call.selects().all(|(_, select)| select.scope.is_empty() && had(select))
            && call.selects().next().is_some()
    }

    /// Whether a call names a loop, without a stage, that the stage has and the `forest` lacks.
    fn has_own_loop(&self, call: &DirectiveCall, forest: &BTreeSet<String>) -> bool {
        let is_own = |select: &LoopSelector| {
            select.is_bare() && self.names.contains(&select.name) && !forest.contains(&select.name)
        };
        call.selects().any(|(_, select)| is_own(select))
    }

    /// Adds a call whose loops the stage lacks, so that its nest refuses it.
    fn refuse(&mut self, call: &DirectiveCall) {
        self.is_arranged = true;
        self.calls.push(call.clone());
    }

    /// Whether all of the names, at least one, are those of the stage or of its steps.
    fn has_names(&self, named: &BTreeSet<String>) -> bool {
        !named.is_empty() && named.iter().all(|name| self.info.has_name(name))
    }

    /// Adds a call that concerns the stage. Returns whether it does. `named` are the stages that the call
    /// names. `in_forest` is true if the nest of trees has all its loops, too.
    fn add(&mut self, call: &DirectiveCall, named: &BTreeSet<String>, in_forest: bool) -> bool {
        // The last trees have the name of the last step, too: it means them alone if they have the loops.
        let is_named = self.has_names(named) && !in_forest;
        let has_loop = |select: &LoopSelector| self.names.contains(&select.name) && !has_copies(select);
        let mut selects = call.selects().peekable();
        let concerns = selects.peek().is_some()
            && (named.is_empty() || is_named)
            && selects.all(|(_, select)| has_loop(select));
        if !concerns {
            return false;
        }
        if in_forest && !is_named {
            // A loop over trees without a stage's name is that of the last trees.
            if call.selects().any(|(_, select)| self.trees.contains(&select.name)) {
                return true;
            }
            if matches!(call.op, DirectiveOp::Split | DirectiveOp::SplitByDepth | DirectiveOp::Specialize) {
                self.copied_by = self.copied_by.or(Some((call.step, 0)));
                return true;
            }
            if !acts_on_stages(call.op) {
                return true;
            }
        } else {
            self.is_arranged = true;
        }
        if call.op == DirectiveOp::Tile {
            for (_, select) in call.selects().filter(|(_, select)| self.names.remove(&select.name)) {
                self.replaced.insert(select.name.clone());
                if self.trees.remove(&select.name) {
                    self.trees.extend(call.new_names().map(str::to_owned));
                }
            }
        }
        self.names.extend(call.new_names().map(str::to_owned));
        self.calls.push(call.clone());
        true
    }
}

/// Whether a directive acts on the loops of a stage of columns.
pub(crate) fn acts_on_stages(op: DirectiveOp) -> bool {
    matches!(
        op,
        DirectiveOp::Tile
            | DirectiveOp::Reorder
            | DirectiveOp::Unroll
            | DirectiveOp::Vectorize
            | DirectiveOp::Interleave
            | DirectiveOp::Parallel
            | DirectiveOp::Cache
    )
}

/// Whether a name has qualifiers beside that of a stage, or a number.
fn has_copies(select: &LoopSelector) -> bool {
    select.number.is_some()
        || select.scope.len() > 1
        || select.scope.iter().any(|qualifier| qualifier.number.is_some())
}

/// The names of loops in calls, with their places.
fn selects(calls: &[DirectiveCall]) -> impl Iterator<Item = (DirectiveIndex, usize, &LoopSelector)> {
    calls.iter().flat_map(|call| call.selects().map(|(at, select)| (call.step, at, select)))
}

/// The call without the name of the stage of trees before its loops.
fn without_stage(call: &DirectiveCall, trees: &BTreeSet<String>) -> DirectiveCall {
    let mut call = call.clone();
    for arg in &mut call.args {
        if let Arg::Index(select) = arg
            && select
                .scope
                .first()
                .is_some_and(|qualifier| qualifier.number.is_none() && trees.contains(&*qualifier.name))
        {
            select.scope.remove(0);
        }
    }
    call
}
