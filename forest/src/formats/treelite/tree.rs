//! Converts Treelite's arrays of nodes to a [`Tree`].

use std::collections::HashMap;

use super::bytes::{Bytes, ElementArray, Floats};
use super::header::CheckpointHeader;
use crate::category::CategorySet;
use crate::codes;
use crate::compare::NumericTest;
use crate::error::ModelError;
use crate::forest::{Comparison, Leaf, LeafValues, Predicate, Tree, TreeTarget};
use crate::grow::{Slot, TreeBuilder};
use sched_diagnostics::Code;

/// The arrays of a tree that predictions use.
pub(super) struct Arrays<'a> {
    kind: ElementArray<'a, 1>,
    left: ElementArray<'a, 4>,
    right: ElementArray<'a, 4>,
    feature: ElementArray<'a, 4>,
    default_left: ElementArray<'a, 1>,
    value: Floats<'a>,
    threshold: Floats<'a>,
    operator: ElementArray<'a, 1>,
    set_is_right: ElementArray<'a, 1>,
    vectors: Floats<'a>,
    vector_begin: ElementArray<'a, 8>,
    vector_end: ElementArray<'a, 8>,
    sets: ElementArray<'a, 4>,
    set_begin: ElementArray<'a, 8>,
    set_end: ElementArray<'a, 8>,
}

/// State that all trees share: the tests of nodes, which all get the same comparison at the end, and sets of
/// categories.
#[derive(Default)]
pub(super) struct SharedTests {
    /// The tests of numeric nodes, tree after tree in the order of inner nodes.
    pub tests: Vec<NumericTest>,
    pub sets: Vec<CategorySet>,
    known: HashMap<CategorySet, u32>,
}

/// The test of a node of the file.
struct FileTest {
    predicate: Predicate,
    /// Whether the children are exchanged: the file's child for true becomes the right one.
    is_swapped: bool,
}

impl<'a> Arrays<'a> {
    /// Reads the arrays of a tree, and skips statistics of the training such as gains.
    pub fn read(bytes: &mut Bytes<'a>, header: &CheckpointHeader) -> Result<Arrays<'a>, ModelError> {
        bytes.i32()?;
        bytes.u8()?;
        let arrays = Arrays {
            kind: bytes.array()?,
            left: bytes.array()?,
            right: bytes.array()?,
            feature: bytes.array()?,
            default_left: bytes.array()?,
            value: bytes.floats(header.float)?,
            threshold: bytes.floats(header.float)?,
            operator: bytes.array()?,
            set_is_right: bytes.array()?,
            vectors: bytes.floats(header.float)?,
            vector_begin: bytes.array()?,
            vector_end: bytes.array()?,
            sets: bytes.array()?,
            set_begin: bytes.array()?,
            set_end: bytes.array()?,
        };
        bytes.array::<8>()?;
        bytes.array::<1>()?;
        bytes.array::<8>()?;
        bytes.array::<1>()?;
        bytes.array::<8>()?;
        bytes.array::<1>()?;
        bytes.skip_fields()?;
        bytes.skip_fields()?;
        arrays.check_lengths()?;
        Ok(arrays)
    }

    fn check_lengths(&self) -> Result<(), ModelError> {
        let count = self.left.len();
        if count == 0 || u32::try_from(count).is_err() {
            let message = format!("the tree has {count} nodes");
            return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at("cleft"));
        }
        for (name, length) in [
            ("node_type", self.kind.len()),
            ("cright", self.right.len()),
            ("split_index", self.feature.len()),
            ("default_left", self.default_left.len()),
            ("leaf_value", self.value.len()),
            ("threshold", self.threshold.len()),
            ("cmp", self.operator.len()),
            ("category_list_right_child", self.set_is_right.len()),
        ] {
            if length != count {
                let message = format!("`{name}` has {length} entries and `cleft` has {count}");
                return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(name));
            }
        }
        Ok(())
    }

    /// Converts the nodes that the root reaches.
    pub fn convert(
        &self,
        header: &CheckpointHeader,
        index: usize,
        shared: &mut SharedTests,
    ) -> Result<Tree, ModelError> {
        let target = target(header, index)?;
        let mut seen = vec![false; self.left.len()];
        let mut out = TreeBuilder::new(target, index as u32);
        let mut todo = vec![(Slot::ROOT, 0usize)];
        while let Some((slot, node)) = todo.pop() {
            if std::mem::replace(&mut seen[node], true) {
                let message = format!("node {node} is reached twice, so the nodes do not form a tree");
                return Err(fault(codes::NOT_A_TREE, message, "cleft", node));
            }
            let (left, right) = (self.left.i32(node), self.right.i32(node));
            if left == Some(-1) {
                let values = self.leaf(header, target, node)?;
                out.leaf(slot, Leaf { source: node as u32, values });
                continue;
            }
            let feature = self.feature.i32(node).and_then(|it| u32::try_from(it).ok());
            let Some(feature) = feature.filter(|&it| (it as usize) < header.num_feature) else {
                let message = format!("node {node} tests a feature that the model does not have");
                return Err(fault(codes::FEATURE_OUT_OF_RANGE, message, "split_index", node));
            };
            let FileTest { predicate, is_swapped } = self.test(node, shared)?;
            let missing_left = (self.default_left.u8(node) != Some(0)) != is_swapped;
            let (slot_left, slot_right) = out.inner(slot, feature, predicate, missing_left)?;
            let (mut left, mut right) =
                (self.child(left, "cleft", node)?, self.child(right, "cright", node)?);
            if is_swapped {
                std::mem::swap(&mut left, &mut right);
            }
            todo.push((slot_right, right));
            todo.push((slot_left, left));
        }
        Ok(out.done())
    }

    fn child(&self, child: Option<i32>, place: &str, node: usize) -> Result<usize, ModelError> {
        let found =
            child.and_then(|child| usize::try_from(child).ok()).filter(|&child| child < self.left.len());
        found.ok_or_else(|| {
            let message = format!(
                "child {} of node {node} does not exist: the tree has {} nodes",
                child.unwrap_or(-1),
                self.left.len()
            );
            fault(codes::CHILD_OUT_OF_RANGE, message, place, node)
        })
    }

    fn test(&self, node: usize, shared: &mut SharedTests) -> Result<FileTest, ModelError> {
        match self.kind.u8(node) {
            Some(2) => {
                let set = self.set(node)?;
                let next = shared.sets.len() as u32;
                let set = *shared.known.entry(set).or_insert_with_key(|set| {
                    shared.sets.push(set.clone());
                    next
                });
                let is_swapped = self.set_is_right.u8(node) != Some(0);
                Ok(FileTest { predicate: Predicate::Member { set }, is_swapped })
            }
            Some(1) => self.compared(node, shared),
            _ => Err(fault(codes::BAD_VALUE, format!("node {node} has an unknown type"), "node_type", node)),
        }
    }

    fn compared(&self, node: usize, shared: &mut SharedTests) -> Result<FileTest, ModelError> {
        let threshold = self.threshold.get(node).unwrap_or(f64::NAN);
        if threshold.is_nan() {
            let message = format!("the threshold of node {node} is not a number");
            return Err(fault(codes::BAD_VALUE, message, "threshold", node));
        }
        let (comparison, is_swapped) = match self.operator.u8(node) {
            Some(1) => {
                return Ok(FileTest { predicate: Predicate::Equal { value: threshold }, is_swapped: false });
            }
            Some(2) => (Comparison::Less, false),
            Some(3) => (Comparison::LessOrEqual, false),
            Some(4) => (Comparison::LessOrEqual, true),
            Some(5) => (Comparison::Less, true),
            _ => {
                let message = format!("node {node} compares with an operator that Treelite 4 does not have");
                return Err(fault(codes::BAD_VALUE, message, "cmp", node));
            }
        };
        shared.tests.push(NumericTest { comparison, threshold });
        Ok(FileTest { predicate: Predicate::Numeric { threshold }, is_swapped })
    }

    fn set(&self, node: usize) -> Result<CategorySet, ModelError> {
        let range = range(self.set_begin, self.set_end, node, self.sets.len());
        let range = range.ok_or_else(|| {
            let message = format!("the categories of node {node} are not in the list");
            fault(codes::LENGTH_MISMATCH, message, "category_list_end", node)
        })?;
        Ok(range.filter_map(|index| self.sets.u32(index)).collect())
    }

    fn leaf(
        &self,
        header: &CheckpointHeader,
        target: TreeTarget,
        node: usize,
    ) -> Result<LeafValues, ModelError> {
        let vector = match self.vector_begin.len() {
            0 => Some(0..0),
            _ => range(self.vector_begin, self.vector_end, node, self.vectors.len()),
        };
        let vector = vector.ok_or_else(|| {
            let message = format!("the values of leaf {node} are not in the list");
            fault(codes::LENGTH_MISMATCH, message, "leaf_vector_end", node)
        })?;
        let mut values: LeafValues = match vector.is_empty() {
            true => self.value.get(node).into_iter().collect(),
            false => vector.filter_map(|index| self.vectors.get(index)).collect(),
        };
        let expected = if target == TreeTarget::All { header.num_margins() } else { 1 };
        if values.len() != expected {
            let message = format!("leaf {node} has {} values for {expected} outputs", values.len());
            return Err(fault(codes::LENGTH_MISMATCH, message, "leaf_vector", node));
        }
        if target == TreeTarget::All {
            // Values for classes that a target does not have are not added.
            let idle = |(margin, value): (usize, &mut f64)| {
                if !header.is_used(margin) {
                    *value = 0.0;
                }
            };
            values.iter_mut().enumerate().for_each(idle);
        }
        match values.iter().any(|value| value.is_nan()) {
            true => Err(fault(
                codes::BAD_VALUE,
                format!("the value of leaf {node} is not a number"),
                "leaf_value",
                node,
            )),
            false => Ok(values),
        }
    }
}

/// The range of a list that belongs to a node.
fn range(
    begin: ElementArray<8>,
    end: ElementArray<8>,
    node: usize,
    length: usize,
) -> Option<std::ops::Range<usize>> {
    let (begin, end) = (begin.u64(node)?, end.u64(node)?);
    let (begin, end) = (usize::try_from(begin).ok()?, usize::try_from(end).ok()?);
    (begin <= end && end <= length).then_some(begin..end)
}

/// The outputs to which a tree adds. In the file, -1 stands for all targets or all classes.
fn target(header: &CheckpointHeader, index: usize) -> Result<TreeTarget, ModelError> {
    let (target, class) = (header.target_id[index], header.class_id[index]);
    let (targets, classes) = (header.num_class.len(), header.most_classes());
    let one = |number: i32, count: usize| match number {
        -1 if count == 1 => Some(Some(0)),
        -1 => Some(None),
        _ => usize::try_from(number).ok().filter(|&number| number < count).map(Some),
    };
    let place = || format!("trees[{index}]");
    let missing = || {
        let message =
            format!("the tree adds to class {class} of target {target}, which the model does not have");
        ModelError::new(codes::TARGET_OUT_OF_RANGE, message).at(place())
    };
    let shape = header.leaf_shape;
    let found = match (one(target, targets).ok_or_else(missing)?, one(class, classes).ok_or_else(missing)?) {
        (Some(target), Some(class)) => {
            let margin = target * classes + class;
            (header.is_used(margin) && shape == [1, 1]).then_some(TreeTarget::One(margin as u32))
        }
        (None, None) => (shape == [targets, classes]).then_some(TreeTarget::All),
        (None, Some(_)) if classes == 1 => (shape == [targets, 1]).then_some(TreeTarget::All),
        (Some(_), None) if targets == 1 => (shape == [1, classes]).then_some(TreeTarget::All),
        _ => {
            let message = "the leaves hold values for some of the targets or classes, which is not supported";
            return Err(ModelError::new(codes::UNSUPPORTED_VECTOR_LEAF, message).at(place()).help(
                "build trees that add to one class of one target each, or to all classes of all targets",
            ));
        }
    };
    found.ok_or_else(|| {
        let message = format!(
            "leaves of the shape {} times {} do not fit a tree for class {class} of target {target}",
            shape[0], shape[1]
        );
        ModelError::new(codes::LENGTH_MISMATCH, message).at("leaf_vector_shape")
    })
}

fn fault(code: Code, message: String, array: &str, node: usize) -> ModelError {
    ModelError::new(code, message)
        .at(format!("{array}[{node}]"))
        .help("the file was changed or damaged; save the model again with Treelite")
}
