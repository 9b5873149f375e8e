//! A nest with launches, and the problems that its checks have found.

use super::paths::{LeafPath, Paths};
use crate::diagnostics::Code;
use crate::illegal::Illegal;
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::LoopId;

/// The problems found so far. A directive has at most one problem of each code.
pub struct FoundProblems<'p> {
    problems: &'p mut Vec<Illegal>,
    reported: Vec<(DirectiveIndex, Option<Code>)>,
}

impl<'p> FoundProblems<'p> {
    pub fn new(problems: &'p mut Vec<Illegal>) -> FoundProblems<'p> {
        FoundProblems { problems, reported: Vec::new() }
    }

    pub fn add(&mut self, illegal: Illegal) {
        let key = (illegal.step, illegal.problem.code());
        if !self.reported.contains(&key) {
            self.reported.push(key);
            self.problems.push(illegal);
        }
    }
}

/// A nest with launches.
pub struct Launches<'a> {
    pub builder: &'a NestBuilder,
    pub paths: &'a Paths<'a>,
    /// Index variables by loop of the nest.
    pub origin: &'a [LoopId],
}

impl Launches<'_> {
    /// The index variable of a loop of the nest.
    pub fn index(&self, id: LoopId) -> LoopId {
        self.origin[id.0 as usize]
    }

    /// The directive of a loop's annotation.
    pub fn directive(&self, id: LoopId, test: impl Fn(&Annotation) -> bool) -> Option<DirectiveIndex> {
        self.builder.node(self.index(id)).directive_of(test)
    }

    /// The directive that maps a loop to a GPU.
    pub fn mapping(&self, id: LoopId) -> Option<DirectiveIndex> {
        self.directive(id, |annotation| matches!(annotation, Annotation::Gpu(_)))
    }

    /// The paths of each launch, from its outermost mapped loop on, which all paths share.
    pub fn launches(&self) -> Vec<Vec<&LeafPath>> {
        let mut launches: Vec<(LoopId, Vec<&LeafPath>)> = Vec::new();
        for path in &self.paths.leaves {
            let root = path.iter().find(|around| self.paths.dimension(around.id).is_some());
            match (root, launches.last_mut()) {
                (Some(root), Some((id, paths))) if *id == root.id => paths.push(path),
                (Some(root), _) => launches.push((root.id, vec![path])),
                (None, _) => {}
            }
        }
        launches.into_iter().map(|(_, paths)| paths).collect()
    }
}
