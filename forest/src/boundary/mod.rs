//! Constructs rows with which every reachable node meets every boundary value.
//!
//! The path to a node is a conjunction of conditions on single features. So the values that reach a node are
//! known exactly for each feature: intervals, with or without NaN, or members of a list for tests that are
//! not numeric. [`Boundary`] computes them, proves which leaves no row can reach, and makes rows until these
//! conditions hold:
//!
//! - Each node has met the last value that goes left, the first that goes right, its threshold and the
//!   neighbours in the rows' type, both zeros, values around 1e-35, denormals, the largest values, infinities
//!   and NaN, as far as they can reach the node.
//! - Each set of categories has met each of its categories and values that are no category.
//! - Some row has reached each reachable leaf.
//!
//! One row serves many trees. In each tree, its path goes towards an open target, as far as the values allow
//! that the paths in earlier trees have not excluded.
//!
//! This module repeats no arithmetic: the reference walker determines the cut of each test.

mod domain;
mod edges;
mod keys;
mod targets;
mod tested_features;

use crate::forest::{Float, Forest, Inner, NodeRef};
use domain::{Domain, has_bit};
use edges::edges;
use keys::{KeyRange, NAN_KEY, OrderKey, key, value};
use targets::{ChosenValue, RowValue, Targets};
use tested_features::{FeatureTest, RowKind, Specials, TestedFeature};

/// Number of values at nodes above which a row gives up after [`MOST_TREES_WITHOUT_TARGET`] trees. Without
/// this limit, a row would meet more targets but take longer to make.
const LARGE_FOREST_VALUES: u64 = 1 << 17;
/// Maximum number of consecutive trees in which a row of a large forest may miss all targets.
const MOST_TREES_WITHOUT_TARGET: u32 = 8;

/// Number of rows of random values for forests that test computed columns, or that only add linear terms: no
/// rows are solved for these. Rows with values on the edges of computed columns come first.
const RANDOM_ROWS: u32 = 512;

/// The kind of rows to make.
#[derive(Clone, Copy, Debug)]
pub struct BoundaryOptions {
    /// The type of their values.
    pub rows: Float,
    /// Whether no value is infinite, for trainers that refuse such rows.
    pub finite: bool,
}

/// Targets that rows have met so far, and all targets that they can meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Inner nodes of all trees.
    pub nodes: usize,
    /// Inner nodes that some row can reach.
    pub reachable_nodes: usize,
    /// Number of pairs of a reachable node and a value that rows should bring to it, such as its threshold.
    pub values: u64,
    /// Number of these pairs that the rows so far have brought to their nodes.
    pub met_values: u64,
    /// Inner nodes of trees that test computed columns, for which no rows are solved. The other numbers leave
    /// out these trees.
    pub unsolved_nodes: usize,
    /// Leaves of trees that test computed columns.
    pub unsolved_leaves: usize,
    /// Leaves of all trees.
    pub leaves: usize,
    /// Leaves that some row can reach.
    pub reachable_leaves: usize,
    /// Leaves that some row has reached.
    pub reached_leaves: usize,
    /// Features with too many values and tests to try all values. Leaves below these tests may wrongly count
    /// as unreachable.
    pub thinned_features: usize,
}

/// The state of the construction of rows.
pub struct Boundary {
    float: Float,
    finite: bool,
    tested_features: Vec<TestedFeature>,
    specials: Specials,
    trees: Vec<Targets>,
    /// For each feature, whether some node tests it.
    is_tested: Vec<bool>,
    /// For each feature, whether linear leaves use it.
    is_added: Vec<bool>,
    /// The tree with which the next row begins.
    next: usize,
    /// The remaining domain of each tested feature, while a row is under construction.
    domains: Vec<Domain>,
    touched: Vec<u32>,
    row: Vec<RowValue>,
    random: RandomKeys,
    /// Whether there are more than [`LARGE_FOREST_VALUES`] targets.
    is_large: bool,
    /// Inner nodes and leaves of trees that test computed columns.
    unsolved: (usize, usize),
    /// For each feature, the keys of its values on edges of computed columns and of trees that test these.
    edges: Vec<Vec<OrderKey>>,
    /// Number of rows with values on edges made so far.
    edge_rows: usize,
    /// Number of rows of random values still to make.
    random_rows: u32,
}

impl Boundary {
    /// Finds the targets that rows can meet in a forest.
    pub fn new(forest: &Forest, options: BoundaryOptions) -> Boundary {
        let rows = RowKind { float: options.rows, finite: options.finite };
        let mut by_feature: Vec<Vec<(usize, usize)>> = vec![Vec::new(); forest.num_features];
        for (number, tree) in forest.trees.iter().enumerate() {
            for (index, node) in tree.inner.iter().enumerate() {
                if let Some(places) = by_feature.get_mut(node.feature as usize) {
                    places.push((number, index));
                }
            }
        }
        let mut tests: Vec<Vec<Option<(u32, FeatureTest)>>> =
            forest.trees.iter().map(|tree| tree.inner.iter().map(|_| None).collect()).collect();
        let (mut tested_features, specials) = (Vec::new(), Specials::new(rows));
        for (feature, places) in (0..).zip(&by_feature).filter(|(_, places)| !places.is_empty()) {
            let nodes: Vec<&Inner> =
                places.iter().map(|(tree, node)| &forest.trees[*tree].inner[*node]).collect();
            let (line, made) = TestedFeature::new(forest, feature, &nodes, rows);
            for ((tree, node), test) in places.iter().zip(made) {
                tests[*tree][*node] = Some((tested_features.len() as u32, test));
            }
            tested_features.push(line);
        }
        let trees = forest.trees.iter().zip(tests);
        let mut unsolved = (0, 0);
        let trees = trees.map(|(tree, tests)| match tests.into_iter().collect::<Option<Vec<_>>>() {
            Some(tests) => Targets::new(tree, tests, &tested_features, &specials),
            None => {
                unsolved = (unsolved.0 + tree.inner.len(), unsolved.1 + tree.leaves.len());
                Targets::none()
            }
        });
        let trees: Vec<Targets> = trees.collect();
        let is_large = trees.iter().map(|tree| tree.values).sum::<u64>() > LARGE_FOREST_VALUES;
        let mut is_added = vec![false; forest.num_features];
        for (feature, _) in forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms) {
            if let Some(is_added) = is_added.get_mut(*feature as usize) {
                *is_added = true;
            }
        }
        let tests_nothing = forest.trees.iter().all(|tree| tree.inner.is_empty());
        let is_random = unsolved.0 > 0 || (tests_nothing && forest.has_linear_leaves());
        Boundary {
            float: options.rows,
            finite: options.finite,
            trees,
            is_tested: by_feature.iter().map(|places| !places.is_empty()).collect(),
            is_added,
            next: 0,
            domains: tested_features.iter().map(|line| line.all.clone()).collect(),
            touched: Vec::new(),
            row: vec![RowValue { key: NAN_KEY, listed: None, special: None }; tested_features.len()],
            random: RandomKeys(0x5eed),
            is_large,
            unsolved,
            edges: edges(forest, rows),
            edge_rows: 0,
            random_rows: if is_random { RANDOM_ROWS } else { 0 },
            specials,
            tested_features,
        }
    }

    /// Makes the next row of `num_features` values; returns false if no target is open, and random rows have
    /// been made if the forest needs them.
    pub fn next_row(&mut self, row: &mut [f64]) -> bool {
        let count = self.trees.len();
        let Some(first) = (0..count)
            .map(|step| (self.next + step) % count)
            .find(|tree| self.trees[*tree].open_targets_below(self.trees[*tree].root) > 0)
        else {
            return self.edge_row(row) || self.random_row(row);
        };
        self.next = first + 1;
        let is_open =
            |this: &Boundary, tree: usize| this.trees[tree].open_targets_below(this.trees[tree].root) > 0;
        let (mut served, mut in_vain) = (Vec::with_capacity(count), 0);
        for tree in (0..count).map(|step| (first + step) % count) {
            if is_open(self, tree) {
                in_vain = if self.descend(tree) { 0 } else { in_vain + 1 };
                served.push(tree);
            }
            if self.is_large && in_vain > MOST_TREES_WITHOUT_TARGET {
                break;
            }
        }
        self.choose_values();
        let met: u32 = served.into_iter().map(|tree| self.close_targets(tree)).sum();
        debug_assert!(met > 0, "a row brings something that is wanted");
        let numbers = self.tested_features.iter().zip(&self.row);
        for (place, feature) in row.iter_mut().zip(0..) {
            if !self.is_tested[feature] {
                *place = self.random.noise(self.float, self.finite || self.is_added[feature]);
            }
        }
        for (line, chosen) in numbers {
            if let Some(place) = row.get_mut(line.feature as usize) {
                *place = value(self.float, chosen.key);
            }
        }
        met > 0
    }

    /// Makes a row of values on edges of computed columns, if some feature has further edges. A feature
    /// without edges gets a random number, never NaN, so that no sum is NaN.
    fn edge_row(&mut self, row: &mut [f64]) -> bool {
        let number = self.edge_rows;
        if self.edges.iter().all(|keys| keys.len() <= number) {
            return false;
        }
        self.edge_rows += 1;
        for (place, keys) in row.iter_mut().zip(&self.edges) {
            let random = || key(self.float, self.random.number());
            let key = keys.get(number % keys.len().max(1)).copied().unwrap_or_else(random);
            *place = value(self.float, key);
        }
        true
    }

    /// Makes a row of random values, about half of them on edges, if some rows are still to make.
    fn random_row(&mut self, row: &mut [f64]) -> bool {
        let Some(left) = self.random_rows.checked_sub(1) else { return false };
        self.random_rows = left;
        for ((place, is_added), edges) in row.iter_mut().zip(&self.is_added).zip(&self.edges) {
            let at = self.random.next() as usize;
            *place = match edges.get(at % (2 * edges.len()).max(1)) {
                Some(edge) => value(self.float, *edge),
                None => self.random.noise(self.float, self.finite || *is_added),
            };
        }
        true
    }

    /// Descends in a tree towards an open target, and narrows the row's domains to that path. Returns whether
    /// the path meets an open target.
    fn descend(&mut self, number: usize) -> bool {
        let tree = &self.trees[number];
        let mut at = tree.root;
        let mut gets_there = false;
        while let NodeRef::Inner(index) = at {
            let node = &tree.nodes[index as usize];
            let line = &self.tested_features[node.tested_feature as usize];
            let domain = &mut self.domains[node.tested_feature as usize];
            if self.touched.last() != Some(&node.tested_feature) {
                self.touched.push(node.tested_feature);
            }
            let choice = tree.choose_target(node, domain, line, &self.specials);
            gets_there |= choice.is_some();
            let (below_left, below_right) =
                (tree.open_targets_below(node.left), tree.open_targets_below(node.right));
            let random = &mut self.random;
            let mut side = |left_is_empty: bool, right_is_empty: bool| match (left_is_empty, right_is_empty) {
                (false, true) => true,
                (true, _) => false,
                _ if below_left == below_right => random.next().is_multiple_of(2),
                _ => below_left > below_right,
            };
            let goes_left = match (&mut *domain, &node.test) {
                (Domain::Ordered(ordered), FeatureTest::Ordered { cut, .. }) => {
                    if let Some(ChosenValue::Key(key)) = choice {
                        *ordered = ordered.only(key);
                    }
                    let (left, right) = (ordered.on_side(*cut, true), ordered.on_side(*cut, false));
                    let goes_left = side(left.is_empty(), right.is_empty());
                    *ordered = if goes_left { left } else { right };
                    goes_left
                }
                (domain, _) => {
                    if let (Some(ChosenValue::Listed(at)), Domain::Listed(bits)) = (choice, &mut *domain) {
                        bits.iter_mut().enumerate().for_each(|(word, bits)| {
                            *bits &= if word == at / 64 { 1 << (at % 64) } else { 0 };
                        });
                    }
                    let (left, right) = (node.side(domain, line, true), node.side(domain, line, false));
                    let goes_left = side(left.is_empty(), right.is_empty());
                    *domain = if goes_left { left } else { right };
                    goes_left
                }
            };
            at = if goes_left { node.left } else { node.right };
        }
        gets_there || tree.open_targets_below(at) > 0
    }

    /// Chooses the row's values from the remaining domains, and resets the domains for the next row.
    fn choose_values(&mut self) {
        for (number, line) in self.tested_features.iter().enumerate() {
            let random = &mut self.random;
            let chosen = match &self.domains[number] {
                Domain::Ordered(ordered) => {
                    let parts: Vec<KeyRange> =
                        ordered.parts.into_iter().filter(|part| !part.is_empty()).collect();
                    let key = match parts.as_slice() {
                        [] => NAN_KEY,
                        _ if ordered.nan && random.next().is_multiple_of(8) => NAN_KEY,
                        parts => {
                            let at = random.next() as usize % parts.len();
                            random.key(parts[at])
                        }
                    };
                    let special = self.specials.keys.iter().position(|special| *special == key);
                    RowValue { key, listed: None, special }
                }
                Domain::Listed(bits) => {
                    let members: Vec<usize> =
                        (0..line.listed.len()).filter(|at| has_bit(bits, *at)).collect();
                    let at = members.get(random.next() as usize % members.len().max(1)).copied();
                    let key = at.and_then(|at| line.listed.get(at)).copied().unwrap_or(NAN_KEY);
                    RowValue { key, listed: at, special: None }
                }
            };
            self.row[number] = chosen;
        }
        for number in self.touched.drain(..) {
            self.domains[number as usize].clone_from(&self.tested_features[number as usize].all);
        }
    }

    /// Walks a tree with the finished row, and closes the targets on its path. Returns their number.
    fn close_targets(&mut self, tree_index: usize) -> u32 {
        let tree = &mut self.trees[tree_index];
        let mut at = tree.root;
        let mut way: Vec<(usize, u32)> = Vec::with_capacity(32);
        while let NodeRef::Inner(index) = at {
            let index = index as usize;
            let node = &tree.nodes[index];
            let line = &self.tested_features[node.tested_feature as usize];
            let value = &self.row[node.tested_feature as usize];
            let goes_left = match &node.test {
                FeatureTest::Listed(side) => {
                    let side = line.goes_left.get(*side as usize);
                    value.listed.zip(side).is_some_and(|(at, side)| has_bit(side, at))
                }
                FeatureTest::Ordered { cut, .. } => {
                    let is_zero = || line.zeros.is_some_and(|zeros| zeros.contains(value.key));
                    match value.key == NAN_KEY || (cut.zero_is_missing && is_zero()) {
                        true => cut.missing_left,
                        false => value.key <= cut.last_left,
                    }
                }
            };
            at = if goes_left { node.left } else { node.right };
            let met = tree.close_met_values(index, value);
            way.push((index, met));
        }
        let mut met = match at {
            NodeRef::Leaf(leaf) => tree.close_leaf(leaf),
            NodeRef::Inner(_) => 0,
        };
        for (index, here) in way.into_iter().rev() {
            met += here;
            tree.subtract_closed(index, met);
        }
        met
    }

    /// The coverage of the rows so far.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage {
            thinned_features: self.tested_features.iter().filter(|line| line.is_thinned).count(),
            unsolved_nodes: self.unsolved.0,
            unsolved_leaves: self.unsolved.1,
            ..Coverage::default()
        };
        for tree in &self.trees {
            coverage.nodes += tree.nodes.len();
            coverage.reachable_nodes += tree.reachable_nodes;
            coverage.values += tree.values;
            coverage.met_values += tree.values - tree.num_open_values();
            coverage.leaves += tree.reachable_leaves() + tree.unreachable.len();
            coverage.reachable_leaves += tree.reachable_leaves();
            coverage.reached_leaves += tree.reachable_leaves() - tree.num_open_leaves();
        }
        coverage
    }

    /// The leaves that no row can reach, as the index of the tree and of the leaf in it.
    pub fn unreachable_leaves(&self) -> impl Iterator<Item = (usize, u32)> {
        let trees = self.trees.iter().enumerate();
        trees.flat_map(|(number, tree)| tree.unreachable.iter().map(move |leaf| (number, *leaf)))
    }
}

/// A generator of pseudo-random numbers, the same in each run.
struct RandomKeys(u64);

impl RandomKeys {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// One end of an interval, or a random key in it.
    fn key(&mut self, keys: KeyRange) -> OrderKey {
        match self.next() % 4 {
            0 => keys.first,
            1 => keys.last,
            _ => {
                // There are fewer than 2^64 keys, so the count does not overflow.
                let count = keys.last.wrapping_sub(keys.first) as u64 + 1;
                keys.first.wrapping_add((self.next() % count) as i64)
            }
        }
    }

    /// A number of ordinary size.
    fn number(&mut self) -> f64 {
        (self.next() % 20_001) as f64 / 64.0 - 150.0
    }

    /// A random value for a feature that no test uses.
    fn noise(&mut self, float: Float, finite: bool) -> f64 {
        let number = self.number();
        match self.next() % 16 {
            0..4 => f64::NAN,
            4 if !finite => f64::INFINITY,
            5 if !finite => f64::NEG_INFINITY,
            6 if !finite => value(float, self.key(KeyRange::all(float, true))),
            7 => 0.0,
            _ => value(float, key(float, number)),
        }
    }
}
