//! Tables: a number for each piece of a feature's values, and the column that looks it up.
//!
//! A table with few pieces becomes a chain of comparisons, which runs in vectors of rows or columns. A table
//! of single whole numbers is looked up by category. Any other table is looked up by the number of edges that
//! a value reaches.

use crate::fault::{PassFault, seeded};
use crate::pieces::domain::FeatureDomain;
use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, OperandTypeError, Ties,
    Unary,
};
use sched_forest::{CategoryRule, Float};
use std::sync::Arc;

/// Maximum number of edges of a chain of comparisons. On Zen 5 each edge takes 0.026 ns a row in calls of 64
/// rows (0.048 ns with AVX2), and a look-up 1.2 ns. In calls of one row, each edge takes 1.6 ns for 20
/// features.
const MOST_COMPARED: usize = 32;

/// Work of a look-up in operations: it takes as long as [`MOST_COMPARED`] comparisons and selects, since its
/// gather loads lane by lane.
pub(super) const LOOK_UP_WORK: usize = 2 * MOST_COMPARED;

/// Maximum number of entries of a table by category, which takes 512 KB. A feature may have a few large
/// numbers.
const MOST_ENTRIES: usize = 1 << 16;

/// A number for each value of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entries {
    /// The feature.
    pub feature: u32,
    /// All values that the feature can have, except for a missing one.
    pub domain: FeatureDomain,
    /// Last index of each piece in the feature's domain, ascending, and its number. Neighbouring pieces have
    /// different numbers.
    pub pieces: Vec<(i64, f64)>,
    /// The number of a missing value.
    pub missing: f64,
}

impl Entries {
    /// Makes the table of a feature from its pieces: the last index of each, and the table's value on it.
    /// `rows` is the type of rows. `None` if -0 and 0 have different values, or without pieces.
    pub fn new(
        of: (u32, FeatureDomain),
        rows: Float,
        all: impl Iterator<Item = (i64, f64)>,
        missing: f64,
    ) -> Option<Entries> {
        Entries::of_pieces(of, all, missing)?.with_few_codes_as_numbers(rows)
    }

    fn of_pieces(
        (feature, domain): (u32, FeatureDomain),
        all: impl Iterator<Item = (i64, f64)>,
        missing: f64,
    ) -> Option<Entries> {
        let mut pieces: Vec<(i64, f64)> = Vec::new();
        for (last, number) in all {
            match pieces.last_mut() {
                Some(before) if before.1.to_bits() == number.to_bits() => before.0 = last,
                _ => pieces.push((last, number)),
            }
        }
        let (_, ends) = pieces.split_last()?;
        let are_known = ends.iter().all(|(last, _)| domain.can_split_after(*last));
        are_known.then_some(Entries { feature, domain, pieces, missing })
    }

    /// For a feature with few codes, a table over all numbers, so that comparisons can find the pieces.
    /// Numbers that are no code get the entry of unknown codes.
    fn with_few_codes_as_numbers(self, rows: Float) -> Option<Entries> {
        let numbers = FeatureDomain::Float(rows);
        match self.domain {
            FeatureDomain::Codes { count } if count as usize * 2 <= MOST_COMPARED => {}
            _ => return Some(self),
        }
        let other = self.pieces[0].1;
        let mut pieces = Vec::new();
        for (first, last, number) in self.intervals().skip(1) {
            for code in first..=last {
                let code = numbers.index(code as f64);
                // Both -0 and 0 are code 0.
                let before = if code == 0 { code - 2 } else { code - 1 };
                pieces.extend([(before, other), (code, number)]);
            }
        }
        pieces.push((numbers.bounds().1, other));
        Entries::of_pieces((self.feature, numbers), pieces.into_iter(), self.missing)
    }

    /// Work of the column in operations.
    pub fn work(&self) -> usize {
        let edges = self.edges();
        match self.is_compared() {
            true => 2 * edges + usize::from(self.has_missing()) * 2,
            false if self.categories().is_some() => LOOK_UP_WORK,
            false => 2 * edges + LOOK_UP_WORK,
        }
    }

    fn edges(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Whether the table becomes a chain of comparisons.
    fn is_compared(&self) -> bool {
        self.edges() <= MOST_COMPARED && !matches!(self.domain, FeatureDomain::Codes { .. })
    }

    /// Whether missing values have another number than the first piece. A chain of comparisons gives NaN the
    /// number of the first piece.
    fn has_missing(&self) -> bool {
        self.pieces[0].1.to_bits() != self.missing.to_bits()
    }

    /// The first index, the last index and the number of each piece.
    fn intervals(&self) -> impl Iterator<Item = (i64, i64, f64)> {
        let firsts = [self.domain.bounds().0].into_iter().chain(self.pieces.iter().map(|(last, _)| last + 1));
        firsts.zip(&self.pieces).map(|(first, (last, number))| (first, *last, *number))
    }

    /// The entry of each whole number from 0 on, and the entry of all other values. `None` if pieces are not
    /// single whole numbers.
    fn categories(&self) -> Option<(Vec<f64>, f64)> {
        let other = self.pieces[0].1;
        let mut values = match self.domain {
            FeatureDomain::Codes { count } => vec![other; count as usize],
            _ => Vec::new(),
        };
        for (first, last, number) in self.intervals() {
            if number.to_bits() == other.to_bits() {
                continue;
            }
            let [from, to] = [first, last].map(|index| self.domain.value(index));
            let is_single = from == to && from == from.trunc();
            let is_fit = from >= 0.0 && to < MOST_ENTRIES as f64;
            if !is_fit || (matches!(self.domain, FeatureDomain::Float(_)) && !is_single) {
                return None;
            }
            values.resize(values.len().max(to as usize + 1), other);
            values[from as usize..=to as usize].fill(number);
        }
        Some((values, other))
    }

    /// The column that looks up the numbers, of the type `float`. A chain of comparisons is extended to
    /// `chain` comparisons if that is not much longer, since columns of the same form share code.
    ///
    /// # Errors
    /// Never, if `x` is a feature in the type of rows.
    pub fn column(
        self,
        columns: &mut Columns,
        x: ColumnId,
        (float, chain): (Float, usize),
    ) -> Result<ColumnId, OperandTypeError> {
        let float: ColumnType = float.into();
        let number = |value: f64| ColumnValue::F64(value).cast(float);
        let entries = self.seeded();
        if !entries.is_compared()
            && let Some((values, other)) = entries.categories()
        {
            let values = values.into_iter().map(number).collect();
            let (other, missing) = (number(other), number(entries.missing));
            let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing };
            return columns.add(Expr::Table { of: x, table: Arc::new(table) });
        }
        let edges = entries.intervals().skip(1).map(|(first, _, _)| entries.domain.value(first) + 0.0);
        let numbers = entries.intervals().map(|(_, _, number)| number);
        let found = match entries.is_compared() {
            true => {
                let mut steps: Vec<(f64, f64)> = edges.zip(numbers.skip(1)).collect();
                let last = steps.last().copied();
                steps.extend(
                    last.filter(|_| is_near(steps.len(), chain))
                        .into_iter()
                        .cycle()
                        .take(chain - steps.len()),
                );
                let first = columns.constant(number(entries.pieces[0].1));
                compared(columns, x, first, &steps, float)?
            }
            false => {
                let edges = Arc::new(Edges { at: edges.collect(), ties: Ties::Above });
                let reached = columns.add(Expr::Step { of: x, edges })?;
                columns.add(Expr::Pick { of: reached, values: numbers.map(number).collect() })?
            }
        };
        if !entries.has_missing() {
            return Ok(found);
        }
        let condition = columns.add(Expr::Unary(Unary::IsNan, x))?;
        let then = columns.constant(number(entries.missing));
        columns.add(Expr::Select { condition, then, otherwise: found })
    }

    /// The entry of the value with this index in the feature's domain. `None` behind the last piece.
    pub fn at(&self, index: i64) -> Option<f64> {
        let piece = self.pieces.partition_point(|(last, _)| *last < index);
        self.pieces.get(piece).map(|(_, number)| *number)
    }

    /// The table with the seeded fault, if one is switched on.
    pub fn seeded(mut self) -> Entries {
        let count = self.pieces.len();
        if seeded(PassFault::TableEdgeBeside) && count > 1 {
            self.pieces[0].0 += 1;
        }
        if seeded(PassFault::TableEntriesSwapped) && count > 1 {
            let [before, last] = [count - 2, count - 1].map(|at| self.pieces[at].1);
            (self.pieces[count - 2].1, self.pieces[count - 1].1) = (last, before);
        }
        if seeded(PassFault::TableForgetsMissing) {
            self.missing = self.pieces[0].1;
        }
        self
    }
}

/// The length of the longest chain of comparisons of some tables.
pub(super) fn longest_chain<'a>(all: impl Iterator<Item = &'a Entries>) -> usize {
    all.filter(|entries| entries.is_compared()).map(Entries::edges).max().unwrap_or(0)
}

/// Whether a chain of comparisons may be extended to the longest one: that is at most a third longer.
fn is_near(edges: usize, longest: usize) -> bool {
    longest * 3 <= edges * 4
}

/// A chain of comparisons: the number of the last edge that a value reaches, or `first` if it reaches none.
fn compared(
    columns: &mut Columns,
    x: ColumnId,
    first: ColumnId,
    steps: &[(f64, f64)],
    float: ColumnType,
) -> Result<ColumnId, OperandTypeError> {
    let of_rows = columns.column_type(x);
    steps.iter().try_fold(first, |otherwise, (edge, number)| {
        let edge = columns.constant(ColumnValue::F64(*edge).cast(of_rows));
        let condition = columns.add(Expr::Binary(Binary::LessOrEqual, edge, x))?;
        let then = columns.constant(ColumnValue::F64(*number).cast(float));
        columns.add(Expr::Select { condition, then, otherwise })
    })
}
