//! Duplicate annotations of a directive that acts in several nests.

use foldhash::HashMap;

use crate::illegal::{Illegal, Problem};
use crate::lineage::{DirectiveIndex, NestBuilder};
use crate::listener::Listener;
use crate::resolve::DirectiveCall;
use sched_nest::StageInfo;

/// For each directive, the number of nests in which it may still have an effect. An annotation that a nest
/// already has is a duplicate only if all other nests have it, too.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    nests: HashMap<DirectiveIndex, usize>,
}

impl Repeats {
    /// Counts the nests in which each call acts: that of trees and those of stages.
    pub fn of(forest: &[DirectiveCall], stages: &[(StageInfo, Vec<DirectiveCall>)]) -> Self {
        let mut repeats = Repeats::default();
        for call in forest.iter().chain(stages.iter().flat_map(|(_, calls)| calls)) {
            *repeats.nests.entry(call.step).or_default() += 1;
        }
        repeats
    }

    /// A listener that passes problems on to another one, and duplicates once all nests have them.
    pub fn before<'l>(&'l mut self, listener: &'l mut dyn Listener) -> RepeatListener<'l> {
        RepeatListener { repeats: self, listener }
    }
}

/// Passes problems on, except for duplicates in some nests of several.
pub(super) struct RepeatListener<'l> {
    repeats: &'l mut Repeats,
    listener: &'l mut dyn Listener,
}

impl Listener for RepeatListener<'_> {
    fn illegal(&mut self, builder: &NestBuilder, illegal: &Illegal) {
        if let (Problem::Repeated { .. }, Some(nests)) =
            (&illegal.problem, self.repeats.nests.get_mut(&illegal.step))
        {
            *nests = nests.saturating_sub(1);
            if *nests > 0 {
                return;
            }
        }
        self.listener.illegal(builder, illegal);
    }

    fn spend(&mut self, work: usize) {
        self.listener.spend(work);
    }

    fn has_enough(&self) -> bool {
        self.listener.has_enough()
    }
}
