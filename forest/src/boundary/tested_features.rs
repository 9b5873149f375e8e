//! The tested features, and for each the values that its tests distinguish.

use super::domain::{Cut, Domain, ListSubset, Ordered};
use super::keys::{KeyRange, NAN_KEY, OrderKey, key, value};
use crate::category::{CategorySet, NEARLY_ZERO};
use crate::forest::{Comparison, Float, Forest, Inner, Predicate};
use crate::real::rounded;
use crate::walk::goes_left;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of categories of a feature that are all tried. Of more, only the smallest and the largest
/// of each class are tried. Categories in the same sets form a class.
const MOST_CATEGORIES: usize = 1024;
/// Maximum number of evaluations for a feature with listed values: listed values times distinct tests. Above
/// it, evenly spaced values are listed.
const MOST_EVALUATIONS: usize = 1 << 27;

/// A tested feature.
pub(super) struct TestedFeature {
    /// The feature.
    pub feature: u32,
    /// All values that the feature can have.
    pub all: Domain,
    /// Values that are nearly zero, if some test takes these for missing.
    pub zeros: Option<KeyRange>,
    /// The values to choose from, if some test is not numeric; otherwise empty.
    pub listed: Vec<OrderKey>,
    /// For each test, the listed values that go left.
    pub goes_left: Vec<ListSubset>,
    /// Whether the list omits values that tests distinguish, since there would be too many.
    pub is_thinned: bool,
}

/// A node's test.
pub(super) enum FeatureTest {
    /// A test of a feature whose tests are all numeric.
    Ordered {
        /// The position that separates values to the left from values to the right.
        cut: Cut,
        /// The threshold, rounded to the type of rows.
        threshold: OrderKey,
    },
    /// A test of a feature with listed values, by its index in [`TestedFeature::goes_left`].
    Listed(u32),
}

/// The properties of rows on which special values depend.
#[derive(Clone, Copy)]
pub(super) struct RowKind {
    /// The type of their values.
    pub float: Float,
    /// Whether no value may be infinite.
    pub finite: bool,
}

/// Special values, which are targets at every node.
pub(super) struct Specials {
    /// The values.
    pub keys: Vec<OrderKey>,
    /// Intervals around neighbouring special values, with the indices of the members as bits. They allow a
    /// fast rejection: an interval of keys that overlaps no group has no special value.
    pub groups: [(KeyRange, u64); 3],
}

impl Specials {
    /// The special values of rows of a kind.
    pub fn new(rows: RowKind) -> Specials {
        let (least_normal, most) = match rows.float {
            Float::F32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
            Float::F64 => (f64::MIN_POSITIVE, f64::MAX),
        };
        let below_normal = value(rows.float, key(rows.float, least_normal) - 1);
        let above_zero = value(rows.float, key(rows.float, NEARLY_ZERO) + 1);
        let sizes = [0.0, NEARLY_ZERO, above_zero, value(rows.float, 1), below_normal, most, f64::INFINITY];
        let both = sizes.into_iter().flat_map(|size| [size, -size]);
        let finite = both.filter(|x| x.is_finite() || !rows.finite);
        let keys: Vec<OrderKey> = finite.map(|x| key(rows.float, x)).chain([NAN_KEY]).collect();
        let largest = key(rows.float, above_zero);
        let infinity = key(rows.float, f64::INFINITY);
        let most = key(rows.float, most);
        let ranges = [
            KeyRange { first: -largest - 1, last: largest },
            KeyRange { first: most, last: infinity },
            KeyRange { first: -infinity - 1, last: -most - 1 },
        ];
        let bits = |range: &KeyRange| {
            let places = keys.iter().enumerate().filter(|(_, key)| range.contains(**key));
            places.map(|(at, _)| 1 << at).sum()
        };
        let groups = ranges.map(|range| (range, bits(&range)));
        Specials { keys, groups }
    }
}

/// The cut of a numeric test, found by evaluating the test, and its threshold in the type of rows. `None` if
/// the test is not numeric.
pub(super) fn cut(forest: &Forest, node: &Inner, rows: RowKind) -> Option<(Cut, OrderKey)> {
    let (threshold, zero_is_missing) = match node.predicate {
        Predicate::Numeric { threshold } => (threshold, false),
        Predicate::NumericNotZero { threshold } => (threshold, true),
        Predicate::Equal { .. } | Predicate::Member { .. } => return None,
    };
    let last_left = last_left(forest, threshold, forest.comparison, rows);
    let cut = Cut { last_left, missing_left: node.missing_left, zero_is_missing };
    Some((cut, key(rows.float, threshold)))
}

fn last_left(forest: &Forest, threshold: f64, comparison: Comparison, rows: RowKind) -> OrderKey {
    let all = KeyRange::all(rows.float, rows.finite);
    let passes = |key| {
        let x = rounded(value(rows.float, key), forest.types.input);
        match comparison {
            Comparison::Less => x < threshold,
            Comparison::LessOrEqual => x <= threshold,
        }
    };
    all.last_where(passes).unwrap_or(all.first - 1)
}

impl TestedFeature {
    /// Collects the values of a feature, and converts the tests of its nodes.
    pub fn new(
        forest: &Forest,
        feature: u32,
        nodes: &[&Inner],
        rows: RowKind,
    ) -> (TestedFeature, Vec<FeatureTest>) {
        let numeric = |node: &&Inner| {
            matches!(node.predicate, Predicate::Numeric { .. } | Predicate::NumericNotZero { .. })
        };
        if nodes.iter().all(numeric) {
            TestedFeature::ordered(forest, feature, nodes, rows)
        } else {
            TestedFeature::list(forest, feature, nodes, rows)
        }
    }

    fn ordered(
        forest: &Forest,
        feature: u32,
        nodes: &[&Inner],
        rows: RowKind,
    ) -> (TestedFeature, Vec<FeatureTest>) {
        let asks_zeros = nodes.iter().any(|node| matches!(node.predicate, Predicate::NumericNotZero { .. }));
        let zeros = asks_zeros.then(|| KeyRange::nearly_zero(rows.float, |x| rounded(x, forest.types.input)));
        let all = Domain::Ordered(Ordered::all(KeyRange::all(rows.float, rows.finite), zeros));
        let line = TestedFeature {
            feature,
            all,
            zeros,
            listed: Vec::new(),
            goes_left: Vec::new(),
            is_thinned: false,
        };
        let cuts = nodes.iter().filter_map(|node| cut(forest, node, rows));
        (line, cuts.map(|(cut, threshold)| FeatureTest::Ordered { cut, threshold }).collect())
    }

    fn list(
        forest: &Forest,
        feature: u32,
        nodes: &[&Inner],
        rows: RowKind,
    ) -> (TestedFeature, Vec<FeatureTest>) {
        let mut kinds: HashMap<(u8, u64, bool), u32> = HashMap::new();
        let mut different: Vec<&Inner> = Vec::new();
        let mut tests = Vec::with_capacity(nodes.len());
        for node in nodes {
            let (sort, what) = match node.predicate {
                Predicate::Numeric { threshold } => (0, threshold.to_bits()),
                Predicate::NumericNotZero { threshold } => (1, threshold.to_bits()),
                Predicate::Equal { value } => (2, value.to_bits()),
                Predicate::Member { set } => (3, set.into()),
            };
            let number = *kinds.entry((sort, what, node.missing_left)).or_insert_with(|| {
                different.push(node);
                different.len() as u32 - 1
            });
            tests.push(FeatureTest::Listed(number));
        }
        let mut listed = candidates(forest, &different, rows);
        let room = (MOST_EVALUATIONS / different.len().max(1)).max(64);
        let is_thinned = listed.len() > room;
        if is_thinned {
            let step = listed.len().div_ceil(room);
            listed = listed.into_iter().step_by(step).chain([NAN_KEY]).collect();
        }
        let words = listed.len().div_ceil(64);
        let sides_of = |node: &&Inner| {
            let mut bits = ListSubset::from_elem(0, words);
            for (at, key) in listed.iter().enumerate() {
                if goes_left(forest, node, rounded(value(rows.float, *key), forest.types.input)) {
                    bits[at / 64] |= 1 << (at % 64);
                }
            }
            bits
        };
        let sides: Vec<ListSubset> = different.iter().map(sides_of).collect();
        let mut all = ListSubset::from_elem(u64::MAX, words);
        if let (Some(last), rest @ 1..) = (all.last_mut(), listed.len() % 64) {
            *last = (1 << rest) - 1;
        }
        let all = Domain::Listed(all);
        (TestedFeature { feature, all, zeros: None, listed, goes_left: sides, is_thinned }, tests)
    }
}

/// Values to list for a feature: the special values, and values on and beside the threshold or the members of
/// each test. Ascending, NaN last.
fn candidates(forest: &Forest, tests: &[&Inner], rows: RowKind) -> Vec<OrderKey> {
    let mut keys: BTreeSet<OrderKey> = Specials::new(rows).keys.into_iter().collect();
    let all = KeyRange::all(rows.float, rows.finite);
    let mut sets = Vec::new();
    let around = |key: OrderKey| [key - 1, key, key + 1];
    for node in tests {
        match node.predicate {
            Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
                let last = last_left(forest, threshold, forest.comparison, rows);
                keys.extend(around(key(rows.float, threshold)).into_iter().chain([last, last + 1]));
                if matches!(node.predicate, Predicate::NumericNotZero { .. }) {
                    let zeros = KeyRange::nearly_zero(rows.float, |x| rounded(x, forest.types.input));
                    keys.extend([zeros.first - 1, zeros.first, zeros.last, zeros.last + 1]);
                }
            }
            Predicate::Equal { value } => {
                let less = last_left(forest, value, Comparison::Less, rows);
                let or_equal = last_left(forest, value, Comparison::LessOrEqual, rows);
                keys.extend(around(key(rows.float, value)));
                keys.extend([less, less + 1, or_equal, or_equal + 1]);
            }
            Predicate::Member { set } => sets.extend(forest.sets.get(set as usize)),
        }
    }
    if !sets.is_empty() {
        keys.extend(categories(&sets).into_iter().map(|x| key(rows.float, x)));
    }
    keys.retain(|key| *key == NAN_KEY || all.contains(*key));
    keys.into_iter().collect()
}

/// Members of the sets, values beside them, and values that some trainer does not accept as categories.
fn categories(sets: &[&CategorySet]) -> Vec<f64> {
    let mut known: BTreeSet<u32> = sets.iter().flat_map(|set| set.members().iter().copied()).collect();
    if known.len() > MOST_CATEGORIES {
        known = ends_of_classes(sets);
    }
    let (first, last) = (known.first().copied().unwrap_or(0), known.last().copied().unwrap_or(0));
    let unseen = (0..=last).find(|category| !known.contains(category));
    let beside = [first, last, last.saturating_add(1)].into_iter().chain(unseen).map(f64::from);
    let mut values: Vec<f64> = known.iter().map(|category| f64::from(*category)).collect();
    values.extend(beside.clone());
    values.extend(beside.flat_map(|x| [x + 0.5, x - 0.5, x + 63.0 / 64.0]));
    let limits = [16_777_216.0, 2_147_483_648.0, 4_294_967_296.0, 9.3e18];
    values.extend(limits.into_iter().flat_map(|limit: f64| [limit - 1.0, limit, limit + 1.0, -limit]));
    values.extend([-1.0, -0.999, 0.5]);
    values
}

/// The smallest and the largest category of each class. Categories in the same sets form a class.
fn ends_of_classes(sets: &[&CategorySet]) -> BTreeSet<u32> {
    let mut classes: HashMap<u32, usize> = HashMap::new();
    let mut count = 1;
    for set in sets {
        let mut split: HashMap<usize, usize> = HashMap::new();
        for category in set.members() {
            let class = classes.entry(*category).or_insert(0);
            *class = *split.entry(*class).or_insert_with(|| {
                count += 1;
                count
            });
        }
    }
    let mut ends: HashMap<usize, (u32, u32)> = HashMap::new();
    for (category, class) in classes {
        let (first, last) = ends.entry(class).or_insert((category, category));
        (*first, *last) = (category.min(*first), category.max(*last));
    }
    ends.into_values().flat_map(|(first, last)| [first, last]).collect()
}
