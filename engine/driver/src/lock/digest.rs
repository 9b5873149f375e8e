//! Digests: what an entry is about, without what its speed does not depend on.

use crate::model::Model;
use crate::schedule::{ScheduleValues, Source};
use sched_forest::{Forest, NodeRef, Predicate, Target, Tree, fingerprint};
use sched_lang::Supported;
use sched_nest::show::show_nests;
use std::collections::BTreeMap;

/// The digest of what the speed of a model depends on: its numbers of features and margins and the types that it computes in;
/// of each tree the shape, which feature each node tests and in which way, and which margins it adds to; how many different
/// thresholds each feature is compared with; the sizes of its sets of categories; and whether leaves are linear.
///
/// The values of thresholds and leaves, names, and what follows the sums are not part of it. A model that was trained again
/// has other trees as a rule, and so another digest.
pub fn structure_digest(forest: &Forest) -> String {
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u64).to_le_bytes());
    bytes.extend(format!("{:?} {:?} {:?}", forest.types, forest.comparison, forest.category_rule).bytes());
    for n in [forest.num_features, forest.num_margins, forest.trees.len(), forest.sets.len()] {
        number(&mut bytes, n);
    }
    let mut thresholds: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for tree in &forest.trees {
        add_tree(&mut bytes, tree, &mut thresholds);
    }
    for (feature, mut values) in thresholds {
        values.sort_unstable();
        values.dedup();
        number(&mut bytes, feature as usize);
        number(&mut bytes, values.len());
    }
    for set in &forest.sets {
        number(&mut bytes, set.members().len());
    }
    for leaves in &forest.linear {
        number(&mut bytes, leaves.iter().map(|leaf| leaf.terms.len()).sum());
    }
    fingerprint(&bytes)
}

/// Adds a tree, and the thresholds that its nodes compare with. Nodes are in the order of their numbers, so that children
/// tell the shape.
fn add_tree(bytes: &mut Vec<u8>, tree: &Tree, thresholds: &mut BTreeMap<u32, Vec<u64>>) {
    let node = |node: NodeRef| match node {
        NodeRef::Inner(inner) => inner.wrapping_mul(2).wrapping_add(1),
        NodeRef::Leaf(_) => 0,
    };
    let target = match tree.target {
        Target::One(margin) => margin,
        Target::All => u32::MAX,
    };
    let counts = [tree.inner.len() as u32, tree.leaves.len() as u32, target, node(tree.root)];
    bytes.extend(counts.into_iter().flat_map(u32::to_le_bytes));
    for inner in &tree.inner {
        let kind = match inner.predicate {
            Predicate::Numeric { threshold } => {
                thresholds.entry(inner.feature).or_default().push(threshold.to_bits());
                0u8
            }
            Predicate::NumericNotZero { threshold } => {
                thresholds.entry(inner.feature).or_default().push(threshold.to_bits());
                1
            }
            Predicate::Equal { .. } => 2,
            Predicate::Member { .. } => 3,
        };
        bytes.push(kind);
        bytes.extend(
            [inner.feature, node(inner.left), node(inner.right)].into_iter().flat_map(u32::to_le_bytes),
        );
    }
}

/// The digest of the nests that a schedule means with a model, for calls of each number of rows. None if it has errors. What
/// the text looks like does not matter.
pub fn nest_digest(schedule: &str, model: &Model) -> Option<String> {
    let source = Source { name: String::new(), text: schedule.to_string(), is_chosen: false, path: None };
    let checked = source.check_for(Supported::Compilable, model, &ScheduleValues::default());
    let nests = if checked.has_errors() { None } else { checked.nests }?;
    Some(fingerprint(show_nests(&nests).as_bytes()))
}
