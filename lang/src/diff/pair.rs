//! Pairs of corresponding loops of two nests, and moved loops.

use std::collections::{HashMap, HashSet};

use sched_nest::{Axis, Constraint, LoopId, Nest};

/// The loop around each loop.
pub(super) struct ParentLoops(Vec<Option<LoopId>>);

impl ParentLoops {
    fn new(nest: &Nest) -> Self {
        let mut outer = vec![None; nest.loops.len()];
        for id in preorder(nest) {
            for child in nest.get(id).body.loops() {
                if let Some(slot) = outer.get_mut(child.0 as usize) {
                    *slot = Some(id);
                }
            }
        }
        ParentLoops(outer)
    }

    /// The loop around `id`.
    pub fn parent(&self, id: LoopId) -> Option<LoopId> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// The nearest loop around `id` that satisfies `test`.
    fn nearest(&self, id: LoopId, test: impl Fn(LoopId) -> bool) -> Option<LoopId> {
        let mut at = self.parent(id);
        while let Some(outer) = at.filter(|outer| !test(*outer)) {
            at = self.parent(outer);
        }
        at
    }
}

/// Corresponding loops of two nests.
pub(super) struct Pairs {
    to_second: HashMap<LoopId, LoopId>,
    to_first: HashMap<LoopId, LoopId>,
    pub first: ParentLoops,
    pub second: ParentLoops,
    /// Loops of the second nest that were elsewhere in the first one.
    pub moved: HashSet<LoopId>,
    /// The names of the loops in the second nest, by their number in the first one.
    names: HashMap<LoopId, String>,
    /// Constraints of the first and of the second nest.
    limits: (InnermostConstraints, InnermostConstraints),
}

impl Pairs {
    pub fn new(a: &Nest, b: &Nest) -> Self {
        let mut pairs = Pairs {
            to_second: HashMap::new(),
            to_first: HashMap::new(),
            first: ParentLoops::new(a),
            second: ParentLoops::new(b),
            moved: HashSet::new(),
            names: HashMap::new(),
            limits: (limits(a), limits(b)),
        };
        // Copies with the same name are paired in execution order.
        let mut by_name: HashMap<(&str, Axis), Vec<LoopId>> = HashMap::new();
        for id in preorder(b).into_iter().rev() {
            by_name.entry((&b.get(id).name, b.get(id).axis)).or_default().push(id);
        }
        for id in preorder(a) {
            let name = (a.get(id).name.as_str(), a.get(id).axis);
            if let Some(other) = by_name.get_mut(&name).and_then(Vec::pop) {
                pairs.join(id, other);
            }
        }
        pairs.pair_renamed(a, b);
        pairs.find_moved(b);
        pairs.names = pairs.to_second.iter().map(|(id, other)| (*id, b.get(*other).name.clone())).collect();
        pairs
    }

    pub fn of_first(&self, id: LoopId) -> Option<LoopId> {
        self.to_second.get(&id).copied()
    }

    pub fn of_second(&self, id: LoopId) -> Option<LoopId> {
        self.to_first.get(&id).copied()
    }

    fn join(&mut self, a: LoopId, b: LoopId) {
        self.to_second.insert(a, b);
        self.to_first.insert(b, a);
    }

    /// Pairs loops without a partner: first by range and place, then by a range that is unique among them.
    fn pair_renamed(&mut self, a: &Nest, b: &Nest) {
        type PairedParent = Option<Option<LoopId>>;
        let free = |pairs: &Pairs, place: &dyn Fn(LoopId) -> PairedParent| {
            let mut free: HashMap<(PairedParent, String), Vec<LoopId>> = HashMap::new();
            for id in preorder(b).into_iter().rev().filter(|id| pairs.of_second(*id).is_none()) {
                free.entry((place(id), range(b, id))).or_default().push(id);
            }
            free
        };
        let mut beside = free(self, &|id| Some(self.second.parent(id)));
        for id in preorder(a) {
            let outer = self.first.parent(id);
            let place = outer.and_then(|outer| self.of_first(outer));
            if self.of_first(id).is_some() || outer.is_some() && place.is_none() {
                continue;
            }
            if let Some(other) = beside.get_mut(&(Some(place), range(a, id))).and_then(Vec::pop) {
                self.join(id, other);
            }
        }
        let elsewhere = free(self, &|_| None);
        let mut gone: HashMap<String, Vec<LoopId>> = HashMap::new();
        for id in preorder(a).into_iter().filter(|id| self.of_first(*id).is_none()) {
            gone.entry(range(a, id)).or_default().push(id);
        }
        for (range, ids) in gone {
            if let ([id], Some([other])) = (ids.as_slice(), elsewhere.get(&(None, range)).map(Vec::as_slice))
            {
                self.join(*id, *other);
            }
        }
    }

    /// Finds moved loops. Only loops of both nests that have not moved themselves count as outer loops.
    fn find_moved(&mut self, b: &Nest) {
        for after in preorder(b) {
            let Some(before) = self.of_second(after) else { continue };
            let stays = |id: LoopId| !self.moved.contains(&id);
            let was = self.first.nearest(before, |id| self.of_first(id).is_some_and(stays));
            let is = self.second.nearest(after, |id| self.of_second(id).is_some() && stays(id));
            if was.and_then(|id| self.of_first(id)) != is {
                self.moved.insert(after);
            }
        }
    }

    /// Constraints of a loop of the first nest, with the names of the second one. So renaming a loop makes no
    /// difference.
    pub fn limit_of_first(&self, a: &Nest, id: LoopId) -> String {
        let name = |id: &LoopId| self.names.get(id).cloned().unwrap_or_else(|| a.get(*id).name.clone());
        limit(self.limits.0.get(&id), a, name)
    }

    /// The constraints of a loop of the second nest.
    pub fn limit_of_second(&self, b: &Nest, id: LoopId) -> String {
        limit(self.limits.1.get(&id), b, |id| b.get(*id).name.clone())
    }
}

/// Indices of the constraints by their innermost loop. Numbers grow from the outside inwards.
type InnermostConstraints = HashMap<LoopId, Vec<usize>>;

fn limits(nest: &Nest) -> InnermostConstraints {
    let mut limits = InnermostConstraints::new();
    for (at, constraint) in nest.constraints.iter().enumerate() {
        if let Some(innermost) = constraint.loops.iter().max() {
            limits.entry(*innermost).or_default().push(at);
        }
    }
    limits
}

fn limit(own: Option<&Vec<usize>>, nest: &Nest, name: impl Fn(&LoopId) -> String) -> String {
    let own = own.into_iter().flatten().filter_map(|at| nest.constraints.get(*at));
    let text = |constraint: &Constraint| {
        let names: Vec<String> = constraint.loops.iter().map(&name).collect();
        format!("{} < {}", names.join(" + "), constraint.bound)
    };
    own.map(text).collect::<Vec<_>>().join(" and ")
}

/// Range of a loop, in words.
fn range(nest: &Nest, id: LoopId) -> String {
    let this = nest.get(id);
    format!("{:?} {}", this.axis, sched_nest::show::range(&this.start, &this.stop, &this.step))
}

/// Loops from the outside inwards, in execution order. The checker makes `Nest::loops` in this order, but the
/// type does not guarantee it.
pub(super) fn preorder(nest: &Nest) -> Vec<LoopId> {
    let mut order = Vec::with_capacity(nest.loops.len());
    let mut stack: Vec<LoopId> = nest.roots.iter().rev().copied().collect();
    while let Some(id) = stack.pop() {
        order.push(id);
        stack.extend(nest.get(id).body.loops().into_iter().rev());
    }
    order
}
