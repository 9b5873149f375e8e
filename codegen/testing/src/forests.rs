//! Random forests and rows: small, with ties, missing values, unequal depths and several margins.

use crate::schedules::Rng;
use sched_forest::{
    CategoryRule, ClassRule, Comparison, Float, Forest, ForestParts, Inner, Leaf, LinearLeaf, LinearMissing,
    NodeRef, Output, Predicate, Profile, Sigmoid, Softmax, Transform, Tree, TreeTarget, Types,
};
use sched_nest::ModelInfo;
use sched_pipeline::{PreparedForest, SetTests};

/// Thresholds and values of rows: only a few, so that values often equal thresholds. Both float types
/// represent them exactly.
const GRID: [f64; 9] = [-2.5, -1.0, -0.5, -0.0, 0.25, 0.5, 1.0, 1.5, 3.0];

/// A value of the grid. In double precision, often the next number above or below it, which single precision
/// rounds to the grid value.
pub(crate) fn grid_value(rng: &mut Rng, float: Float) -> f64 {
    let x = *rng.pick(&GRID).unwrap_or(&0.0);
    match (float, rng.below(6)) {
        (Float::F32, _) | (Float::F64, 0 | 1) => x,
        (Float::F64, 2) => x.next_up(),
        (Float::F64, 3) => x.next_down(),
        (Float::F64, 4) => x + 0.1,
        (Float::F64, _) => x - 0.1,
    }
}

/// Direction of missing values in a forest.
#[derive(Clone, Copy)]
enum MissingDirection {
    Left,
    Right,
    Mixed,
}

/// A random forest.
pub fn forest(rng: &mut Rng) -> Forest {
    let num_features = 1 + rng.below(6);
    let num_margins = if rng.one_in(3) { 2 + rng.below(3) } else { 1 };
    let types = types(rng);
    let float = types.accumulator;
    let vectors = rng.one_in(6);
    let missing = [MissingDirection::Left, MissingDirection::Right, MissingDirection::Mixed][rng.below(3)];
    let deepest = [0, 1, 2, 3, 4, 5, 6, 11][rng.below(8)];
    let count = 1 + rng.below(12);
    let trees = (0..count)
        .map(|source| {
            let target = if vectors && rng.one_in(2) {
                TreeTarget::All
            } else {
                TreeTarget::One(rng.below(num_margins) as u32)
            };
            let width = if target == TreeTarget::All { num_margins } else { 1 };
            let mut maker =
                TreeMaker { rng, missing, num_features, width, types, inner: Vec::new(), leaves: Vec::new() };
            let root = maker.node(deepest);
            let (inner, leaves) = (maker.inner, maker.leaves);
            Tree { root, inner, leaves, target, source: source as u32 }
        })
        .collect();
    let parts = ForestParts {
        trees,
        num_features,
        num_margins,
        base: (0..num_margins).map(|_| leaf_value(rng, float)).collect(),
        comparison: if rng.one_in(2) { Comparison::Less } else { Comparison::LessOrEqual },
        types,
        output: output(rng, num_margins),
        objective: "binary:logistic".to_string(),
        ..ForestParts::default()
    };
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// Upper bound of the categories in rows.
const MOST_CATEGORIES: usize = 40;

/// The forest, in some cases with tests that are not numeric.
pub fn with_other_tests(rng: &mut Rng, forest: Forest) -> Forest {
    if !rng.one_in(3) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let rules = [CategoryRule::Truncated, CategoryRule::Positive { below: 3.0 }, CategoryRule::Whole];
    parts.category_rule = rules[rng.below(3)];
    // With many sets, categories fall into many classes, so that a set takes several bytes.
    let many = rng.one_in(2);
    let (count, categories) = if many { (6 + rng.below(20), MOST_CATEGORIES) } else { (1 + rng.below(4), 5) };
    let mut set = || {
        let members = if many { rng.below(MOST_CATEGORIES) } else { rng.below(4) };
        (0..members).map(|_| rng.below(categories) as u32).collect()
    };
    parts.sets = (0..count).map(|_| set()).collect();
    let sets = parts.sets.len();
    let threshold = parts.types.threshold;
    let often = 1 + rng.below(3);
    for inner in parts.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
        let Predicate::Numeric { threshold: value } = inner.predicate else { continue };
        inner.predicate = match rng.below(3 * often) {
            _ if many && !rng.one_in(3) => Predicate::Member { set: rng.below(sets) as u32 },
            0 => Predicate::Member { set: rng.below(sets) as u32 },
            1 => Predicate::Equal { value: grid_value(rng, threshold) },
            2 => Predicate::NumericNotZero { threshold: value },
            _ => continue,
        };
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// The forest, in some cases with linear leaves in some trees without leaf vectors. The random choices depend
/// on `seed` alone, so that the other generators' cases stay unchanged.
pub fn with_linear_leaves(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0xd134_2543_de82_ef95));
    if !rng.one_in(if forest.has_leaf_vectors() { 2 } else { 5 }) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let (features, float) = (parts.num_features, parts.types.accumulator);
    let mut leaf = || LinearLeaf {
        constant: leaf_value(rng, float),
        terms: (0..[0, 1, 1, 2, 3, 7][rng.below(6)])
            .map(|_| (rng.below(features) as u32, leaf_value(rng, float)))
            .collect(),
    };
    let all = parts.trees.iter().map(|tree| match tree.target {
        TreeTarget::One(_) => tree.leaves.iter().map(|_| leaf()).collect(),
        TreeTarget::All => Vec::new(),
    });
    parts.linear = all.collect();
    if rng.one_in(3) {
        parts.linear_missing = LinearMissing::Nan;
    }
    let is_linear_model = parts.trees.iter().all(|tree| tree.inner.is_empty()) && rng.one_in(2);
    for leaves in &mut parts.linear {
        if !is_linear_model && rng.one_in(4) {
            leaves.clear();
        }
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// The forest, in some cases with margins whose sums are rounded to single precision. The random choices
/// depend on `seed` alone, so that the other generators' cases stay unchanged.
pub fn with_single_margins(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0xa076_1d64_78bd_642f));
    if forest.types.accumulator == Float::F32 || !rng.one_in(3) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let all = rng.one_in(3);
    let mut single: Vec<bool> = (0..parts.num_margins).map(|_| all || rng.one_in(2)).collect();
    for (_, tree) in parts.linear.iter().zip(&parts.trees).filter(|(leaves, _)| !leaves.is_empty()) {
        if let TreeTarget::One(margin) = tree.target {
            single[margin as usize] = false;
        }
    }
    for (base, _) in parts.base.iter_mut().zip(&single).filter(|(_, single)| **single) {
        *base = f64::from(*base as f32);
    }
    for tree in &mut parts.trees {
        for value in tree.leaves.iter_mut().flat_map(|leaf| leaf.values.iter_mut().enumerate()) {
            let margin = if let TreeTarget::One(margin) = tree.target { margin as usize } else { value.0 };
            if single[margin] {
                *value.1 = f64::from(*value.1 as f32);
            }
        }
    }
    parts.single_margins = single;
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// Levels of the deepest oblivious trees, which have more leaves than a byte can number.
const MOST_LEVELS: u32 = 9;

/// The forest, in some cases with each tree replaced by an oblivious one of similar depth, with tests and
/// leaves of the forest.
pub fn with_oblivious_trees(rng: &mut Rng, forest: Forest) -> Forest {
    if !rng.one_in(4) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let tests: Vec<Inner> = parts.trees.iter().flat_map(|tree| tree.inner.clone()).collect();
    for tree in &mut parts.trees {
        let levels = tree.depth().min(MOST_LEVELS);
        let tests: Vec<Inner> = (0..levels).filter_map(|_| rng.pick(&tests).cloned()).collect();
        let leaves = std::mem::take(&mut tree.leaves);
        tree.inner.clear();
        tree.root = oblivious_subtree(rng, &tests, &leaves, tree);
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// A complete subtree with one of `tests` for all nodes of a level, and leaves from `leaves`.
fn oblivious_subtree(rng: &mut Rng, tests: &[Inner], leaves: &[Leaf], tree: &mut Tree) -> NodeRef {
    let source = (tree.inner.len() + tree.leaves.len()) as u32;
    let Some((first, below)) = tests.split_first() else {
        tree.leaves.extend(rng.pick(leaves).map(|leaf| Leaf { source, ..leaf.clone() }));
        return NodeRef::Leaf(tree.leaves.len() as u32 - 1);
    };
    let at = tree.inner.len();
    tree.inner.push(first.clone());
    let left = oblivious_subtree(rng, below, leaves, tree);
    let right = oblivious_subtree(rng, below, leaves, tree);
    (tree.inner[at].left, tree.inner[at].right) = (left, right);
    NodeRef::Inner(at as u32)
}

/// The forest, in some cases with predictions that need logarithms: several expectiles, logarithms of one
/// plus an exponential, or probits.
pub fn with_logarithms(rng: &mut Rng, forest: Forest) -> Forest {
    if !rng.one_in(4) {
        return forest;
    }
    let mut parts = forest.into_parts();
    parts.output.value = match rng.below(3) {
        0 if parts.num_margins > 1 => vec![Transform::Ascending],
        1 => vec![Transform::Sigmoid(Sigmoid::Plain { slope: 0.7 }), Transform::Probit],
        _ => vec![Transform::LogOnePlusExp],
    };
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// The forest, in some cases with the power of 2 of isolation forests as the only step to predictions.
pub fn with_powers_of_two(seed: u64, mut forest: Forest) -> Forest {
    if seed % 9 == 4 && forest.output.value.iter().all(Transform::is_by_value) {
        forest.output.value = vec![Transform::PowerOfTwo { by: 2.5 }];
    }
    forest
}

/// Random types, independent of each other. Half of the forests use single precision everywhere, as XGBoost
/// does.
fn types(rng: &mut Rng) -> Types {
    if rng.one_in(2) {
        return Types::all(Float::F32);
    }
    let mut float = || if rng.one_in(2) { Float::F64 } else { Float::F32 };
    Types { input: float(), threshold: float(), accumulator: float(), output: float() }
}

/// A random output, often of one step, as most models have.
fn output(rng: &mut Rng, margins: usize) -> Output {
    let raw = match rng.below(8) {
        0 => vec![Transform::Scale { factor: 0.5, bias: (0..margins).map(|at| at as f64 / 4.0).collect() }],
        1 => vec![Transform::Divide { by: 3.0 }],
        _ => Vec::new(),
    };
    let mut value = Vec::new();
    if rng.one_in(4) {
        value.push(Transform::Divide { by: 3.0 });
    }
    let last = match (margins, rng.below(6)) {
        (_, 0) => None,
        (1, 1) => Some(Transform::Complement),
        (2.., 1) => Some(Transform::ArgMax),
        (2.., 2 | 3) => {
            let forms = [Softmax::Doubled, Softmax::Plain, Softmax::ZeroAside];
            Some(Transform::Softmax(forms[rng.below(3)]))
        }
        _ => Some(elementwise_transform(rng, margins)),
    };
    value.extend(last);
    let rule = match margins {
        1 => [ClassRule::ValueAbove(0.5), ClassRule::MarginAbove(0.0), ClassRule::LargestValue][rng.below(3)]
            .clone(),
        _ => [ClassRule::LargestMargin, ClassRule::LargestValue, ClassRule::ValueAbove(0.5)][rng.below(3)]
            .clone(),
    };
    Output { raw, value, classes: None }.with_classes(rule)
}

/// A random step to predictions that transforms each value by itself and is defined for every value.
fn elementwise_transform(rng: &mut Rng, margins: usize) -> Transform {
    let forms =
        [Sigmoid::Bounded, Sigmoid::Plain { slope: 1.0 }, Sigmoid::Plain { slope: 0.7 }, Sigmoid::Mirrored];
    match rng.below(8) {
        0 => Transform::Scale { factor: 0.5, bias: (0..margins).map(|at| at as f64 / 4.0).collect() },
        1 => Transform::Scale { factor: 1.0, bias: vec![-0.25; margins] },
        2 => Transform::Hinge,
        3 => Transform::Exp,
        4 => Transform::SignedSquare,
        _ => Transform::Sigmoid(forms[rng.below(4)]),
    }
}

/// A value that the float type represents exactly, chosen so that sums round.
pub(crate) fn leaf_value(rng: &mut Rng, float: Float) -> f64 {
    let x = (rng.below(2_000_001) as f64 - 1e6) / 3e5;
    match float {
        Float::F32 => f64::from(x as f32),
        Float::F64 => x,
    }
}

struct TreeMaker<'a> {
    rng: &'a mut Rng,
    missing: MissingDirection,
    num_features: usize,
    width: usize,
    types: Types,
    inner: Vec<Inner>,
    leaves: Vec<Leaf>,
}

impl TreeMaker<'_> {
    fn node(&mut self, levels: u32) -> NodeRef {
        if levels == 0 || self.rng.one_in(5) {
            let values = (0..self.width).map(|_| leaf_value(self.rng, self.types.accumulator)).collect();
            self.leaves.push(Leaf { source: (self.inner.len() + self.leaves.len()) as u32, values });
            return NodeRef::Leaf(self.leaves.len() as u32 - 1);
        }
        let at = self.inner.len();
        let missing_left = match self.missing {
            MissingDirection::Left => true,
            MissingDirection::Right => false,
            MissingDirection::Mixed => self.rng.one_in(2),
        };
        self.inner.push(Inner {
            feature: self.rng.below(self.num_features) as u32,
            predicate: Predicate::Numeric { threshold: grid_value(self.rng, self.types.threshold) },
            missing_left,
            left: NodeRef::Leaf(0),
            right: NodeRef::Leaf(0),
        });
        // In deep trees, right subtrees have at most two levels, which keeps the trees small.
        let twig = if levels > 6 { self.rng.below(3) as u32 } else { levels - 1 };
        let left = self.node(levels - 1);
        let right = self.node(twig);
        self.inner[at].left = left;
        self.inner[at].right = right;
        NodeRef::Inner(at as u32)
    }
}

/// Random rows for a forest: grid values, among them thresholds, missing values and infinities. If
/// `group_rows`, the number of rows that vectors of interleaved walks hold, is not 0, there are mostly fewer.
pub fn rows(rng: &mut Rng, forest: &Forest, group_rows: usize) -> Vec<f64> {
    let any = [0, 1, 2, 3, 7, 20, 33, 65, 100][rng.below(9)];
    let count = if group_rows > 0 && !rng.one_in(4) { 1 + rng.below(group_rows * 3 / 4) } else { any };
    rows_of(rng, forest, count)
}

/// `count` random rows.
pub fn rows_of(rng: &mut Rng, forest: &Forest, count: usize) -> Vec<f64> {
    (0..count * forest.num_features)
        .map(|_| match rng.below(12) {
            0 | 1 => f64::NAN,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => 0.0,
            5..8 if !forest.sets.is_empty() => rng.below(MOST_CATEGORIES + 1) as f64,
            // Calls may pass doubles to any model; a model with rows of floats rounds them.
            _ => grid_value(rng, Float::F64),
        })
        .collect()
}

/// A profile with random hits of leaves. In three of four trees, one leaf has nearly all hits.
pub fn profile(rng: &mut Rng, forest: &Forest) -> Profile {
    let mut profile = Profile { rows: 1000, ..Profile::default() };
    for tree in &forest.trees {
        let likely = (!rng.one_in(4)).then(|| rng.below(tree.leaves.len()));
        let each = tree.leaves.iter().enumerate().map(|(at, leaf)| {
            let hits = if likely == Some(at) { 1_000_000 } else { rng.below(100) as u64 };
            (leaf.source, hits)
        });
        profile.trees.insert(tree.source, each.collect());
    }
    profile
}

/// Number of columns that a forest's trees test; the number of features if they test no columns.
pub fn num_tested_columns(forest: &Forest) -> usize {
    let prepared = PreparedForest::of(forest, SetTests::OfColumns).ok().flatten();
    prepared.map_or(forest.num_features, |prepared| prepared.tested.len())
}

/// The forest, in two of three cases with trees that add to its margins in turn, if it has several margins
/// and no leaf vectors. The choice depends on the seed alone.
pub fn with_margins_in_turn(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0x9e6c_63d0_876a_9a7b);
    let rounds_some = forest.single_margins.iter().any(|single| *single);
    if forest.has_leaf_vectors() || (rounds_some && forest.has_linear_leaves()) || rng.one_in(3) {
        return forest;
    }
    let mut parts = forest.into_parts();
    for (number, tree) in (0_u32..).zip(&mut parts.trees) {
        tree.target = TreeTarget::One(number % parts.num_margins as u32);
        for value in tree.leaves.iter_mut().flat_map(|leaf| &mut leaf.values).filter(|_| rounds_some) {
            *value = f64::from(*value as f32);
        }
    }
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}

/// Model properties for the checker.
pub fn model_info(forest: &Forest) -> ModelInfo {
    ModelInfo {
        num_trees: forest.trees.len() as u32,
        num_features: num_tested_columns(forest) as u32,
        num_classes: forest.num_margins as u32,
        depths: forest.trees.iter().map(Tree::depth).collect(),
        oblivious: forest.trees.iter().map(Tree::is_oblivious).collect(),
        has_leaf_vectors: forest.has_leaf_vectors(),
        takes_margins_in_turn: forest.takes_margins_in_turn(),
        has_profile: true,
        ..ModelInfo::default()
    }
}

/// A forest of complete trees of one depth, with rows. Consecutive nodes test consecutive features and
/// thresholds, so that all occur. Rows have values at and between thresholds, and missing values.
pub fn complete_with_rows(features: u32, thresholds: u32, depth: u32) -> (Forest, Vec<f64>) {
    let nodes = (1u32 << depth) - 1;
    let count = (features * thresholds).div_ceil(nodes).max(2) + 1;
    let tree = |source: u32| {
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        let counted = (source * nodes, features, thresholds);
        let root = complete_subtree(depth, counted, &mut inner, &mut leaves);
        Tree { root, inner, leaves, target: TreeTarget::One(0), source }
    };
    let trees = (0..count).map(tree).collect();
    let num_features = features as usize;
    let parts = ForestParts { trees, num_features, base: vec![0.5], ..ForestParts::default() };
    let rows = (0..70 * features).map(|at| match at % 11 {
        3 => f64::NAN,
        7 => f64::INFINITY,
        _ => f64::from(at * 7 % (2 * thresholds + 5)) / 2.0 - 3.0,
    });
    (Forest::new(parts).expect("a valid forest"), rows.collect())
}

/// A forest like that of [`complete_with_rows`], with rows. Every other node tests whether the category of
/// the first feature is in one of fourteen sets, which distinguish all categories. Rows have random
/// categories.
pub fn categorical_with_rows(categories: u32, depth: u32) -> (Forest, Vec<f64>) {
    let (features, rows) = (3_u32, 70);
    let mut parts = complete_with_rows(features, 40, depth).0.into_parts();
    // Set `n` has the categories whose number has bit `n`; in the last three, some bits are swapped.
    let has = |set: u32, category: u32| match set {
        ..11 => category >> set & 1 == 1,
        _ => (category ^ category >> 1) >> (set - 11) & 1 == 1,
    };
    parts.sets =
        (0..14).map(|set| (0..categories).filter(|category| has(set, *category)).collect()).collect();
    for (at, inner) in parts.trees.iter_mut().flat_map(|tree| &mut tree.inner).enumerate() {
        if at % 2 == 0 {
            (inner.feature, inner.predicate) = (0, Predicate::Member { set: at as u32 / 2 % 14 });
        } else {
            inner.feature = 1 + inner.feature % (features - 1);
        }
    }
    let value = |at: u32| match (at % features, at % 19) {
        (_, 5) => f64::NAN,
        (0, 7) => -1.0,
        (0, _) => f64::from(at.wrapping_mul(2_654_435_761) % (categories + 3)) + f64::from(at % 2) / 2.0,
        _ => f64::from(at * 7 % 90) / 2.0 - 3.0,
    };
    (Forest::new(parts).expect("a valid forest"), (0..rows * features).map(value).collect())
}

/// A complete subtree. Its nodes make consecutive tests, from number `first` on.
fn complete_subtree(
    levels: u32,
    (first, features, thresholds): (u32, u32, u32),
    inner: &mut Vec<Inner>,
    leaves: &mut Vec<Leaf>,
) -> NodeRef {
    let number = (inner.len() + leaves.len()) as u32;
    if levels == 0 {
        leaves.push(Leaf { source: number, values: [f64::from(first + number) / 8.0].into() });
        return NodeRef::Leaf(leaves.len() as u32 - 1);
    }
    let at = inner.len();
    let test = first + at as u32;
    let threshold = f64::from(test / features % thresholds) - 2.0;
    let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(0));
    let predicate = Predicate::Numeric { threshold };
    inner.push(Inner {
        feature: test % features,
        predicate,
        missing_left: test.is_multiple_of(3),
        left,
        right,
    });
    let left = complete_subtree(levels - 1, (first, features, thresholds), inner, leaves);
    let right = complete_subtree(levels - 1, (first, features, thresholds), inner, leaves);
    (inner[at].left, inner[at].right) = (left, right);
    NodeRef::Inner(at as u32)
}
