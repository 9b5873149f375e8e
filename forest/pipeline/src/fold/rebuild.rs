//! Rebuilds trees with new tests.

use super::decide::{Sides, SingleTest, TestReplacement};
use sched_forest::grow::{Slot, TreeBuilder};
use sched_forest::{CategorySet, Inner, ModelError, NodeRef, Predicate, Tree};
use std::collections::HashMap;
use std::rc::Rc;

/// The new test of a node.
#[derive(Clone)]
pub(super) enum NewTest {
    /// The old test, of a feature with a new number.
    Same {
        /// The feature.
        feature: u32,
        /// The test, for the comparison `<=`.
        predicate: Predicate,
    },
    /// Tests of the feature from which the old test's column is computed: one, several, or none if all values
    /// go to the same side.
    Folded {
        /// The feature.
        feature: u32,
        /// The side of each of its values.
        sides: Rc<Sides>,
        /// The replacement on paths that do not limit the feature's values.
        replacement: Rc<TestReplacement>,
    },
}

/// The sets of the new forest, each stored once.
#[derive(Default)]
pub(super) struct SetList {
    pub all: Vec<CategorySet>,
    known: HashMap<CategorySet, u32>,
}

impl SetList {
    /// The index of a set, which is added if it is new.
    pub fn number(&mut self, set: &CategorySet) -> u32 {
        if let Some(number) = self.known.get(set) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(set.clone());
        self.known.insert(set.clone(), number);
        number
    }
}

/// The values of a feature that are possible on a path below a node with several tests. A linked list:
/// `before` is the range that an earlier test of the path left, of the same or another feature.
struct PathRange {
    before: Option<Rc<PathRange>>,
    feature: u32,
    /// The first and the last possible index. If the first is larger, no value is possible.
    range: (i64, i64),
    may_be_missing: bool,
}

/// Maximum number of runs of one node, since each run needs a test and a copy of a subtree.
pub(super) const MOST_TESTS: usize = 16;

/// An old node that is still to be added to the new tree.
struct PendingNode {
    slot: Slot,
    node: NodeRef,
    known: Option<Rc<PathRange>>,
    /// The sides for the node's further tests, if it has several and the first ones are added.
    rest: Option<Rc<Sides>>,
}

/// The reason why a tree cannot be rebuilt.
#[derive(Debug)]
pub(super) enum RebuildError {
    /// The new tree is not valid.
    Model(ModelError),
    /// Copies of subtrees make the tree too large.
    TooLarge,
}

impl From<ModelError> for RebuildError {
    fn from(error: ModelError) -> RebuildError {
        RebuildError::Model(error)
    }
}

/// The state while trees are rebuilt.
pub(super) struct TreeRebuilder<'a> {
    /// The sets of all trees.
    pub sets: &'a mut SetList,
    /// The number of inner nodes that may still be added.
    pub budget: usize,
}

impl TreeRebuilder<'_> {
    /// Rebuilds a tree. `test` gives the new test of each inner node.
    pub fn tree(&mut self, tree: &Tree, test: impl Fn(&Inner) -> NewTest) -> Result<Tree, RebuildError> {
        let mut out = TreeBuilder::new(tree.target, tree.source);
        let mut todo = vec![PendingNode { slot: Slot::ROOT, node: tree.root, known: None, rest: None }];
        while let Some(pending) = todo.pop() {
            let inner = match pending.node {
                NodeRef::Leaf(leaf) => {
                    out.leaf(pending.slot, tree.leaves[leaf as usize].clone());
                    continue;
                }
                NodeRef::Inner(index) => &tree.inner[index as usize],
            };
            match test(inner) {
                NewTest::Folded { feature, sides, replacement } => {
                    self.folded(&mut out, &mut todo, (pending, inner), (feature, sides, replacement))?;
                }
                NewTest::Same { feature, predicate } => {
                    self.count_node()?;
                    let (left, right) = out.inner(pending.slot, feature, predicate, inner.missing_left)?;
                    let known = pending.known;
                    todo.push(PendingNode {
                        slot: right,
                        node: inner.right,
                        known: known.clone(),
                        rest: None,
                    });
                    todo.push(PendingNode { slot: left, node: inner.left, known, rest: None });
                }
            }
        }
        Ok(out.done())
    }

    fn count_node(&mut self) -> Result<(), RebuildError> {
        self.budget = self.budget.checked_sub(1).ok_or(RebuildError::TooLarge)?;
        Ok(())
    }

    /// Adds the first test of a node to the new tree. If the path already decides the side, continues with
    /// the child instead.
    fn folded(
        &mut self,
        out: &mut TreeBuilder,
        todo: &mut Vec<PendingNode>,
        (pending, inner): (PendingNode, &Inner),
        (feature, sides, replacement): (u32, Rc<Sides>, Rc<TestReplacement>),
    ) -> Result<(), RebuildError> {
        let PendingNode { slot, node, known, rest } = pending;
        let child = |is_left: bool| if is_left { inner.left } else { inner.right };
        let here = known.as_ref().and_then(|known| known.of(feature));
        let (sides, replacement) = match (rest.or_else(|| here.map(|_| Rc::clone(&sides))), here) {
            (Some(sides), Some(here)) => {
                let sides = here.restricted(&sides);
                let replacement = sides.replacement();
                (Rc::new(sides), Rc::new(replacement))
            }
            _ => (sides, replacement),
        };
        let (test, passing) = match &*replacement {
            TestReplacement::Always(side) => {
                todo.push(PendingNode { slot, node: child(*side), known, rest: None });
                return Ok(());
            }
            TestReplacement::Test { test, passing } => (test.clone(), *passing),
            TestReplacement::Runs if sides.runs.len() > MOST_TESTS => return Err(RebuildError::TooLarge),
            TestReplacement::Runs => (SingleTest::UpTo(sides.domain.value(sides.runs[0].0)), sides.runs[0].1),
        };
        self.count_node()?;
        let predicate = match &test {
            SingleTest::UpTo(threshold) => Predicate::Numeric { threshold: *threshold },
            SingleTest::Equal(value) => Predicate::Equal { value: *value },
            SingleTest::Member(set) => Predicate::Member { set: self.sets.number(set) },
        };
        let missing_left = sides.missing == passing;
        let (left, right) = out.inner(slot, feature, predicate, missing_left)?;
        let is_in_runs = *replacement == TestReplacement::Runs;
        let tracks = is_in_runs || known.is_some();
        let known_on = |is_left: bool| match (&test, sides.runs.as_slice()) {
            (SingleTest::UpTo(_), [(last, _), _, ..]) if tracks => {
                PathRange::on_side(&known, feature, &sides, (*last, is_left), is_left == missing_left)
            }
            _ => known.clone(),
        };
        let (of_left, of_right) = (known_on(true), known_on(false));
        let on_right = match is_in_runs {
            true => PendingNode { slot: right, node, known: of_right, rest: Some(Rc::clone(&sides)) },
            false => PendingNode { slot: right, node: child(!passing), known: of_right, rest: None },
        };
        todo.push(on_right);
        todo.push(PendingNode { slot: left, node: child(passing), known: of_left, rest: None });
        Ok(())
    }
}

impl PathRange {
    /// The possible values on one side of a test whether an index is at most `last`.
    fn on_side(
        before: &Option<Rc<PathRange>>,
        feature: u32,
        sides: &Sides,
        (last, is_left): (i64, bool),
        may_be_missing: bool,
    ) -> Option<Rc<PathRange>> {
        let (mut range, mut may) = (sides.domain.bounds(), may_be_missing);
        if let Some(known) = before.as_ref().and_then(|before| before.of(feature)) {
            range = known.range;
            may &= known.may_be_missing;
        }
        match is_left {
            true => range.1 = range.1.min(last),
            false => range.0 = range.0.max(last + 1),
        }
        Some(Rc::new(PathRange { before: before.clone(), feature, range, may_be_missing: may }))
    }

    fn of(&self, feature: u32) -> Option<&PathRange> {
        let mut known = Some(self);
        while let Some(here) = known {
            if here.feature == feature {
                return Some(here);
            }
            known = here.before.as_deref();
        }
        None
    }

    /// The sides restricted to the possible values. Impossible values join the run of their neighbours.
    fn restricted(&self, sides: &Sides) -> Sides {
        let (low, high) = self.range;
        let mut first = sides.domain.bounds().0;
        let mut runs: Vec<(i64, bool)> = Vec::new();
        for &(last, side) in &sides.runs {
            if low.max(first) <= high.min(last) {
                match runs.last_mut() {
                    Some(before) if before.1 == side => before.0 = last,
                    _ => runs.push((last, side)),
                }
            }
            first = last + 1;
        }
        let missing = match runs.first() {
            Some((_, side)) if !self.may_be_missing => *side,
            _ => sides.missing,
        };
        match runs.last_mut() {
            Some((last, _)) => *last = sides.domain.bounds().1,
            None => runs.push((sides.domain.bounds().1, missing)),
        }
        Sides { runs, missing, domain: sides.domain }
    }
}
