//! Test of an inner node: the comparison, and the direction of missing values.

use super::request::LayoutRequest;
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cast, Cmp, Scalar, Value};
use crate::quantize::BinMap;
use crate::rows::features::FeatureSubset;
use sched_forest::{Comparison, Inner, Predicate};
use sched_nest::Layout;
use std::sync::Arc;

/// Direction of missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Left,
    Right,
    /// Depends on the node, in the highest bit of its feature field.
    Mixed,
}

/// Operand that a node compares with the value of its feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TestOperand {
    /// A threshold, compared with the value itself.
    Threshold(f64),
    /// The bin of its threshold, compared with the value's bin.
    Bin(u64),
}

/// Encoded test of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedTest {
    /// Operand of the comparison.
    pub operand: TestOperand,
    /// The node's feature field: the number of a feature, or the column of its bins.
    pub feature: u64,
}

/// Test at the nodes of a layout.
#[derive(Clone, Debug)]
pub struct Test {
    comparison: Comparison,
    missing: Missing,
    layout: Layout,
    /// Type of the operand.
    operand: Scalar,
    /// Bins of rows, if threshold bins are compared with them.
    bins: Option<Arc<BinMap>>,
    /// Features of the copy of rows, if nodes name its columns.
    subset: Option<FeatureSubset>,
}

impl Test {
    /// Test at the nodes of the used trees of a layout.
    pub fn of(request: &LayoutRequest, layout: Layout) -> Test {
        let trees = request.forest.trees.iter().zip(request.used).filter(|(_, used)| **used);
        let (mut left, mut right) = (false, false);
        for node in trees.flat_map(|(tree, _)| &tree.inner) {
            left |= node.missing_left;
            right |= !node.missing_left;
        }
        let missing = match (left, right) {
            (true, true) => Missing::Mixed,
            (true, false) => Missing::Left,
            (false, _) => Missing::Right,
        };
        let bins = request.bins.filter(|_| layout.compares_bins()).cloned();
        let threshold = scalar(request.forest.types.threshold);
        let operand = bins.as_ref().map_or(threshold, |bins| bins.element());
        let subset = request.subset.cloned();
        Test { comparison: request.forest.comparison, missing, layout, operand, bins, subset }
    }

    /// Number that the type of feature fields must hold. It is larger than all fields, so that a field of all
    /// ones can mark leaves.
    pub fn feature_limit(&self, features: u64) -> u64 {
        let features = self.subset.as_ref().map_or(features, |subset| subset.count() as u64);
        if self.missing == Missing::Mixed { features.saturating_mul(2) + 1 } else { features }
    }

    /// Type of the operand.
    pub fn operand(&self) -> Scalar {
        self.operand
    }

    /// Encodes a node's test, with the feature field in `bits` bits.
    pub fn encode(&self, inner: &Inner, bits: u32) -> EncodedTest {
        if let Some(bins) = &self.bins {
            let (threshold_bin, column) = bins.threshold_bin_and_column(inner);
            return EncodedTest { operand: TestOperand::Bin(threshold_bin), feature: column };
        }
        let threshold = match inner.predicate {
            Predicate::Numeric { threshold } => threshold,
            // Other tests do not occur: trees then test computed columns, by thresholds alone.
            _ => f64::NAN,
        };
        EncodedTest { operand: TestOperand::Threshold(threshold), feature: self.feature_field(inner, bits) }
    }

    /// Feature field of a node in `bits` bits: the feature's column, and in the highest bit whether missing
    /// values go left, if that depends on the node.
    fn feature_field(&self, inner: &Inner, bits: u32) -> u64 {
        let flag = if self.missing == Missing::Mixed && inner.missing_left { 1 << (bits - 1) } else { 0 };
        let column = self.subset.as_ref().map_or(inner.feature, |subset| subset.column(inner.feature));
        u64::from(column) | flag
    }

    /// Splits a feature field into the feature and, if it depends on the node, whether missing values go
    /// left.
    pub fn split_feature_field(&self, b: &mut Builder, field: Value, bits: u32) -> (Value, Option<Value>) {
        if self.missing != Missing::Mixed {
            return (field, None);
        }
        let ty = b.ty(field);
        let highest = match (bits, ty.scalar) {
            (32, Scalar::I32) => i64::from(i32::MIN),
            _ => 1 << (bits - 1),
        };
        let (flag, zero) = (b.int_of(ty, highest), b.int_of(ty, 0));
        let bit = b.bin(Bin::And, field, flag);
        let left = b.cmp(Cmp::Ne, bit, zero);
        (b.extract_bits(field, 0, bits - 1), Some(left))
    }

    /// Whether a row whose feature is `x` goes right.
    pub fn goes_right(
        &self,
        b: &mut Builder,
        x: Value,
        threshold: Value,
        missing_left: Option<Value>,
    ) -> Value {
        if !b.ty(x).scalar.is_float() {
            let ty = b.number_type(b.ty(x).lanes);
            let (bin, threshold_bin) = (b.cast(Cast::ZExt, x, ty), b.cast(Cast::Trunc, threshold, ty));
            return bin_goes_right(b, bin, threshold_bin);
        }
        let wide = if b.ty(threshold).scalar == Scalar::F64 { b.ty(threshold) } else { b.ty(x) };
        let (x, threshold) = (b.cast(Cast::Float, x, wide), b.cast(Cast::Float, threshold, wide));
        let flips = self.layout == Layout::Array && seeded(Fault::ArrayFlipsTies);
        let loses = self.layout == Layout::Sparse && seeded(Fault::SparseForgetsMissing);
        let or_equal = (self.comparison == Comparison::LessOrEqual) != flips;
        let ordered = if or_equal { Cmp::OLe } else { Cmp::OLt };
        let left = match (self.missing, missing_left) {
            (Missing::Left, _) if !loses => b.cmp(if or_equal { Cmp::ULe } else { Cmp::ULt }, x, threshold),
            (Missing::Mixed, Some(missing_left)) if !loses => {
                let less = b.cmp(ordered, x, threshold);
                let missing = b.cmp(Cmp::Uno, x, x);
                let goes_left = b.bin(Bin::And, missing, missing_left);
                b.bin(Bin::Or, less, goes_left)
            }
            _ => b.cmp(ordered, x, threshold),
        };
        let one = b.int_of(b.ty(left), 1);
        b.bin(Bin::Xor, left, one)
    }
}

/// Whether a row with this bin goes right at a node with the threshold bin. Both have the same type. The bins
/// of missing values lead to the right side without a test.
pub fn bin_goes_right(b: &mut Builder, bin: Value, threshold_bin: Value) -> Value {
    // Narrow bins use all their bits.
    let narrow = b.ty(threshold_bin).scalar.bytes() < Scalar::I32.bytes();
    b.cmp(if narrow { Cmp::UnsignedLt } else { Cmp::Lt }, threshold_bin, bin)
}
