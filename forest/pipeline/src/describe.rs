//! Descriptions of columns for `schedc inspect`.

use crate::pipeline::PipelineInput;
use sched_columns::{Binary, ColumnId, Columns, Expr, Unary};
use std::collections::HashSet;

/// Maximum number of features that a description names. Of more, it names two and counts the others.
const MOST_NAMES: usize = 4;

/// Maximum number of operations that a description lists.
const MOST_WORDS: usize = 6;

/// A description of a column: its features and the operations that compute it, such as `age: subtract,
/// divide`.
pub(crate) fn describe(inputs: &[PipelineInput], columns: &Columns, column: ColumnId) -> String {
    let (mut features, mut words): (Vec<u32>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for needed in columns.needed_for(&[column]) {
        let word = match columns.expr(needed) {
            Expr::Input { feature, .. } => {
                if seen.insert(*feature) {
                    features.push(*feature);
                }
                continue;
            }
            Expr::Const(_) => continue,
            Expr::Unary(op, _) => unary(*op),
            Expr::Binary(op, _, _) => binary(*op),
            Expr::Select { .. } => "select",
            Expr::Step { .. } => "intervals",
            Expr::Table { .. } | Expr::Pick { .. } => "table",
            Expr::Bit { .. } => "bit",
            Expr::Dot { .. } => "weighted sum",
            Expr::SquaredDistance { .. } => "squared distance",
            Expr::Trees { .. } => "trees",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.len() > MOST_WORDS {
        words.truncate(MOST_WORDS);
        words.push("..");
    }
    let name = |feature: &u32| match inputs.get(*feature as usize).map(|input| input.name.as_str()) {
        None | Some("") => format!("feature {feature}"),
        Some(name) => name.to_owned(),
    };
    let features = match features.as_slice() {
        [] => "no feature".to_owned(),
        few if few.len() <= MOST_NAMES => few.iter().map(name).collect::<Vec<_>>().join(", "),
        [first, second, rest @ ..] => format!("{}, {} and {} more", name(first), name(second), rest.len()),
        [only] => name(only),
    };
    if words.is_empty() { features } else { format!("{features}: {}", words.join(", ")) }
}

fn unary(op: Unary) -> &'static str {
    match op {
        Unary::Cast(_) => "cast",
        Unary::Negate => "negate",
        Unary::Abs => "abs",
        Unary::SquareRoot => "square root",
        Unary::Exp => "exp",
        Unary::ExpMinusOne => "exp(x) - 1",
        Unary::Log => "log",
        Unary::LogOnePlus => "log(1 + x)",
        Unary::Tanh => "tanh",
        Unary::Logistic => "logistic",
        Unary::Erf => "erf",
        Unary::Sin => "sin",
        Unary::Cos => "cos",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::Round => "round",
        Unary::IsNan => "is missing",
        Unary::Not => "not",
    }
}

fn binary(op: Binary) -> &'static str {
    match op {
        Binary::Add => "add",
        Binary::Subtract => "subtract",
        Binary::Multiply => "multiply",
        Binary::Divide => "divide",
        Binary::Power => "power",
        Binary::Min => "min",
        Binary::Max => "max",
        Binary::Less | Binary::LessOrEqual => "compare",
        Binary::Equal => "equal",
        Binary::And => "and",
        Binary::Or => "or",
    }
}
