//! Categories that an estimator encodes before its trees see them, as scikit-learn's histogram gradient
//! boosting does.
//!
//! Its trees test codes: the positions of categories in a list. A value that is not in the list counts as
//! missing. Such a forest is rewritten to test the values themselves.

use crate::category::CategorySet;
use crate::error::ModelError;
use crate::forest::{Forest, NodeRef, Predicate, Tree};
use crate::grow::{Slot, TreeBuilder};
use sched_categories::{Label, Names};
use sched_columns::CategoryRule;
use std::collections::HashMap;

/// If all categories are whole numbers below this bound, each gets its own number as its name, so that the
/// look-up of dictionaries finds it.
const MOST_NAMED: u32 = 4096;

/// A feature whose values are encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedFeature {
    /// The feature.
    pub feature: u32,
    /// Its categories, in the order of the codes that trees test.
    pub categories: EncodedCategories,
}

/// The categories of a feature, in the form in which rows hold them.
#[derive(Clone, Debug, PartialEq)]
pub enum EncodedCategories {
    /// Whole numbers: rows hold these.
    Numbers(Vec<u32>),
    /// Names: arrays hold the positions of names in this list, and tables hold the names.
    Names(Vec<String>),
}

impl EncodedCategories {
    /// The number that rows hold for a code; `None` if the code stands for no category.
    fn value(&self, code: u32) -> Option<u32> {
        match self {
            EncodedCategories::Numbers(numbers) => numbers.get(code as usize).copied(),
            EncodedCategories::Names(names) => ((code as usize) < names.len()).then_some(code),
        }
    }

    /// The numbers of all categories.
    fn values(&self) -> impl Iterator<Item = u32> {
        let count = match self {
            EncodedCategories::Numbers(numbers) => numbers.len(),
            EncodedCategories::Names(names) => names.len(),
        };
        (0..count as u32).filter_map(|code| self.value(code))
    }

    /// Names in the order of the numbers that rows hold.
    fn names(&self) -> Names {
        Names::listed(match self {
            EncodedCategories::Names(names) => names.iter().cloned().map(Label::Text).collect(),
            EncodedCategories::Numbers(numbers) => match numbers.iter().max() {
                Some(&last) if last < MOST_NAMED => (0..=last).map(|it| Label::Integer(it.into())).collect(),
                _ => Vec::new(),
            },
        })
    }
}

/// The sets of the rewritten forest, each once.
#[derive(Default)]
struct RewrittenSets {
    all: Vec<CategorySet>,
    known: HashMap<CategorySet, u32>,
}

impl RewrittenSets {
    fn number(&mut self, set: CategorySet) -> u32 {
        let next = self.all.len() as u32;
        *self.known.entry(set).or_insert_with_key(|set| {
            self.all.push(set.clone());
            next
        })
    }
}

impl Forest {
    /// Rewrites a forest that tests codes to one that tests the values of rows, for the features in
    /// `features`. A value that is no category, such as a number with a fraction, goes where a missing value
    /// goes.
    ///
    /// # Errors
    /// The errors of [`Forest::new`].
    pub fn decode_categories(self, features: &[EncodedFeature]) -> Result<Forest, ModelError> {
        let mut parts = self.into_parts();
        let by_feature: HashMap<u32, &EncodedCategories> =
            features.iter().map(|it| (it.feature, &it.categories)).collect();
        let mut sets = RewrittenSets::default();
        let trees = std::mem::take(&mut parts.trees);
        let rewritten = trees.into_iter().map(|tree| decode_sets(tree, &parts.sets, &by_feature, &mut sets));
        parts.trees = rewritten.collect::<Result<_, _>>()?;
        parts.sets = sets.all;
        parts.category_rule = CategoryRule::Whole;
        parts.categories = (0..parts.num_features as u32)
            .map(|feature| by_feature.get(&feature).map(|known| known.names()).unwrap_or_default())
            .collect();
        Forest::new(parts)
    }
}

/// Rewrites the sets of a tree from codes to values. If missing values go left, the new set has the known
/// values that go right, and the children are exchanged. Unknown values, which are in no set, then go to the
/// child for missing values, too.
fn decode_sets(
    tree: Tree,
    old: &[CategorySet],
    features: &HashMap<u32, &EncodedCategories>,
    sets: &mut RewrittenSets,
) -> Result<Tree, ModelError> {
    let mut out = TreeBuilder::new(tree.target, tree.source);
    let mut todo = vec![(Slot::ROOT, tree.root)];
    while let Some((slot, node)) = todo.pop() {
        let inner = match node {
            NodeRef::Leaf(leaf) => {
                out.leaf(slot, tree.leaves[leaf as usize].clone());
                continue;
            }
            NodeRef::Inner(index) => &tree.inner[index as usize],
        };
        let (mut predicate, mut missing_left) = (inner.predicate.clone(), inner.missing_left);
        let (mut left, mut right) = (inner.left, inner.right);
        if let Predicate::Member { set } = inner.predicate {
            let codes = &old[set as usize];
            let known = features.get(&inner.feature);
            let set = match known {
                None => codes.clone(),
                Some(known) => {
                    let is_left: CategorySet =
                        codes.members().iter().filter_map(|code| known.value(*code)).collect();
                    match missing_left {
                        false => is_left,
                        true => known.values().filter(|value| !is_left.contains(*value)).collect(),
                    }
                }
            };
            if known.is_some() && missing_left {
                missing_left = false;
                std::mem::swap(&mut left, &mut right);
            }
            predicate = Predicate::Member { set: sets.number(set) };
        }
        let (slot_left, slot_right) = out.inner(slot, inner.feature, predicate, missing_left)?;
        todo.push((slot_right, right));
        todo.push((slot_left, left));
    }
    Ok(out.done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForestParts;
    use crate::forest::{Inner, Leaf, TreeTarget};
    use crate::walk::predict_leaves;

    /// A node whose codes 0 and 2 go left, and missing values to a side.
    fn stump(missing_left: bool) -> Forest {
        let leaf = |source| Leaf { source, values: [f64::from(source)].into_iter().collect() };
        let tree = Tree {
            root: NodeRef::Inner(0),
            inner: vec![Inner {
                feature: 0,
                predicate: Predicate::Member { set: 0 },
                missing_left,
                left: NodeRef::Leaf(0),
                right: NodeRef::Leaf(1),
            }],
            leaves: vec![leaf(1), leaf(2)],
            target: TreeTarget::One(0),
            source: 0,
        };
        let sets = vec![[0, 2].into_iter().collect()];
        let parts = ForestParts { trees: vec![tree], sets, ..ForestParts::default() };
        Forest::new(parts).expect("the parts are right")
    }

    fn leaves(forest: &Forest, rows: &[f32]) -> Vec<u32> {
        let mut leaves = vec![0; rows.len()];
        predict_leaves(forest, rows, &mut leaves).expect("there is a leaf for each row");
        leaves
    }

    #[test]
    fn unknown_values_go_where_missing_ones_go() {
        let rows = [10.0, 20.0, 300.0, 20.5, -1.0, 0.0, f32::NAN, 1e30];
        for (missing_left, side) in [(true, 1), (false, 2)] {
            let categories = EncodedCategories::Numbers(vec![10, 20, 300]);
            let forest = stump(missing_left).decode_categories(&[EncodedFeature { feature: 0, categories }]);
            let forest = forest.expect("the forest is right");
            assert_eq!(leaves(&forest, &rows), [1, 2, 1, side, side, side, side, side]);
            assert_eq!(forest.categories[0].labels.len(), 301);
        }
    }

    #[test]
    fn names_are_found_by_their_places() {
        let names = ["red", "green", "blue"].map(String::from).to_vec();
        let categories = EncodedCategories::Names(names);
        let forest = stump(true).decode_categories(&[EncodedFeature { feature: 0, categories }]);
        let forest = forest.expect("the forest is right");
        assert_eq!(leaves(&forest, &[0.0, 1.0, 2.0, 3.0]), [1, 2, 1, 1]);
        assert_eq!(forest.categories[0].labels[1], Label::Text("green".into()));
    }

    #[test]
    fn large_numbers_have_no_names() {
        let categories = EncodedCategories::Numbers(vec![7, 1_000_000]);
        let forest = stump(false).decode_categories(&[EncodedFeature { feature: 0, categories }]);
        let forest = forest.expect("the forest is right");
        assert!(forest.categories[0].are_codes());
        assert_eq!(leaves(&forest, &[7.0, 1e6]), [1, 2]);
    }
}
