//! Symbolic integers: exact where a model is bound, expressions over model facts where none is.

/// A named quantity that is known with a model, or, for [`Fact::Rows`], only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fact {
    /// `n_rows`: rows of the call. Never known to the checker.
    Rows,
    /// `num_trees`, also written `N_t`.
    NumTrees,
    /// `num_features`
    NumFeatures,
    /// `num_classes`
    NumClasses,
    /// `max_depth`
    MaxDepth,
    /// `batch_size`
    BatchSize,
    /// `trees_to_depth(d)`: how many trees, in the order of the nest, are no deeper than `d`.
    TreesToDepth(i64),
    /// `run_depth`: the depth of the trees in one copy made by `splitByDepth`.
    RunDepth,
}

/// Operators of symbolic expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, truncated.
    Div,
    /// Remainder with the dividend's sign.
    Rem,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Quotient, rounded up.
    CeilDiv,
}

/// A symbolic integer. Constructors fold constants, so an expression over known facts is always [`Sym::Int`].
#[derive(Clone, Debug, PartialEq)]
pub enum Sym {
    /// A known value.
    Int(i64),
    /// A fact that is not known.
    Fact(Fact),
    /// An operation with at least one unknown operand.
    Op(SymOp, Box<Sym>, Box<Sym>),
}

impl Sym {
    /// The value, if it is known.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Sym::Int(n) => Some(*n),
            _ => None,
        }
    }
}
