//! Locates the origin of a difference: row, tree, node, feature and value.

use crate::calls::Difference;
use sched_forest::{Comparison, Float, Forest, Leaf, NodeRef, Predicate, Tree, TreeTarget};
use sched_llvm::runtime::OutputKind;
use serde_json::{Value, json};

/// Most sums that are tried to find the leaf that explains a wrong margin.
const MOST_TRIES: usize = 1 << 26;

/// A difference, and its origin.
pub struct ExplainedDifference {
    /// The difference.
    pub difference: Difference,
    /// Whether a call with only this row differs, too.
    pub differs_alone: bool,
    /// The row, in double precision.
    pub row: Vec<f64>,
    /// The node at which the code's walk leaves the right path, if it can be located.
    pub divergence: Option<Divergence>,
}

/// The point at which the code's walk diverges from the walker's.
pub struct Divergence {
    /// The tree's number in the model's file.
    pub tree: u32,
    /// The leaf that the walker reaches.
    pub expected: u32,
    /// The leaf that the code reaches.
    pub found: u32,
    /// Whether the code's leaf was inferred from a margin, so that it may be another leaf with the same
    /// value.
    pub from_margin: bool,
    /// First node at which the paths to both leaves differ; `None` if the tree has no leaf `expected` or no
    /// leaf `found`.
    pub node: Option<DivergingTest>,
}

/// A node and its test of the row.
pub struct DivergingTest {
    /// The node's depth.
    pub depth: usize,
    /// The feature.
    pub feature: u32,
    /// The feature's name, if it has one.
    pub name: Option<String>,
    /// The row's value.
    pub value: f64,
    /// The test in words.
    pub test: String,
    /// Whether the value goes left.
    pub goes_left: bool,
}

impl ExplainedDifference {
    /// Explains a difference of a row.
    pub fn new(
        forest: &Forest,
        difference: Difference,
        row: Vec<f64>,
        differs_alone: bool,
        exact: bool,
    ) -> ExplainedDifference {
        let divergence = match difference.kind {
            OutputKind::Leaf => forest.trees.get(difference.column).map(|tree| {
                let expected = forest.leaf(tree, &forest.row_values(&row)).source;
                // Leaf numbers fit into 32 bits.
                divergence(forest, tree, &row, expected, difference.found as u32)
            }),
            OutputKind::Raw if exact => wrong_leaf(forest, &difference, &row),
            _ => None,
        };
        ExplainedDifference { difference, differs_alone, row, divergence }
    }

    /// The origin of the difference as JSON.
    pub fn to_json(&self) -> Value {
        let Difference { kind, row, column, found, expected, shape } = self.difference;
        let number = |x: f64| json!({ "value": format!("{x:?}"), "bits": bits_text(x) });
        let divergence = self.divergence.as_ref().map(|divergence| {
            let node = divergence.node.as_ref().map(|test| {
                json!({
                    "depth": test.depth,
                    "feature": test.feature,
                    "name": test.name,
                    "value": number(test.value),
                    "test": test.test,
                    "goes": if test.goes_left { "left" } else { "right" },
                })
            });
            json!({
                "tree": divergence.tree,
                "expected_leaf": divergence.expected,
                "found_leaf": divergence.found,
                "from_margin": divergence.from_margin,
                "node": node,
            })
        });
        json!({
            "output": kind.word(),
            "row": row,
            "column": column,
            "found": number(found),
            "expected": number(expected),
            "call": {
                "rows": shape.rows,
                "type": if shape.doubles { "f64" } else { "f32" },
                "gap": shape.gap,
                "threads": shape.threads,
            },
            "alone": self.differs_alone,
            "walk": divergence,
            "values": self.row.iter().map(|x| number(*x)).collect::<Vec<_>>(),
        })
    }
}

/// The bits of a number as hexadecimal text: of a single if it represents the number, else of a double.
pub fn bits_text(x: f64) -> String {
    let narrow = x as f32;
    if x.is_nan() || f64::from(narrow) == x {
        format!("{:#010x}", narrow.to_bits())
    } else {
        format!("{:#018x}", x.to_bits())
    }
}

/// The divergence of the paths to two leaves.
pub fn divergence(forest: &Forest, tree: &Tree, row: &[f64], expected: u32, found: u32) -> Divergence {
    let paths = [expected, found].map(|source| path_to_leaf(tree, source));
    let node = match paths {
        [Some(one), Some(other)] => {
            let together = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
            one.get(together).map(|(index, left)| {
                let inner = &tree.inner[*index as usize];
                DivergingTest {
                    depth: together,
                    feature: inner.feature,
                    name: forest.value_name(inner.feature),
                    value: forest.row_values(row).of(inner.feature),
                    test: words(forest, &inner.predicate, inner.missing_left),
                    goes_left: *left,
                }
            })
        }
        _ => None,
    };
    Divergence { tree: tree.source, expected, found, from_margin: false, node }
}

/// The path from the root to the leaf with the trainer's number `source`: each inner node, and whether the
/// path goes left there. `None` if no leaf has this number.
fn path_to_leaf(tree: &Tree, source: u32) -> Option<Vec<(u32, bool)>> {
    let leaf = tree.leaves.iter().position(|leaf| leaf.source == source)?;
    let mut above: Vec<Option<(u32, bool)>> = vec![None; tree.inner.len()];
    let mut end = None;
    for (index, inner) in (0..).zip(&tree.inner) {
        for (child, left) in [(inner.left, true), (inner.right, false)] {
            match child {
                NodeRef::Inner(child) => above[child as usize] = Some((index, left)),
                NodeRef::Leaf(found) if found as usize == leaf => end = Some((index, left)),
                NodeRef::Leaf(_) => {}
            }
        }
    }
    let mut path: Vec<(u32, bool)> =
        std::iter::successors(end, |(index, _)| above[*index as usize]).collect();
    path.reverse();
    Some(path)
}

fn words(forest: &Forest, predicate: &Predicate, missing_left: bool) -> String {
    let sign = match forest.comparison {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
    };
    let side = if missing_left { "left" } else { "right" };
    match predicate {
        Predicate::Numeric { threshold } => {
            format!("x {sign} {threshold:?} ({}), missing {side}", bits_text(*threshold))
        }
        Predicate::NumericNotZero { threshold } => {
            format!("x {sign} {threshold:?} ({}), missing and zero {side}", bits_text(*threshold))
        }
        Predicate::Equal { value } => format!("x == {value:?} ({}), missing {side}", bits_text(*value)),
        Predicate::Member { set } => format!("x is in set {set}, missing {side}"),
    }
}

/// The leaf that, put in place of the right one, explains the margin; of several, the one whose path diverges
/// deepest.
fn wrong_leaf(forest: &Forest, difference: &Difference, row: &[f64]) -> Option<Divergence> {
    let is_plain = forest.linear.is_empty() && forest.output.raw.is_empty();
    let leaves: usize = forest.trees.iter().map(|tree| tree.leaves.len()).sum();
    if !is_plain || leaves.saturating_mul(forest.trees.len()) > MOST_TRIES {
        return None;
    }
    let margin = difference.column;
    let result = |x: f64| match forest.types.output {
        Float::F32 => f64::from(x as f32),
        Float::F64 => x,
    };
    let value = |tree: &Tree, leaf: &Leaf| match tree.target {
        TreeTarget::One(target) => (target as usize == margin).then(|| leaf.values[0]),
        TreeTarget::All => leaf.values.get(margin).copied(),
    };
    let values = forest.row_values(row);
    let reached: Vec<Option<f64>> =
        forest.trees.iter().map(|tree| value(tree, forest.leaf(tree, &values))).collect();
    let add =
        |sum: f64, value: &Option<f64>| value.map_or(sum, |value| forest.rounded_sum(margin, sum, value));
    let mut before = forest.base[margin];
    let mut best: Option<Divergence> = None;
    for (number, tree) in forest.trees.iter().enumerate() {
        let right = forest.leaf(tree, &values);
        for leaf in tree.leaves.iter().filter(|leaf| leaf.source != right.source) {
            let Some(own) = value(tree, leaf) else { break };
            let sum = reached[number + 1..].iter().fold(forest.rounded_sum(margin, before, own), add);
            if result(sum).to_bits() == difference.found.to_bits() {
                let found = Divergence {
                    from_margin: true,
                    ..divergence(forest, tree, row, right.source, leaf.source)
                };
                let depth = |divergence: &Divergence| divergence.node.as_ref().map(|test| test.depth);
                if best.as_ref().is_none_or(|best| depth(&found) > depth(best)) {
                    best = Some(found);
                }
            }
        }
        before = add(before, &reached[number]);
    }
    best
}
