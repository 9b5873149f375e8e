//! Divides a column over one feature into pieces: intervals of the feature on which the column is constant,
//! rises or falls.
//!
//! Correctly rounded arithmetic is monotone: if `x <= y`, then `round(x + c) <= round(y + c)`. So the pieces
//! of an operation follow from the pieces of its operands, by their directions and signs. Bisection over the
//! feature's values, with the column's own operations, finds the exact ends of pieces. Functions such as
//! `exp` and `log` are not proven to be monotone, so they have no rule here.

pub(crate) mod chain;
pub(crate) mod domain;
pub(crate) mod runs;

use chain::FeatureChain;
use runs::{IndexRun, category, in_runs, sign};
use sched_columns::{Binary, ColumnType, ColumnValue, Expr, Unary};
use std::cmp::Ordering;

/// The course of a column over a piece. A column that rises or falls is never NaN, but neighbouring values
/// may be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Course {
    /// One value.
    Constant(ColumnValue),
    /// The values never decrease.
    Rising,
    /// The values never increase.
    Falling,
}

impl Course {
    fn reversed(self) -> Course {
        match self {
            Course::Rising => Course::Falling,
            Course::Falling => Course::Rising,
            constant => constant,
        }
    }

    fn is_constant(self) -> bool {
        matches!(self, Course::Constant(_))
    }
}

/// An interval of a feature's indices. It begins after the end of the preceding piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The last index.
    pub last: i64,
    /// The course of the column.
    pub course: Course,
}

/// The reason why a column has no pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPieces {
    /// The column of the chain whose operation has no rule for its operands.
    pub column: usize,
}

/// Maximum number of pieces of a column, which bounds the time of a search. Tables of 60,000 categories need
/// fewer.
const MOST_PIECES: usize = 1 << 17;

/// Domains with at most this many values are evaluated value by value.
const FEW_VALUES: u64 = 1 << 16;

/// An interval on which each operand has a single course.
#[derive(Clone, Copy)]
struct Interval {
    first: i64,
    last: i64,
    courses: [Course; 3],
}

impl Interval {
    fn piece(&self, course: Course) -> Vec<Piece> {
        vec![Piece { last: self.last, course }]
    }
}

/// The pieces of the chain's last column, ascending.
pub(crate) fn pieces(chain: &mut FeatureChain) -> Result<Vec<Piece>, NoPieces> {
    let mut all: Vec<Vec<Piece>> = Vec::with_capacity(chain.len());
    for column in 0..chain.len() {
        let found = PieceFinder { chain, column, all: &all }.find();
        let found = found.filter(|pieces| pieces.len() <= MOST_PIECES).ok_or(NoPieces { column })?;
        all.push(found);
    }
    Ok(all.pop().unwrap_or_default())
}

/// The search for the pieces of a column, given those of the columns before it.
struct PieceFinder<'a> {
    chain: &'a mut FeatureChain,
    column: usize,
    all: &'a [Vec<Piece>],
}

impl PieceFinder<'_> {
    fn find(&mut self) -> Option<Vec<Piece>> {
        let (low, high) = self.chain.domain.bounds();
        let expr = self.chain.expr(self.column).clone();
        if let Expr::Const(value) = expr {
            return Some(vec![Piece { last: high, course: Course::Constant(value) }]);
        }
        if high.abs_diff(low) < FEW_VALUES {
            let values = (low..=high)
                .map(|last| Piece { last, course: Course::Constant(self.chain.value_at(self.column, last)) });
            return Some(compressed(values.collect()));
        }
        // Sums of many terms have no rule.
        if let Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. } = expr {
            return None;
        }
        let operands: Vec<usize> = expr.operands().map(|operand| operand.index()).collect();
        if operands.is_empty() {
            return Some(vec![Piece { last: high, course: Course::Rising }]);
        }
        let mut found = Vec::new();
        for interval in self.intervals(&operands) {
            let all_constant = interval.courses.iter().all(|course| course.is_constant());
            match all_constant {
                true => found
                    .append(&mut self.constants(&[IndexRun { first: interval.first, last: interval.last }])),
                false => found.append(&mut self.operation(&expr, &operands, interval)?),
            }
            if found.len() > MOST_PIECES {
                return None;
            }
        }
        Some(compressed(self.levelled(found)))
    }

    /// The intervals on which each operand has a single course.
    fn intervals(&self, operands: &[usize]) -> Vec<Interval> {
        let (low, high) = self.chain.domain.bounds();
        let (mut first, mut at) = (low, [0; 3]);
        let mut intervals = Vec::new();
        while first <= high {
            let of = |place: usize| {
                let operand = operands[place.min(operands.len() - 1)];
                self.all[operand][at[place.min(operands.len() - 1)]]
            };
            let pieces = [of(0), of(1), of(2)];
            let last = pieces.iter().map(|piece| piece.last).min().unwrap_or(high);
            intervals.push(Interval { first, last, courses: pieces.map(|piece| piece.course) });
            for (place, operand) in operands.iter().enumerate() {
                at[place] += usize::from(self.all[*operand][at[place]].last == last);
            }
            first = last + 1;
        }
        intervals
    }

    /// The pieces of the column in an interval on which some operand is not constant.
    fn operation(&mut self, expr: &Expr, operands: &[usize], interval: Interval) -> Option<Vec<Piece>> {
        let [course, second, third] = interval.courses;
        match expr {
            Expr::Input { .. } | Expr::Const(_) => None,
            Expr::Unary(op, _) => self.unary(*op, operands[0], interval),
            Expr::Binary(op, _, _) => self.binary(*op, [operands[0], operands[1]], interval),
            Expr::Select { .. } => match course {
                Course::Constant(condition) if condition.is_true() => Some(interval.piece(second)),
                Course::Constant(_) => Some(interval.piece(third)),
                _ => None,
            },
            Expr::Step { .. } => Some(interval.piece(course)),
            Expr::Bit { .. } | Expr::Dot { .. } | Expr::SquaredDistance { .. } | Expr::Trees { .. } => None,
            Expr::Pick { values, .. } => {
                let last = values.len() as i64 - 1;
                self.by(operands[0], interval, |value| match value {
                    ColumnValue::I64(index) => index.clamp(0, last.max(0)),
                    _ => 0,
                })
            }
            Expr::Table { table, .. } => {
                let (rule, count) = (table.rule, table.values.len());
                self.by(operands[0], interval, |value| category(rule, count, value.to_f64()))
            }
        }
    }

    fn unary(&mut self, op: Unary, of: usize, interval: Interval) -> Option<Vec<Piece>> {
        let course = interval.courses[0];
        match op {
            Unary::Cast(ColumnType::Bool) => self.by(of, interval, sign),
            Unary::IsNan => Some(self.constants(&[IndexRun { first: interval.first, last: interval.last }])),
            Unary::Cast(_) | Unary::Floor | Unary::Ceil | Unary::Round => Some(interval.piece(course)),
            Unary::Negate => {
                self.check_overflow(interval, |it, index| it.value(of, index).checked_neg().map(|_| ()))?;
                Some(interval.piece(course.reversed()))
            }
            Unary::Abs | Unary::SquareRoot => {
                self.check_overflow(interval, |it, index| it.value(of, index).checked_abs().map(|_| ()))?;
                let mut found = Vec::new();
                for run in self.runs(of, interval, |value| sign(value) == Ordering::Less)? {
                    let is_negative = sign(self.chain.value_at(of, run.first)) == Ordering::Less;
                    match (op, is_negative) {
                        (_, false) => found.push(Piece { last: run.last, course }),
                        (Unary::Abs, true) => found.push(Piece { last: run.last, course: course.reversed() }),
                        (_, true) => found.append(&mut self.constants(&[run])),
                    }
                }
                Some(found)
            }
            // These functions are not monotone, or not proven to be.
            Unary::Exp
            | Unary::ExpMinusOne
            | Unary::Log
            | Unary::LogOnePlus
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Erf
            | Unary::Sin
            | Unary::Cos
            | Unary::Not => None,
        }
    }

    fn binary(&mut self, op: Binary, [x, y]: [usize; 2], interval: Interval) -> Option<Vec<Piece>> {
        let [of_x, of_y, _] = interval.courses;
        let is_nan = |course| matches!(course, Course::Constant(value) if value.is_nan());
        if op != Binary::Power && (is_nan(of_x) || is_nan(of_y)) {
            return Some(self.constants(&[IndexRun { first: interval.first, last: interval.last }]));
        }
        // The course of a sum, if both terms have the same course or one is constant.
        let together = |x: Course, y: Course| match (x, y) {
            (Course::Constant(value), course) | (course, Course::Constant(value)) => {
                value.to_f64().is_finite().then_some(course)
            }
            _ => (x == y).then_some(x),
        };
        match op {
            Binary::Add | Binary::Subtract => {
                let moved = if op == Binary::Add { of_y } else { of_y.reversed() };
                let course = together(of_x, moved)?;
                self.check_sum_at_ends(interval, [x, y])?;
                // Separate pieces begin at values at which sums of integers overflow.
                let overflow = |it: &mut Self, index| {
                    let (x, y) = (i128::from(it.value(x, index)), i128::from(it.value(y, index)));
                    let exact = if op == Binary::Add { x + y } else { x - y };
                    (exact > i64::MAX.into()).cmp(&(exact < i64::MIN.into()))
                };
                let mut found = Vec::new();
                let mut first = interval.first;
                while first <= interval.last {
                    let key = overflow(self, first);
                    let last = runs::last_with(first, interval.last, |index| overflow(self, index) == key);
                    found.push(Piece { last, course });
                    first = last + 1;
                }
                Some(found)
            }
            Binary::Min | Binary::Max => match (of_x, of_y) {
                (Course::Constant(_), course) | (course, Course::Constant(_)) => Some(interval.piece(course)),
                _ => (of_x == of_y).then(|| interval.piece(of_x)),
            },
            Binary::Multiply | Binary::Divide => self.product(op, [x, y], interval),
            Binary::Less | Binary::LessOrEqual | Binary::Equal => {
                // If one operand is constant, or one rises and the other falls, their difference is monotone.
                if !has_one_order(of_x, of_y) {
                    return None;
                }
                self.comparison([x, y], interval)
            }
            Binary::Power | Binary::And | Binary::Or => None,
        }
    }

    /// The pieces of a product or a quotient, by the signs of both operands.
    fn product(&mut self, op: Binary, [x, y]: [usize; 2], interval: Interval) -> Option<Vec<Piece>> {
        let mut found = Vec::new();
        // Infinite values form separate runs, and so do -0 and 0, since quotients by them differ.
        let class =
            |value: ColumnValue| (sign(value), value.to_f64().is_finite(), value.to_f64().is_sign_negative());
        for by_x in self.runs(x, interval, class)? {
            let part = Interval { first: by_x.first, last: by_x.last, ..interval };
            for run in self.runs(y, part, class)? {
                let part = Interval { first: run.first, last: run.last, ..interval };
                found.append(&mut self.signed_product(op, [x, y], part)?);
            }
        }
        Some(found)
    }

    /// The piece of a product or a quotient in a part where each operand stays positive, negative, infinite
    /// or the same zero.
    fn signed_product(&mut self, op: Binary, [x, y]: [usize; 2], part: Interval) -> Option<Vec<Piece>> {
        let values = [x, y].map(|column| self.chain.value_at(column, part.first));
        let signs = values.map(sign);
        // With zero or infinity, the result is the same for all numbers of one sign.
        if signs.contains(&Ordering::Equal) || values.iter().any(|value| !value.to_f64().is_finite()) {
            return Some(self.constants(&[IndexRun { first: part.first, last: part.last }]));
        }
        let [of_x, of_y, _] = part.courses;
        // The magnitude of the result is monotone if both operands move it in the same direction, or only one
        // moves.
        let grows = match (op, grows(of_x, signs[0]), grows(of_y, signs[1])) {
            (Binary::Multiply, Some(x), Some(y)) => (x == y).then_some(x),
            (Binary::Divide, Some(x), Some(y)) => (x != y).then_some(x),
            (Binary::Divide, None, Some(y)) => Some(!y),
            (_, Some(one), None) | (_, None, Some(one)) => Some(one),
            _ => None,
        }?;
        self.check_overflow(part, |it, index| {
            it.value(x, index).checked_mul(it.value(y, index)).map(|_| ())
        })?;
        let is_positive = signs[0] == signs[1];
        Some(part.piece(if grows == is_positive { Course::Rising } else { Course::Falling }))
    }

    /// Returns a constant piece for each run of indices in which the operands have the same order: less,
    /// equal, greater or unordered.
    fn comparison(&mut self, [x, y]: [usize; 2], interval: Interval) -> Option<Vec<Piece>> {
        let mut runs = Vec::new();
        let order = |it: &mut Self, index| {
            let (x, y) = (it.chain.value_at(x, index), it.chain.value_at(y, index));
            match (x, y) {
                (ColumnValue::I64(x), ColumnValue::I64(y)) => Some(x.cmp(&y)),
                _ => x.to_f64().partial_cmp(&y.to_f64()),
            }
        };
        let mut first = interval.first;
        while first <= interval.last {
            let key = order(self, first);
            let last = runs::last_with(first, interval.last, |index| order(self, index) == key);
            runs.push(IndexRun { first, last });
            first = last + 1;
        }
        Some(self.constants(&runs))
    }

    /// Constant pieces, one for each run of indices at which an operand has the same property.
    fn by<K: PartialEq>(
        &mut self,
        of: usize,
        interval: Interval,
        property: impl Fn(ColumnValue) -> K,
    ) -> Option<Vec<Piece>> {
        let runs = self.runs(of, interval, property)?;
        Some(self.constants(&runs))
    }

    fn runs<K: PartialEq>(
        &mut self,
        of: usize,
        interval: Interval,
        property: impl Fn(ColumnValue) -> K,
    ) -> Option<Vec<IndexRun>> {
        in_runs(self.chain, of, (interval.first, interval.last), property)
    }

    /// Constant pieces with the column's values, for runs on which it is constant.
    fn constants(&mut self, runs: &[IndexRun]) -> Vec<Piece> {
        let value = |run: &IndexRun| Piece {
            last: run.last,
            course: Course::Constant(self.chain.value_at(self.column, run.first)),
        };
        runs.iter().map(value).collect()
    }

    /// The value of a column of integers at an index; 0 for other columns.
    fn value(&mut self, column: usize, index: i64) -> i64 {
        match self.chain.value_at(column, index) {
            ColumnValue::I64(value) => value,
            _ => 0,
        }
    }

    /// `None` if an operation on integers overflows at an end of the interval. Its other values lie between
    /// those at the ends.
    fn check_overflow(
        &mut self,
        interval: Interval,
        mut checked: impl FnMut(&mut Self, i64) -> Option<()>,
    ) -> Option<()> {
        checked(self, interval.first)?;
        checked(self, interval.last)
    }

    /// `None` if both operands of a sum move, and may be infinities of opposite signs.
    fn check_sum_at_ends(&mut self, interval: Interval, operands: [usize; 2]) -> Option<()> {
        let moving = interval.courses[..2].iter().filter(|course| !course.is_constant()).count();
        let is_finite = |it: &mut Self, column| {
            [interval.first, interval.last]
                .iter()
                .all(|&at| it.chain.value_at(column, at).to_f64().is_finite())
        };
        (moving < 2 || operands.into_iter().any(|column| is_finite(self, column))).then_some(())
    }

    /// Turns pieces with equal values at both ends into constants.
    fn levelled(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut first = self.chain.domain.bounds().0;
        let level = |mut piece: Piece| {
            let ends = [first, piece.last].map(|index| self.chain.value_at(self.column, index));
            first = piece.last + 1;
            // Zeros are left out: between two equal zeros there may be zeros of the other sign.
            if !piece.course.is_constant() && ends[0] == ends[1] && ends[0].is_true() {
                piece.course = Course::Constant(ends[0]);
            }
            piece
        };
        pieces.into_iter().map(level).collect()
    }
}

/// Whether the magnitude of a value that keeps its sign grows; `None` if the value is constant.
fn grows(course: Course, sign: Ordering) -> Option<bool> {
    match course {
        Course::Constant(_) => None,
        Course::Rising => Some(sign == Ordering::Greater),
        Course::Falling => Some(sign == Ordering::Less),
    }
}

/// Whether the order of two values changes at most once: one of them is constant, or one rises and the other
/// falls.
fn has_one_order(x: Course, y: Course) -> bool {
    x != y || x.is_constant()
}

/// Joins neighbouring pieces with the same constant.
fn compressed(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match kept.last_mut() {
            Some(before) if before.course == piece.course && piece.course.is_constant() => {
                before.last = piece.last;
            }
            _ => kept.push(piece),
        }
    }
    kept.shrink_to_fit();
    kept
}
