//! Digests of the properties of models and schedules on which speed depends.

use crate::model::Model;
use crate::schedule::{ScheduleSource, ScheduleValues};
use sched_forest::{Forest, NodeRef, Predicate, Tree, TreeTarget, fingerprint};
use sched_lang::CheckPurpose;
use sched_nest::show::show_nests;
use std::collections::BTreeMap;

/// The digest of the properties of a model on which its speed depends:
///
/// - the numbers of features, margins and trees, and the types of its numbers;
/// - the shape of each tree, the feature and kind of each test, and the margins that it adds to;
/// - the number of distinct thresholds of each feature, the sizes of its sets of categories, and linear
///   leaves;
/// - the expressions before and after the trees.
///
/// The values of thresholds and leaves, names, and other steps of the output are not part of it. A model that
/// was trained again usually has other trees, and therefore another digest.
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
    for column in forest.computed.columns.needed_for(&forest.computed.read_by_trees) {
        bytes.extend(format!("{:?}", forest.computed.columns.expr(column)).bytes());
    }
    for of in forest.output.expressions() {
        for column in of.columns.needed_for(&of.results) {
            bytes.extend(format!("{:?}", of.columns.expr(column)).bytes());
        }
    }
    fingerprint(&bytes)
}

/// Adds a tree to the bytes, and the thresholds of its nodes. Nodes are in the order of their numbers, so
/// that the numbers of children describe the shape.
fn add_tree(bytes: &mut Vec<u8>, tree: &Tree, thresholds: &mut BTreeMap<u32, Vec<u64>>) {
    let node = |node: NodeRef| match node {
        NodeRef::Inner(inner) => inner.wrapping_mul(2).wrapping_add(1),
        NodeRef::Leaf(_) => 0,
    };
    let target = match tree.target {
        TreeTarget::One(margin) => margin,
        TreeTarget::All => u32::MAX,
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

/// The digest of the nests of a schedule with a model, for calls of all sizes. `None` if the schedule has
/// errors. Equal nests have equal digests, however their text is written.
pub fn nest_digest(schedule: &str, model: &Model) -> Option<String> {
    let source =
        ScheduleSource { name: String::new(), text: schedule.to_string(), is_chosen: false, path: None };
    let checked = source.check_for(CheckPurpose::Compile, model, &ScheduleValues::default());
    let nests = if checked.has_errors() { None } else { checked.nests }?;
    Some(fingerprint(show_nests(&nests).as_bytes()))
}
