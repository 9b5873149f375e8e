//! Operators that apply a function or an activation to each cell of a tensor of floats, and some similar
//! ones.

use super::builder::GraphColumns;
use super::formula::Formula;
use super::node::GraphNode;
use super::tensor::{ColumnResult, Outputs, TensorElement};
use super::whole;
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Unary};
use sched_forest::ModelError;

/// Applies a formula to each cell of a tensor of floats.
fn unary(
    node: &GraphNode,
    builder: &mut GraphColumns,
    mut formula: impl FnMut(&mut Formula, ColumnId) -> ColumnResult,
) -> Outputs {
    let of = node.input(0)?;
    if !of.element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", of.element.name())));
    }
    let element = of.element;
    let computed = node.elementwise(builder, &[of], element, |builder, cells| {
        formula(&mut Formula { builder, element }, cells[0])
    });
    Ok(vec![computed?])
}

/// The value of an attribute, or its default.
fn parameter(node: &GraphNode, name: &str, default: f32) -> Result<f64, ModelError> {
    Ok(node.attributes.float(name)?.unwrap_or(default).into())
}

/// Declares operators that apply a single function.
macro_rules! functions {
    ($($name:ident: $op:expr;)*) => {
        $(pub(super) fn $name(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
            unary(node, builder, |formula, x| formula.unary($op, x))
        })*
    };
}

functions! {
    exp: Unary::Exp;
    log: Unary::Log;
    tanh: Unary::Tanh;
    sigmoid: Unary::Logistic;
    erf: Unary::Erf;
    sin: Unary::Sin;
    cos: Unary::Cos;
}

/// `1 / x`
pub(super) fn reciprocal(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    unary(node, builder, |formula, x| {
        let one = formula.number(1.0)?;
        formula.binary(Binary::Divide, one, x)
    })
}

/// `sin(x) / cos(x)`
pub(super) fn tan(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    unary(node, builder, |formula, x| {
        let (sine, cosine) = (formula.unary(Unary::Sin, x)?, formula.unary(Unary::Cos, x)?);
        formula.binary(Binary::Divide, sine, cosine)
    })
}

pub(super) fn softplus(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    unary(node, builder, |formula, x| formula.softplus(x))
}

/// `x / (1 + |x|)`
pub(super) fn softsign(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    unary(node, builder, |formula, x| {
        let size = formula.unary(Unary::Abs, x)?;
        let more = formula.with(Binary::Add, size, 1.0)?;
        formula.binary(Binary::Divide, x, more)
    })
}

/// 0 below 0, else `x`, also for whole numbers. NaN remains NaN, as in ONNX Runtime.
pub(super) fn relu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let element = of.element;
    let computed = node.elementwise(builder, &[of], element, |builder, cells| {
        let mut formula = Formula { builder, element };
        let zero = formula.number(0.0)?;
        formula.below(cells[0], 0.0, zero, cells[0])
    });
    Ok(vec![computed?])
}

/// `alpha x` below 0, else `x`.
pub(super) fn leaky_relu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let alpha = parameter(node, "alpha", 0.01)?;
    unary(node, builder, |formula, x| {
        let product = formula.with(Binary::Multiply, x, alpha)?;
        formula.below(x, 0.0, product, x)
    })
}

/// As [`leaky_relu`], but `alpha` is a tensor.
pub(super) fn p_relu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (of, slope) = (node.input(0)?, node.input(1)?);
    let element = of.element;
    let computed = node.elementwise(builder, &[of, slope], element, |builder, cells| {
        let mut formula = Formula { builder, element };
        let product = formula.binary(Binary::Multiply, cells[0], cells[1])?;
        formula.below(cells[0], 0.0, product, cells[0])
    });
    Ok(vec![computed?])
}

/// `x` above `alpha`, else 0.
pub(super) fn thresholded_relu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let alpha = parameter(node, "alpha", 1.0)?;
    unary(node, builder, |formula, x| {
        let (alpha, zero) = (formula.number(alpha)?, formula.number(0.0)?);
        let condition = formula.binary(Binary::Less, alpha, x)?;
        formula.builder.add(Expr::Select { condition, then: x, otherwise: zero })
    })
}

/// `alpha (exp(x) - 1)` below 0, else `x`.
pub(super) fn elu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let alpha = parameter(node, "alpha", 1.0)?;
    unary(node, builder, |formula, x| {
        let power = formula.unary(Unary::ExpMinusOne, x)?;
        let product = formula.with(Binary::Multiply, power, alpha)?;
        formula.below(x, 0.0, product, x)
    })
}

/// `max(0, x) + min(0, alpha (exp(x / alpha) - 1))`
pub(super) fn celu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let alpha = parameter(node, "alpha", 1.0)?;
    unary(node, builder, |formula, x| {
        let quotient = formula.with(Binary::Divide, x, alpha)?;
        let power = formula.unary(Unary::ExpMinusOne, quotient)?;
        let product = formula.with(Binary::Multiply, power, alpha)?;
        let below = formula.with(Binary::Min, product, 0.0)?;
        let above = formula.with(Binary::Max, x, 0.0)?;
        formula.binary(Binary::Add, above, below)
    })
}

/// `gamma x` above 0, else `gamma (alpha exp(x) - alpha)`.
pub(super) fn selu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let alpha = parameter(node, "alpha", 1.673_263_2)?;
    let gamma = parameter(node, "gamma", 1.050_701)?;
    unary(node, builder, |formula, x| {
        let power = formula.unary(Unary::ExpMinusOne, x)?;
        let product = formula.with(Binary::Multiply, power, alpha)?;
        let chosen = formula.below(x, 0.0, product, x)?;
        formula.with(Binary::Multiply, chosen, gamma)
    })
}

/// `max(0, min(1, alpha x + beta))`
pub(super) fn hard_sigmoid(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (alpha, beta) = (parameter(node, "alpha", 0.2)?, parameter(node, "beta", 0.5)?);
    unary(node, builder, |formula, x| {
        let product = formula.with(Binary::Multiply, x, alpha)?;
        let sum = formula.with(Binary::Add, product, beta)?;
        formula.between(sum, 0.0, 1.0)
    })
}

/// `x max(0, min(1, x / 6 + 1 / 2))`
pub(super) fn hard_swish(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    // The standard defines 1 / 6 as an attribute, so it is a single.
    let sixth = f64::from(1.0_f32 / 6.0);
    unary(node, builder, |formula, x| {
        let product = formula.with(Binary::Multiply, x, sixth)?;
        let sum = formula.with(Binary::Add, product, 0.5)?;
        let factor = formula.between(sum, 0.0, 1.0)?;
        formula.binary(Binary::Multiply, x, factor)
    })
}

/// `x tanh(softplus(x))`
pub(super) fn mish(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    unary(node, builder, |formula, x| {
        let softplus = formula.softplus(x)?;
        let factor = formula.unary(Unary::Tanh, softplus)?;
        formula.binary(Binary::Multiply, x, factor)
    })
}

/// `x (1 + erf(x / sqrt(2))) / 2`, or its approximation by the hyperbolic tangent.
pub(super) fn gelu(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let is_near = match node.attributes.text("approximate")? {
        "" | "none" => false,
        "tanh" => true,
        other => return Err(node.refuse(&format!("has the unknown approximation `{other}`"))),
    };
    unary(node, builder, |formula, x| {
        let inner = if is_near {
            let square = formula.binary(Binary::Multiply, x, x)?;
            let part = formula.with(Binary::Multiply, square, 0.044_715)?;
            let factor = formula.with(Binary::Add, part, 1.0)?;
            let product = formula.binary(Binary::Multiply, x, factor)?;
            let scaled = formula.with(Binary::Multiply, product, (2.0 / std::f64::consts::PI).sqrt())?;
            formula.unary(Unary::Tanh, scaled)?
        } else {
            let scaled = formula.with(Binary::Multiply, x, std::f64::consts::FRAC_1_SQRT_2)?;
            formula.unary(Unary::Erf, scaled)?
        };
        let half = formula.with(Binary::Multiply, x, 0.5)?;
        let more = formula.with(Binary::Add, inner, 1.0)?;
        formula.binary(Binary::Multiply, half, more)
    })
}

/// 1 above 0, -1 below 0, else 0.
pub(super) fn sign(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let element = of.element;
    let computed = node.elementwise(builder, &[of], element, |builder, cells| {
        let mut formula = Formula { builder, element };
        let [zero, one, minus] = [0.0, 1.0, -1.0].map(|x| formula.number(x));
        let (zero, one, minus) = (zero?, one?, minus?);
        let otherwise = formula.below(cells[0], 0.0, minus, zero)?;
        let condition = formula.binary(Binary::Less, zero, cells[0])?;
        formula.builder.add(Expr::Select { condition, then: one, otherwise })
    });
    Ok(vec![computed?])
}

/// Whether a number is infinite, for the signs that the attributes select.
pub(super) fn is_inf(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let detects = |name: &str| Ok::<_, ModelError>(node.attributes.int(name)?.unwrap_or(1) != 0);
    let (negative, positive) = (detects("detect_negative")?, detects("detect_positive")?);
    let element = of.element;
    if !element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", element.name())));
    }
    let computed = node.elementwise(builder, &[of], TensorElement::Bool, |builder, cells| {
        let mut formula = Formula { builder, element };
        let mut is = formula.builder.columns.constant(ColumnValue::Bool(false));
        for (detects, bound) in [(negative, f64::NEG_INFINITY), (positive, f64::INFINITY)] {
            if detects {
                let equals = formula.with(Binary::Equal, cells[0], bound)?;
                is = formula.binary(Binary::Or, is, equals)?;
            }
        }
        Ok(is)
    });
    Ok(vec![computed?])
}

/// Whether exactly one of two truth values holds.
pub(super) fn xor(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (left, right) = (node.input(0)?, node.input(1)?);
    let is_truth = [left, right].iter().all(|tensor| tensor.element == TensorElement::Bool);
    if !is_truth {
        return Err(node.refuse("combines numbers and not truth values"));
    }
    let computed = node.elementwise(builder, &[left, right], TensorElement::Bool, |builder, cells| {
        let equal = builder.add(Expr::Binary(Binary::Equal, cells[0], cells[1]))?;
        builder.add(Expr::Unary(Unary::Not, equal))
    });
    Ok(vec![computed?])
}

/// The sum of tensors, from left to right.
pub(super) fn sum(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    variadic(node, builder, |formula, cells| formula.sum(cells))
}

/// The mean of tensors.
pub(super) fn mean(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    variadic(node, builder, |formula, cells| {
        let sum = formula.sum(cells)?;
        formula.with(Binary::Divide, sum, cells.len() as f64)
    })
}

/// Applies a formula to the cells at the same position of all inputs of a node, which are tensors of floats.
fn variadic(
    node: &GraphNode,
    builder: &mut GraphColumns,
    formula: impl Fn(&mut Formula, &[ColumnId]) -> ColumnResult,
) -> Outputs {
    let element = node.input(0)?.element;
    let count = node.inputs.len();
    let tensors =
        (0..count).map(|number| Ok(&**node.input(number)?)).collect::<Result<Vec<_>, ModelError>>()?;
    if !element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", element.name())));
    }
    let computed = node.elementwise(builder, &tensors, element, |builder, cells| {
        formula(&mut Formula { builder, element }, cells)
    });
    Ok(vec![computed?])
}

/// A power of floats. Squares and cubes are products, as in ONNX Runtime. If the exponent has another type,
/// the power is computed in double precision and rounded to the type of the base.
pub(super) fn pow(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (base, exponent) = (node.input(0)?, node.input(1)?);
    if !base.element.is_float() {
        return whole::pow(node, builder);
    }
    let own = base.element;
    let computed = node.elementwise(builder, &[base, exponent], own, |builder, cells| {
        let (x, y) = (cells[0], cells[1]);
        let known = builder.constant(y).map(ColumnValue::to_f64);
        if known == Some(2.0) || known == Some(3.0) {
            let square = builder.add(Expr::Binary(Binary::Multiply, x, x))?;
            return match known {
                Some(2.0) => Ok(square),
                _ => builder.add(Expr::Binary(Binary::Multiply, square, x)),
            };
        }
        let within = if exponent.element == own { own } else { TensorElement::F64 };
        let operands = builder.cast(&[x, y], within)?;
        let power = builder.add(Expr::Binary(Binary::Power, operands[0], operands[1]))?;
        Ok(builder.cast(&[power], own)?[0])
    });
    Ok(vec![computed?])
}
