//! Node records: a threshold or leaf value, a feature number and, where the layout needs one, a child number.

use super::{LeafValue, Missing, Request, Row, TreeState};
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Builder, Cast, Cmp, Scalar, Ty, Value};
use sched_forest::{Comparison, Float, Inner, Leaf, Predicate, Target};

/// The element type of a float type.
pub fn scalar(float: Float) -> Scalar {
    match float {
        Float::F32 => Scalar::F32,
        Float::F64 => Scalar::F64,
    }
}

/// The narrowest unsigned integer that holds `most`.
pub fn narrowest(most: u64) -> Option<Scalar> {
    [Scalar::I8, Scalar::I16, Scalar::I32].into_iter().find(|width| most < 1 << (8 * width.bytes()))
}

/// The layout of one node's record and what its comparison means.
///
/// The threshold (or leaf payload) comes first, then the feature, then the child. With [`Missing::Mixed`] the
/// feature's highest bit says that missing values go left. A feature of all ones marks a leaf where the layout has no
/// child numbers.
#[derive(Clone, Debug)]
pub struct Record {
    threshold: Scalar,
    accumulator: Scalar,
    feature: Scalar,
    feature_at: u32,
    child: Option<(Scalar, u32)>,
    bytes: u32,
    comparison: Comparison,
    missing: Missing,
    vector_leaves: bool,
    outputs: usize,
}

impl Record {
    /// The record for the forest's used trees. `children` is the largest child number, if children are stored.
    pub fn new(request: &Request, children: Option<u64>) -> Result<Record, CompileError> {
        let forest = request.forest;
        let used = forest.trees.iter().zip(request.used).filter(|(_, used)| **used).map(|(tree, _)| tree);
        let missing = Missing::of(used.flat_map(|tree| &tree.inner));
        let features = forest.num_features as u64;
        let codes = if missing == Missing::Mixed { features.saturating_mul(2) + 1 } else { features };
        let too_wide = |what: &str| {
            CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("{what} do not fit 32-bit numbers"),
                "split the model into several",
            )
        };
        let feature = narrowest(codes).ok_or_else(|| too_wide("feature numbers"))?;
        let child = match children {
            Some(most) => Some(narrowest(most).ok_or_else(|| too_wide("node numbers"))?),
            None => None,
        };
        let (threshold, accumulator) = (scalar(forest.types.threshold), scalar(forest.types.accumulator));
        let feature_at = threshold.bytes().max(accumulator.bytes());
        let child_at = feature_at + feature.bytes().max(child.map_or(1, Scalar::bytes));
        let end = child.map_or(feature_at + feature.bytes(), |child| child_at + child.bytes());
        Ok(Record {
            threshold,
            accumulator,
            feature,
            feature_at,
            child: child.map(|child| (child, child_at)),
            bytes: end.next_multiple_of(feature_at),
            comparison: forest.comparison,
            missing,
            vector_leaves: forest.trees.iter().any(|tree| tree.target == Target::All),
            outputs: forest.num_margins,
        })
    }

    /// Bytes per record.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flag(&self) -> u64 {
        1 << (8 * self.feature.bytes() - 1)
    }

    /// The feature of all ones.
    fn leaf_mark(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.feature.bytes())
    }

    /// Writes an inner node's record.
    pub fn write_inner(&self, at: &mut [u8], inner: &Inner, child: u64) {
        if let Predicate::Numeric { threshold } = inner.predicate {
            write_float(at, self.threshold, threshold);
        }
        let flag = if self.missing == Missing::Mixed && inner.missing_left { self.flag() } else { 0 };
        write_int(&mut at[self.feature_at as usize..], self.feature, u64::from(inner.feature) | flag);
        if let Some((width, offset)) = self.child {
            write_int(&mut at[offset as usize..], width, child);
        }
    }

    /// Writes a leaf's record. `vector` is the leaf's place in the table of leaf vectors.
    pub fn write_leaf(&self, at: &mut [u8], leaf: &Leaf, vector: u32) {
        if self.vector_leaves {
            write_int(at, Scalar::I32, u64::from(vector));
        } else {
            write_float(at, self.accumulator, leaf.values.first().copied().unwrap_or(0.0));
        }
        if self.child.is_none() {
            write_int(&mut at[self.feature_at as usize..], self.feature, self.leaf_mark());
        }
    }

    fn address(
        &self,
        b: &mut Builder,
        nodes: BufferId,
        state: &TreeState,
        node: Value,
        offset: u32,
    ) -> Address {
        Address { buffer: nodes, index: b.add(state.base, node), stride: self.bytes, offset }
    }

    fn load_feature(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        let at = self.address(b, nodes, state, node, self.feature_at);
        b.load_index(self.feature, at)
    }

    /// The child number.
    pub fn load_child(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        let (width, offset) = self.child.unwrap_or((self.feature, self.feature_at));
        let at = self.address(b, nodes, state, node, offset);
        b.load_index(width, at)
    }

    /// 1 if the row goes right at the node, else 0, as an `i64`. Where `leaf` holds, the answer means nothing, but the
    /// row is still read in range.
    pub fn turn(
        &self,
        b: &mut Builder,
        nodes: BufferId,
        state: &TreeState,
        row: &Row,
        node: Value,
        leaf: Option<Value>,
    ) -> Value {
        let mut feature = self.load_feature(b, nodes, state, node);
        let mut flag = None;
        if self.missing == Missing::Mixed {
            let mask = b.int(self.flag() as i64);
            let bit = b.bin(Bin::And, feature, mask);
            let zero = b.int(0);
            flag = Some(b.cmp(Cmp::Ne, bit, zero));
            let mask = b.int(self.flag() as i64 - 1);
            feature = b.bin(Bin::And, feature, mask);
        }
        if let Some(leaf) = leaf {
            let zero = b.int(0);
            feature = b.select(leaf, zero, feature);
        }
        let at = self.address(b, nodes, state, node, 0);
        let threshold = b.load(Ty::of(self.threshold), at);
        let index = b.add(row.index, feature);
        let at = Address { buffer: row.buffer, index, stride: row.element.bytes(), offset: row.offset };
        let x = b.load(Ty::of(row.element), at);
        let left = self.goes_left(b, x, threshold, flag);
        let one = b.int_of(Ty::I1, 1);
        let right = b.bin(Bin::Xor, left, one);
        b.cast(Cast::ZExt, right, Ty::I64)
    }

    fn goes_left(&self, b: &mut Builder, x: Value, threshold: Value, flag: Option<Value>) -> Value {
        let wide = if self.threshold == Scalar::F64 { b.ty(threshold) } else { b.ty(x) };
        let (x, threshold) = (b.cast(Cast::Float, x, wide), b.cast(Cast::Float, threshold, wide));
        let or_equal = (self.comparison == Comparison::LessOrEqual)
            != (self.child.is_none() && seeded(Fault::ArrayFlipsTies));
        let forgets = self.child.is_some() && seeded(Fault::SparseForgetsMissing);
        let ordered = if or_equal { Cmp::OLe } else { Cmp::OLt };
        match (self.missing, flag) {
            (Missing::Left, _) if !forgets => b.cmp(if or_equal { Cmp::ULe } else { Cmp::ULt }, x, threshold),
            (Missing::Mixed, Some(flag)) if !forgets => {
                let less = b.cmp(ordered, x, threshold);
                let missing = b.cmp(Cmp::Uno, x, x);
                let missing_left = b.bin(Bin::And, missing, flag);
                b.bin(Bin::Or, less, missing_left)
            }
            _ => b.cmp(ordered, x, threshold),
        }
    }

    /// Whether the feature marks a leaf.
    pub fn is_marked(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        let feature = self.load_feature(b, nodes, state, node);
        let mark = b.int(self.leaf_mark() as i64);
        b.cmp(Cmp::Eq, feature, mark)
    }

    /// The payload of a leaf's record.
    pub fn payload(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> LeafValue {
        let at = self.address(b, nodes, state, node, 0);
        if self.vector_leaves {
            let leaf = b.load_index(Scalar::I32, at);
            LeafValue::Vector(b.mul_int(leaf, self.outputs as i64))
        } else {
            LeafValue::Scalar(b.load(Ty::of(self.accumulator), at))
        }
    }
}

/// Writes a little-endian integer of some width.
pub fn write_int(at: &mut [u8], width: Scalar, n: u64) {
    let bytes = width.bytes() as usize;
    at[..bytes].copy_from_slice(&n.to_le_bytes()[..bytes]);
}

/// Writes a little-endian float of some width.
pub fn write_float(at: &mut [u8], width: Scalar, x: f64) {
    match width {
        Scalar::F64 => at[..8].copy_from_slice(&x.to_le_bytes()),
        _ => at[..4].copy_from_slice(&(x as f32).to_le_bytes()),
    }
}
