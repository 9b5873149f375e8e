//! Symbolic integers: exact where a model is bound, expressions over model properties where none is.

use std::fmt;
use std::sync::Arc;

/// A named quantity that is known with a model, or, for [`Property::Rows`], only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
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
    /// `trees_to_depth(d)`: the number of trees of depth `d` or less, in the order of the nest.
    TreesToDepth(i64),
    /// `run_depth`: the depth of the deepest tree in a run that `splitByDepth` made.
    RunDepth,
    /// Number of sums of a stage.
    Units,
    /// Number of terms of a stage's sums.
    Terms,
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

/// A symbolic integer. Constructors fold constants, so an expression over known properties is always
/// [`Sym::Int`].
#[derive(Clone, Debug, PartialEq)]
pub enum Sym {
    /// A known value.
    Int(i64),
    /// An unknown property.
    Property(Property),
    /// An operation with at least one unknown operand.
    Op(SymOp, Arc<Sym>, Arc<Sym>),
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Rows => f.write_str("n_rows"),
            Property::NumTrees => f.write_str("N_t"),
            Property::NumFeatures => f.write_str("num_features"),
            Property::NumClasses => f.write_str("num_classes"),
            Property::MaxDepth => f.write_str("max_depth"),
            Property::BatchSize => f.write_str("batch_size"),
            Property::TreesToDepth(d) => write!(f, "trees_to_depth({d})"),
            Property::RunDepth => f.write_str("run_depth"),
            Property::Units => f.write_str("units"),
            Property::Terms => f.write_str("features"),
        }
    }
}

/// Reason why an operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    /// The result does not fit 64 bits.
    Overflow,
    /// Division or remainder by zero.
    DivisionByZero,
    /// The symbolic expression has grown beyond [`MAX_TERMS`].
    TooLarge,
}

/// Largest number of terms of a symbolic expression. Constants that refer to constants could double it each
/// line.
pub const MAX_TERMS: usize = 256;

impl Sym {
    /// The value, if it is known.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Sym::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// `a op b`, folded where possible.
    ///
    /// # Errors
    /// When the value does not fit, a divisor is zero, or the expression becomes too large to handle.
    pub fn apply(op: SymOp, a: &Sym, b: &Sym) -> Result<Sym, ArithmeticError> {
        if let (Sym::Int(x), Sym::Int(y)) = (a, b) {
            return fold(op, *x, *y).map(Sym::Int);
        }
        if matches!(op, SymOp::Div | SymOp::Rem | SymOp::CeilDiv) && *b == Sym::Int(0) {
            return Err(ArithmeticError::DivisionByZero);
        }
        if let Some(simple) = simplify(op, a, b) {
            return Ok(simple);
        }
        if a.terms() + b.terms() > MAX_TERMS {
            return Err(ArithmeticError::TooLarge);
        }
        Ok(Sym::Op(op, Arc::new(a.clone()), Arc::new(b.clone())))
    }

    /// Number of leaves of the expression.
    fn terms(&self) -> usize {
        match self {
            Sym::Int(_) | Sym::Property(_) => 1,
            Sym::Op(_, a, b) => a.terms() + b.terms(),
        }
    }

    /// The expression with each property replaced by its `value`, if that is known.
    ///
    /// # Errors
    /// As for [`Sym::apply`].
    pub fn substitute(&self, value: &dyn Fn(Property) -> Option<i64>) -> Result<Sym, ArithmeticError> {
        match self {
            Sym::Int(n) => Ok(Sym::Int(*n)),
            Sym::Property(property) => Ok(value(*property).map_or(Sym::Property(*property), Sym::Int)),
            Sym::Op(op, a, b) => Sym::apply(*op, &a.substitute(value)?, &b.substitute(value)?),
        }
    }

    /// Whether any property that satisfies `test` occurs in the expression.
    pub fn mentions(&self, test: &dyn Fn(Property) -> bool) -> bool {
        match self {
            Sym::Int(_) => false,
            Sym::Property(property) => test(*property),
            Sym::Op(_, a, b) => a.mentions(test) || b.mentions(test),
        }
    }
}

fn fold(op: SymOp, x: i64, y: i64) -> Result<i64, ArithmeticError> {
    use ArithmeticError::{DivisionByZero, Overflow};
    if y == 0 && matches!(op, SymOp::Div | SymOp::Rem | SymOp::CeilDiv) {
        return Err(DivisionByZero);
    }
    let value = match op {
        SymOp::Add => x.checked_add(y),
        SymOp::Sub => x.checked_sub(y),
        SymOp::Mul => x.checked_mul(y),
        SymOp::Div => x.checked_div(y),
        SymOp::Rem => x.checked_rem(y),
        SymOp::Min => Some(x.min(y)),
        SymOp::Max => Some(x.max(y)),
        SymOp::CeilDiv => x.checked_div(y).map(|q| {
            let exact = x % y == 0;
            if !exact && ((x < 0) == (y < 0)) { q + 1 } else { q }
        }),
    };
    value.ok_or(Overflow)
}

/// Simplifies neutral elements and equal operands.
fn simplify(op: SymOp, a: &Sym, b: &Sym) -> Option<Sym> {
    let zero = Sym::Int(0);
    let one = Sym::Int(1);
    match op {
        SymOp::Add if *a == zero => Some(b.clone()),
        SymOp::Add | SymOp::Sub if *b == zero => Some(a.clone()),
        SymOp::Sub if a == b => Some(zero),
        SymOp::Mul if *a == zero || *b == zero => Some(zero),
        SymOp::Mul if *a == one => Some(b.clone()),
        SymOp::Mul | SymOp::Div | SymOp::CeilDiv if *b == one => Some(a.clone()),
        SymOp::Rem if *b == one => Some(zero),
        SymOp::Min | SymOp::Max if a == b => Some(a.clone()),
        _ => None,
    }
}

impl From<i64> for Sym {
    fn from(n: i64) -> Self {
        Sym::Int(n)
    }
}

impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sym::Int(n) => write!(f, "{n}"),
            Sym::Property(property) => write!(f, "{property}"),
            Sym::Op(op, a, b) => match op {
                SymOp::Min => write!(f, "min({a}, {b})"),
                SymOp::Max => write!(f, "max({a}, {b})"),
                SymOp::CeilDiv => write!(f, "ceildiv({a}, {b})"),
                SymOp::Add => write!(f, "{} + {}", Operand(a, 1), Operand(b, 2)),
                SymOp::Sub => write!(f, "{} - {}", Operand(a, 1), Operand(b, 2)),
                SymOp::Mul => write!(f, "{}*{}", Operand(a, 3), Operand(b, 4)),
                SymOp::Div => write!(f, "{}/{}", Operand(a, 3), Operand(b, 4)),
                SymOp::Rem => write!(f, "{}%{}", Operand(a, 3), Operand(b, 4)),
            },
        }
    }
}

/// An operand, in parentheses if it binds less tightly than its context.
struct Operand<'a>(&'a Sym, u8);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = match self.0 {
            Sym::Op(SymOp::Add | SymOp::Sub, ..) => 1,
            Sym::Op(SymOp::Mul | SymOp::Div | SymOp::Rem, ..) => 3,
            Sym::Int(n) if *n < 0 => 2,
            _ => 5,
        };
        if binding < self.1 { write!(f, "({})", self.0) } else { write!(f, "{}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(op: SymOp, a: Sym, b: Sym) -> Sym {
        Sym::apply(op, &a, &b).expect("has a value")
    }

    #[test]
    fn folds_and_prints() {
        let trees = Sym::Property(Property::NumTrees);
        let half = op(SymOp::Div, trees.clone(), 2.into());
        assert_eq!(half.to_string(), "N_t/2");
        assert_eq!(
            op(SymOp::Mul, op(SymOp::Add, trees.clone(), 1.into()), 2.into()).to_string(),
            "(N_t + 1)*2"
        );
        assert_eq!(
            op(SymOp::Sub, trees.clone(), op(SymOp::Sub, trees.clone(), 1.into())).to_string(),
            "N_t - (N_t - 1)"
        );
        assert_eq!(op(SymOp::Sub, trees.clone(), trees), Sym::Int(0));
        assert_eq!(half.substitute(&|_| Some(9)), Ok(Sym::Int(4)));
    }

    #[test]
    fn rounds_as_documented() {
        for (a, b, quotient, ceiling) in
            [(7, 2, 3, 4), (-7, 2, -3, -3), (7, -2, -3, -3), (-7, -2, 3, 4), (6, 2, 3, 3)]
        {
            assert_eq!(fold(SymOp::Div, a, b), Ok(quotient));
            assert_eq!(fold(SymOp::CeilDiv, a, b), Ok(ceiling));
        }
    }

    #[test]
    fn refuses_what_has_no_value() {
        assert_eq!(fold(SymOp::Div, 1, 0), Err(ArithmeticError::DivisionByZero));
        assert_eq!(fold(SymOp::Div, i64::MIN, -1), Err(ArithmeticError::Overflow));
        assert_eq!(fold(SymOp::Rem, i64::MIN, -1), Err(ArithmeticError::Overflow));
        assert_eq!(fold(SymOp::CeilDiv, i64::MIN, -1), Err(ArithmeticError::Overflow));
        let mut sym = Sym::Property(Property::NumTrees);
        let error = loop {
            match Sym::apply(SymOp::Add, &sym, &sym) {
                Ok(next) => sym = next,
                Err(error) => break error,
            }
        };
        assert_eq!(error, ArithmeticError::TooLarge);
    }
}
