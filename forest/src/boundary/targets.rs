//! Targets of the constructed rows: values that each node is to meet, and leaves to reach.

use super::domain::{Cut, Domain, has_bit, on_side};
use super::keys::{NAN_KEY, OrderKey};
use super::tested_features::{FeatureTest, Specials, TestedFeature};
use crate::forest::NodeRef;

/// An inner node with the position of its open targets.
pub(super) struct TargetNode {
    /// The index of its feature among the tested features.
    pub tested_feature: u32,
    /// Its test.
    pub test: FeatureTest,
    /// The child for values that pass the test.
    pub left: NodeRef,
    /// The child for values that fail it.
    pub right: NodeRef,
    /// Index of its first word in `Targets::open_values`.
    first: u32,
    /// Number of its words there.
    words: u32,
}

/// A tree with its open targets.
pub(super) struct Targets {
    /// The first node of walks.
    pub root: NodeRef,
    /// The inner nodes.
    pub nodes: Vec<TargetNode>,
    /// For each leaf, whether it is a target that no row has reached yet.
    leaves: Vec<bool>,
    /// Open targets of all nodes: a bit for each value that a node has yet to meet.
    open_values: Vec<u64>,
    /// Number of open targets in the subtree of each node.
    counts: Vec<u32>,
    /// Leaves that no row can reach.
    pub unreachable: Vec<u32>,
    /// Number of nodes that some row can reach.
    pub reachable_nodes: usize,
    /// Number of pairs of a node and a value that it can meet.
    pub values: u64,
}

/// Number of targets around a node's threshold.
pub(super) const THRESHOLD_VALUES: usize = 5;

/// The values around a threshold: the ends of both sides, and the threshold with its neighbours.
fn values_around(cut: Cut, threshold: OrderKey) -> [OrderKey; THRESHOLD_VALUES] {
    [cut.last_left, cut.last_left + 1, threshold - 1, threshold, threshold + 1]
}

impl TargetNode {
    /// The value that a bit of `open_values` stands for.
    fn key(&self, at: usize, feature: &TestedFeature, specials: &Specials) -> Option<OrderKey> {
        match self.test {
            FeatureTest::Listed(_) => feature.listed.get(at).copied(),
            FeatureTest::Ordered { cut, threshold } => match at {
                0..THRESHOLD_VALUES => Some(values_around(cut, threshold)[at]),
                _ => specials.keys.get(at - THRESHOLD_VALUES).copied(),
            },
        }
    }

    /// Whether an earlier bit stands for the same value, so that this bit is never set.
    fn is_repeated(&self, at: usize, key: OrderKey) -> bool {
        match self.test {
            FeatureTest::Listed(_) => false,
            FeatureTest::Ordered { cut, threshold } => {
                values_around(cut, threshold).iter().take(at).any(|other| *other == key)
            }
        }
    }

    /// The values of a domain that the node sends to the left, or to the right.
    pub fn side(&self, domain: &Domain, feature: &TestedFeature, left: bool) -> Domain {
        match (domain, &self.test) {
            (Domain::Ordered(ordered), FeatureTest::Ordered { cut, .. }) => {
                Domain::Ordered(ordered.on_side(*cut, left))
            }
            (Domain::Listed(bits), FeatureTest::Listed(side)) => {
                let sides = feature.goes_left.get(*side as usize).map_or(&[][..], |side| side);
                Domain::Listed(on_side(bits, sides, left))
            }
            // All nodes of a feature have the same kind of domain.
            _ => domain.clone(),
        }
    }
}

impl Targets {
    /// The targets of a tree whose nodes make these tests.
    pub fn new(
        tree: &crate::forest::Tree,
        tests: Vec<(u32, FeatureTest)>,
        tested_features: &[TestedFeature],
        specials: &Specials,
    ) -> Targets {
        let mut nodes = Vec::with_capacity(tests.len());
        let mut first = 0;
        for (inner, (feature, test)) in tree.inner.iter().zip(tests) {
            let count = match test {
                FeatureTest::Ordered { .. } => THRESHOLD_VALUES + specials.keys.len(),
                FeatureTest::Listed(_) => {
                    tested_features.get(feature as usize).map_or(0, |feature| feature.listed.len())
                }
            };
            let words = count.div_ceil(64) as u32;
            nodes.push(TargetNode {
                tested_feature: feature,
                test,
                left: inner.left,
                right: inner.right,
                first,
                words,
            });
            first += words;
        }
        let mut targets = Targets {
            root: tree.root,
            leaves: vec![false; tree.leaves.len()],
            open_values: vec![0; first as usize],
            counts: vec![0; nodes.len()],
            nodes,
            unreachable: Vec::new(),
            reachable_nodes: 0,
            values: 0,
        };
        targets.find_targets(tested_features, specials);
        targets
    }

    /// A tree without targets.
    pub fn none() -> Targets {
        Targets {
            root: NodeRef::Leaf(0),
            nodes: Vec::new(),
            leaves: Vec::new(),
            open_values: Vec::new(),
            counts: Vec::new(),
            unreachable: Vec::new(),
            reachable_nodes: 0,
            values: 0,
        }
    }

    /// Finds the values that can reach each node. Each path from the root narrows the domains of the features
    /// that it tests.
    fn find_targets(&mut self, tested_features: &[TestedFeature], specials: &Specials) {
        enum Do {
            Enter(NodeRef),
            Set(u32, Domain),
        }
        let mut domains: Vec<Option<Domain>> = vec![None; tested_features.len()];
        let mut todo = vec![Do::Enter(self.root)];
        while let Some(next) = todo.pop() {
            let index = match next {
                Do::Set(feature, domain) => {
                    domains[feature as usize] = Some(domain);
                    continue;
                }
                Do::Enter(NodeRef::Leaf(leaf)) => {
                    self.leaves[leaf as usize] = true;
                    continue;
                }
                Do::Enter(NodeRef::Inner(index)) => index as usize,
            };
            let node = &self.nodes[index];
            let number = node.tested_feature;
            let feature = &tested_features[number as usize];
            let domain = domains[number as usize].clone().unwrap_or_else(|| feature.all.clone());
            self.reachable_nodes += 1;
            let places = node.words as usize * 64;
            for at in 0..places {
                let is_in = |key: OrderKey| match &domain {
                    Domain::Ordered(ordered) => ordered.contains(key),
                    Domain::Listed(bits) => has_bit(bits, at),
                };
                if node.key(at, feature, specials).is_some_and(|key| is_in(key) && !node.is_repeated(at, key))
                {
                    self.open_values[node.first as usize + at / 64] |= 1 << (at % 64);
                    self.counts[index] += 1;
                }
            }
            self.values += u64::from(self.counts[index]);
            let sides = [(node.left, true), (node.right, false)]
                .map(|(child, left)| (child, node.side(&domain, feature, left)));
            todo.push(Do::Set(number, domain));
            for (child, side) in sides {
                if !side.is_empty() {
                    todo.push(Do::Enter(child));
                    todo.push(Do::Set(number, side));
                }
            }
        }
        let unreached = self.leaves.iter().zip(0..).filter(|(reached, _)| !**reached);
        self.unreachable = unreached.map(|(_, leaf)| leaf).collect();
        // Children come after their parents.
        for index in (0..self.nodes.len()).rev() {
            let below: u32 = [self.nodes[index].left, self.nodes[index].right]
                .map(|c| self.open_targets_below(c))
                .iter()
                .sum();
            self.counts[index] += below;
        }
    }

    /// Number of open targets in a subtree.
    pub fn open_targets_below(&self, node: NodeRef) -> u32 {
        match node {
            NodeRef::Inner(index) => self.counts[index as usize],
            NodeRef::Leaf(leaf) => self.leaves.get(leaf as usize).map_or(0, |is_open| u32::from(*is_open)),
        }
    }

    /// Number of leaves that some row can reach.
    pub fn reachable_leaves(&self) -> usize {
        self.leaves.len() - self.unreachable.len()
    }

    /// Number of leaves still to reach.
    pub fn num_open_leaves(&self) -> usize {
        self.leaves.iter().filter(|is_open| **is_open).count()
    }

    /// Number of pairs of a node and a value that it has yet to meet.
    pub fn num_open_values(&self) -> u64 {
        self.open_values.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn words(&self, node: &TargetNode) -> &[u64] {
        &self.open_values[node.first as usize..(node.first + node.words) as usize]
    }

    /// Chooses a value of a domain that is an open target of the node, if there is one.
    pub fn choose_target(
        &self,
        node: &TargetNode,
        domain: &Domain,
        feature: &TestedFeature,
        specials: &Specials,
    ) -> Option<ChosenValue> {
        let words = self.words(node);
        match domain {
            Domain::Listed(bits) => super::domain::first_of_both(words, bits).map(ChosenValue::Listed),
            Domain::Ordered(ordered) => {
                let mut rest = words.first().copied().unwrap_or(0);
                for (keys, places) in specials.groups {
                    if !ordered.parts.iter().any(|part| part.overlaps(keys)) {
                        rest &= !(places << THRESHOLD_VALUES);
                    }
                }
                while rest != 0 {
                    let at = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let key = node.key(at, feature, specials).filter(|key| ordered.contains(*key));
                    if let Some(key) = key {
                        return Some(ChosenValue::Key(key));
                    }
                }
                None
            }
        }
    }

    /// Closes the targets of a node that a value meets, and returns their number. The caller then lowers the
    /// counts of the nodes above.
    pub fn close_met_values(&mut self, index: usize, value: &RowValue) -> u32 {
        let node = &self.nodes[index];
        let first = node.first as usize;
        let met = match (&node.test, value.listed) {
            (FeatureTest::Listed(_), Some(at)) => {
                let word = &mut self.open_values[first + at / 64];
                let met = *word & (1 << (at % 64));
                *word &= !met;
                met
            }
            (FeatureTest::Listed(_), None) => 0,
            (FeatureTest::Ordered { cut, threshold }, _) => {
                let keys = values_around(*cut, *threshold);
                let mut here = value.special.map_or(0, |at| 1 << (at + THRESHOLD_VALUES));
                if value.key != NAN_KEY {
                    keys.iter()
                        .enumerate()
                        .filter(|(_, key)| **key == value.key)
                        .for_each(|(at, _)| here |= 1 << at);
                }
                let met = self.open_values[first] & here;
                self.open_values[first] &= !met;
                met
            }
        };
        met.count_ones()
    }

    /// Closes the target of a leaf that a row has reached. Returns 1 if the target was open, else 0.
    pub fn close_leaf(&mut self, leaf: u32) -> u32 {
        u32::from(std::mem::take(&mut self.leaves[leaf as usize]))
    }

    /// Subtracts closed targets from the count of a node's subtree.
    pub fn subtract_closed(&mut self, index: usize, count: u32) {
        self.counts[index] -= count;
    }
}

/// A chosen value.
#[derive(Clone, Copy)]
pub(super) enum ChosenValue {
    /// A value of a feature whose tests are all numeric.
    Key(OrderKey),
    /// A value of a feature with listed values, as an index into its list.
    Listed(usize),
}

/// The value of a feature in a row.
#[derive(Clone, Copy)]
pub(super) struct RowValue {
    /// The value.
    pub key: OrderKey,
    /// Its index among the listed values of the feature.
    pub listed: Option<usize>,
    /// Its index among the special values.
    pub special: Option<usize>,
}
