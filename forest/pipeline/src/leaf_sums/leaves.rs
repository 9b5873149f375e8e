//! Leaf columns: columns with one value if a row ends in certain leaves of a tree, and another value if not.

use sched_columns::{
    Binary, ColumnId, ColumnTree, ColumnTrees, ColumnValue, Columns, Expr, Float, Ties, Unary,
};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A column that depends on the leaf of one tree.
#[derive(Clone)]
pub(super) struct LeafColumn {
    /// The column that holds the leaf index.
    pub tree: ColumnId,
    /// The leaves in which the column has the value `on`.
    pub leaves: Rc<[u32]>,
    pub on: ColumnValue,
    /// The value in all other leaves.
    pub off: ColumnValue,
}

/// A tree whose leaf value is a column: the only tree of an [`Expr::Trees`].
#[derive(Clone, Copy)]
pub(super) struct LeafTree<'a> {
    /// The operands that the tests of all trees name.
    pub of: &'a Arc<[ColumnId]>,
    pub trees: &'a ColumnTrees,
    pub tree: &'a ColumnTree,
    start: ColumnValue,
    result: usize,
}

/// The properties of a tree's tests that all trees of a sum share.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct TreeTests {
    /// The type of operands and thresholds.
    pub operand_type: Float,
    pub ties: Ties,
}

/// A column that holds the index of a leaf, perhaps in another type.
struct IndexColumn {
    tree: ColumnId,
    /// The value for each leaf.
    values: Vec<ColumnValue>,
    /// The leaves of each value.
    leaves: HashMap<ColumnValue, Rc<[u32]>>,
}

/// The columns that depend on the leaf of one tree.
#[derive(Default)]
pub(super) struct LeafColumns {
    indices: HashMap<ColumnId, IndexColumn>,
    columns: HashMap<ColumnId, LeafColumn>,
}

impl<'a> LeafTree<'a> {
    /// The tree of a column. `None` if the column is no sum of trees, or if several trees change the sum: a
    /// tree whose values are all -0 changes none.
    pub fn of(columns: &'a Columns, column: ColumnId) -> Option<LeafTree<'a>> {
        let Expr::Trees { of, start, trees, result } = columns.expr(column) else { return None };
        let (results, result) = (trees.shared_properties().results as usize, *result as usize);
        let changes_sums = |tree: &&ColumnTree| {
            let mut values = tree.values.iter().skip(result).step_by(results);
            values.any(|value| value.to_bits() != (-0.0_f64).to_bits())
        };
        let mut changing = trees.trees().iter().filter(changes_sums);
        let (tree, None) = (changing.next()?, changing.next()) else { return None };
        Some(LeafTree { of, trees, tree, start: *start, result })
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.tree.values.len() / self.trees.shared_properties().results as usize
    }

    pub fn tests(&self) -> TreeTests {
        let shared = self.trees.shared_properties();
        TreeTests { operand_type: shared.operand_type, ties: shared.ties }
    }

    /// The columns that the tests read, in the order of the tests.
    pub fn tested(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.tree.tests.iter().map(|test| self.of[test.operand as usize])
    }

    /// The column's value in each leaf.
    fn values(&self) -> impl Iterator<Item = ColumnValue> + '_ {
        let results = self.trees.shared_properties().results as usize;
        let value = |value: &f64| {
            Binary::Add.apply(self.start, ColumnValue::F64(*value).cast(self.start.column_type()))
        };
        self.tree.values.iter().skip(self.result).step_by(results).map(value)
    }
}

impl IndexColumn {
    fn new(tree: ColumnId, values: Vec<ColumnValue>) -> IndexColumn {
        let mut leaves: HashMap<ColumnValue, Vec<u32>> = HashMap::new();
        for (leaf, value) in (0..).zip(&values) {
            leaves.entry(key(*value)).or_default().push(leaf);
        }
        IndexColumn { tree, values, leaves: leaves.into_iter().map(|(key, all)| (key, all.into())).collect() }
    }

    /// The truth value of whether the index equals a number.
    fn equal_to(&self, number: ColumnValue) -> LeafColumn {
        // NaN equals nothing, and no leaf holds it.
        let leaves = self.leaves.get(&key(number)).map_or_else(|| Rc::from([]), Rc::clone);
        LeafColumn { tree: self.tree, leaves, on: ColumnValue::Bool(true), off: ColumnValue::Bool(false) }
    }
}

/// A number by which equal values have equal keys: -0 becomes 0.
fn key(value: ColumnValue) -> ColumnValue {
    match value {
        ColumnValue::F32(x) => ColumnValue::F32(x + 0.0),
        ColumnValue::F64(x) => ColumnValue::F64(x + 0.0),
        ColumnValue::I64(_) | ColumnValue::Bool(_) => value,
    }
}

impl LeafColumn {
    fn map(&self, op: impl Fn(ColumnValue) -> ColumnValue) -> LeafColumn {
        LeafColumn { on: op(self.on), off: op(self.off), ..self.clone() }
    }
}

impl LeafColumns {
    /// Finds the columns that depend on the leaf of one tree, among those that `wanted` columns depend on.
    pub fn of(columns: &Columns, wanted: &[ColumnId]) -> LeafColumns {
        let mut found = LeafColumns::default();
        if !columns.all().any(|column| matches!(columns.expr(column), Expr::Trees { .. })) {
            return found;
        }
        for column in columns.needed_for(wanted) {
            if let Some(indices) = found.indices_of(columns, column) {
                found.indices.insert(column, indices);
            } else if let Some(leaf) = found.leaf_column_of(columns, column) {
                found.columns.insert(column, leaf);
            }
        }
        found
    }

    /// The column, if it depends on the leaf of one tree.
    pub fn get(&self, column: ColumnId) -> Option<&LeafColumn> {
        self.columns.get(&column)
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    fn indices_of(&self, columns: &Columns, column: ColumnId) -> Option<IndexColumn> {
        match columns.expr(column) {
            Expr::Trees { .. } => {
                Some(IndexColumn::new(column, LeafTree::of(columns, column)?.values().collect()))
            }
            Expr::Unary(op @ Unary::Cast(_), x) => {
                let indices = self.indices.get(x)?;
                let values = indices.values.iter().map(|value| op.apply(*value));
                Some(IndexColumn::new(indices.tree, values.collect()))
            }
            _ => None,
        }
    }

    /// The column as a leaf column: an index compared with a constant, or an operation on such a comparison
    /// whose other operands are constants.
    fn leaf_column_of(&self, columns: &Columns, column: ColumnId) -> Option<LeafColumn> {
        match columns.expr(column) {
            Expr::Unary(op, x) => Some(self.get(*x)?.map(|value| op.apply(value))),
            Expr::Binary(op, x, y) => {
                if let Some(value) = self.constant(columns, *y) {
                    return match self.indices.get(x) {
                        Some(indices) => (*op == Binary::Equal).then(|| indices.equal_to(value)),
                        None => Some(self.get(*x)?.map(|leaf| op.apply(leaf, value))),
                    };
                }
                let value = self.constant(columns, *x)?;
                match self.indices.get(y) {
                    Some(indices) => (*op == Binary::Equal).then(|| indices.equal_to(value)),
                    None => Some(self.get(*y)?.map(|leaf| op.apply(value, leaf))),
                }
            }
            Expr::Select { condition, then, otherwise } => {
                let [then, otherwise] = [then, otherwise].map(|of| self.constant(columns, *of));
                let (then, otherwise) = (then?, otherwise?);
                let choice = |condition| if condition == ColumnValue::Bool(true) { then } else { otherwise };
                Some(self.get(*condition)?.map(choice))
            }
            _ => None,
        }
    }

    /// The value of a column that is the same in every row. A comparison with a number that no leaf holds is
    /// such a column.
    fn constant(&self, columns: &Columns, column: ColumnId) -> Option<ColumnValue> {
        let without_leaves = || self.get(column).filter(|leaf| leaf.leaves.is_empty()).map(|leaf| leaf.off);
        columns.constant_value(column).or_else(without_leaves)
    }
}
