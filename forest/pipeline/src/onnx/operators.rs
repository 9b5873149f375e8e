//! The table of the operators that the reader understands.

use super::builder::GraphColumns;
use super::node::GraphNode;
use super::tensor::Outputs;
use super::{
    arithmetic, encode, functions, hyperbolic, linear, normalize, reduce, scale, shape, sizes, svm, whole,
};

/// The set of operators that an operator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorSet {
    /// `ai.onnx`.
    Standard,
    /// `ai.onnx.ml`.
    Learning,
}

impl OperatorSet {
    /// The set of this name.
    pub fn named(name: &str) -> Option<OperatorSet> {
        match name {
            "" | "ai.onnx" => Some(OperatorSet::Standard),
            "ai.onnx.ml" => Some(OperatorSet::Learning),
            _ => None,
        }
    }

    /// The name of the set in messages.
    pub fn name(self) -> &'static str {
        match self {
            OperatorSet::Standard => "ai.onnx",
            OperatorSet::Learning => "ai.onnx.ml",
        }
    }

    /// The versions of the set for which the table is right.
    pub fn versions(self) -> std::ops::RangeInclusive<i64> {
        match self {
            OperatorSet::Standard => 7..=23,
            OperatorSet::Learning => 1..=5,
        }
    }
}

/// An operator on tensors.
pub(super) struct OperatorRow {
    pub name: &'static str,
    pub domain: OperatorSet,
    /// Computes the outputs of a node.
    pub run: fn(&GraphNode, &mut GraphColumns) -> Outputs,
}

/// The operator with this name, if the reader understands it.
pub(super) fn operator(name: &str, domain: OperatorSet) -> Option<&'static OperatorRow> {
    OPERATORS.iter().find(|operator| operator.name == name && operator.domain == domain)
}

/// Declares the table.
macro_rules! operators {
    ($($domain:ident $name:literal $run:path;)*) => {
        /// All operators that the reader understands.
        const OPERATORS: &[OperatorRow] = &[
            $(OperatorRow { name: $name, domain: OperatorSet::$domain, run: $run },)*
        ];
    };
}

operators! {
    Standard "Abs" arithmetic::abs;
    Standard "Acosh" hyperbolic::acosh;
    Standard "Add" arithmetic::add;
    Standard "And" arithmetic::and;
    Standard "ArgMax" reduce::arg_max;
    Standard "ArgMin" reduce::arg_min;
    Standard "Asinh" hyperbolic::asinh;
    Standard "Atanh" hyperbolic::atanh;
    Standard "BatchNormalization" normalize::batch_normalization;
    Standard "Cast" arithmetic::cast;
    Standard "CastLike" arithmetic::cast_like;
    Standard "Ceil" arithmetic::ceil;
    Standard "Celu" functions::celu;
    Standard "Clip" arithmetic::clip;
    Standard "Concat" shape::concat;
    Standard "ConstantOfShape" sizes::constant_of_shape;
    Standard "Cos" functions::cos;
    Standard "Cosh" hyperbolic::cosh;
    Standard "Div" arithmetic::div;
    Standard "Dropout" arithmetic::dropout;
    Standard "Elu" functions::elu;
    Standard "Equal" arithmetic::equal;
    Standard "Erf" functions::erf;
    Standard "Exp" functions::exp;
    Standard "Expand" sizes::expand;
    Standard "Flatten" shape::flatten;
    Standard "Floor" arithmetic::floor;
    Standard "Gather" shape::gather;
    Standard "Gelu" functions::gelu;
    Standard "Gemm" linear::gemm;
    Standard "Greater" arithmetic::greater;
    Standard "GreaterOrEqual" arithmetic::greater_or_equal;
    Standard "HardSigmoid" functions::hard_sigmoid;
    Standard "HardSwish" functions::hard_swish;
    Standard "Identity" arithmetic::identity;
    Standard "IsInf" functions::is_inf;
    Standard "IsNaN" arithmetic::is_nan;
    Standard "LayerNormalization" normalize::layer_normalization;
    Standard "LeakyRelu" functions::leaky_relu;
    Standard "Less" arithmetic::less;
    Standard "LessOrEqual" arithmetic::less_or_equal;
    Standard "Log" functions::log;
    Standard "LogSoftmax" normalize::log_softmax;
    Standard "LpNormalization" normalize::lp_normalization;
    Standard "MatMul" linear::mat_mul;
    Standard "Max" arithmetic::max;
    Standard "Mean" functions::mean;
    Standard "Min" arithmetic::min;
    Standard "Mish" functions::mish;
    Standard "Mod" whole::modulo;
    Standard "Mul" arithmetic::mul;
    Standard "Neg" arithmetic::neg;
    Standard "Not" arithmetic::not;
    Standard "OneHot" encode::one_hot;
    Standard "Or" arithmetic::or;
    Standard "Pow" functions::pow;
    Standard "PRelu" functions::p_relu;
    Standard "Reciprocal" functions::reciprocal;
    Standard "ReduceL1" reduce::reduce_l1;
    Standard "ReduceL2" reduce::reduce_l2;
    Standard "ReduceLogSum" reduce::reduce_log_sum;
    Standard "ReduceLogSumExp" reduce::reduce_log_sum_exp;
    Standard "ReduceMax" reduce::reduce_max;
    Standard "ReduceMean" reduce::reduce_mean;
    Standard "ReduceMin" reduce::reduce_min;
    Standard "ReduceProd" reduce::reduce_prod;
    Standard "ReduceSum" reduce::reduce_sum;
    Standard "ReduceSumSquare" reduce::reduce_sum_square;
    Standard "Relu" functions::relu;
    Standard "Reshape" shape::reshape;
    Standard "Round" arithmetic::round;
    Standard "Selu" functions::selu;
    Standard "Shape" sizes::shape;
    Standard "Sigmoid" functions::sigmoid;
    Standard "Sign" functions::sign;
    Standard "Sin" functions::sin;
    Standard "Sinh" hyperbolic::sinh;
    Standard "Slice" shape::slice;
    Standard "Softmax" normalize::softmax;
    Standard "Softplus" functions::softplus;
    Standard "Softsign" functions::softsign;
    Standard "Split" shape::split;
    Standard "Sqrt" arithmetic::sqrt;
    Standard "Squeeze" shape::squeeze;
    Standard "Sub" arithmetic::sub;
    Standard "Sum" functions::sum;
    Standard "Tan" functions::tan;
    Standard "Tanh" functions::tanh;
    Standard "ThresholdedRelu" functions::thresholded_relu;
    Standard "Tile" sizes::tile;
    Standard "Transpose" shape::transpose;
    Standard "Unsqueeze" shape::unsqueeze;
    Standard "Where" arithmetic::choose;
    Standard "Xor" functions::xor;
    Learning "ArrayFeatureExtractor" shape::array_feature_extractor;
    Learning "Binarizer" scale::binarizer;
    Learning "CategoryMapper" encode::category_mapper;
    Learning "FeatureVectorizer" shape::feature_vectorizer;
    Learning "Imputer" scale::imputer;
    Learning "LabelEncoder" encode::label_encoder;
    Learning "LinearClassifier" linear::linear_classifier;
    Learning "LinearRegressor" linear::linear_regressor;
    Learning "Normalizer" normalize::normalizer;
    Learning "OneHotEncoder" encode::one_hot_encoder;
    Learning "SVMClassifier" svm::svm_classifier;
    Learning "SVMRegressor" svm::svm_regressor;
    Learning "Scaler" scale::scaler;
    Learning "ZipMap" arithmetic::identity;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operator_has_one_row() {
        for (place, operator) in OPERATORS.iter().enumerate() {
            let same = |other: &OperatorRow| (other.name, other.domain) == (operator.name, operator.domain);
            assert!(!OPERATORS[..place].iter().any(same), "{}", operator.name);
        }
    }
}
