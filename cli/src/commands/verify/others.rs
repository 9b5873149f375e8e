//! Compares predictions of other programs with the walker's.

use super::expected::Expected;
use super::found::{Test, Turn, bits, turn};
use super::run::row_of;
use sched_forest::{Float, Forest};
use sched_llvm::runtime::Kind;
use schedc_data::Values;
use serde_json::{Value, json};
use std::fmt::Write;

/// Default tolerances of numbers in single and in double precision, relative to numbers above 1 and else
/// absolute.
const TOLERANCES: [f64; 2] = [1e-6, 1e-9];

/// Predictions of another program.
pub struct Theirs {
    /// The program or the file of the predictions.
    pub who: String,
    /// The output.
    pub kind: Kind,
    /// The predictions.
    pub values: Values,
}

/// The result of a comparison.
pub struct Comparison {
    who: String,
    kind: Kind,
    numbers: usize,
    /// Number of equal results.
    same: usize,
    /// Number of results beyond the tolerance.
    off: usize,
    /// The largest difference.
    largest: f64,
    tolerance: f64,
    first: Option<First>,
}

/// The first result beyond the tolerance.
struct First {
    row: usize,
    column: usize,
    theirs: f64,
    ours: f64,
    /// The node at which the walks diverge, if the output is leaves.
    turn: Option<Turn>,
}

impl Comparison {
    /// Compares numbers with the same number of the walker's. Numbers in single precision are compared in
    /// single precision.
    pub fn new(
        forest: &Forest,
        rows: &Values,
        expected: &Expected,
        theirs: Theirs,
        asked: Option<f64>,
    ) -> Comparison {
        let ours = expected.numbers(theirs.kind);
        let (values, narrow): (Vec<f64>, bool) = match theirs.values {
            Values::F32(values) => (values.into_iter().map(f64::from).collect(), true),
            Values::F64(values) => (values, false),
        };
        let exact = theirs.kind.element().is_whole();
        let is_single = narrow || forest.types.output == Float::F32;
        let usual = TOLERANCES[usize::from(!is_single)];
        let tolerance = if exact { 0.0 } else { asked.unwrap_or(usual) };
        let columns = (ours.len() / rows_in(rows, forest).max(1)).max(1);
        let mut comparison = Comparison {
            who: theirs.who,
            kind: theirs.kind,
            numbers: ours.len(),
            same: 0,
            off: 0,
            largest: 0.0,
            tolerance,
            first: None,
        };
        for (at, (theirs, ours)) in values.iter().zip(&ours).enumerate() {
            let ours = if narrow { f64::from(*ours as f32) } else { *ours };
            let distance = (theirs - ours).abs();
            if theirs.to_bits() == ours.to_bits() || (theirs.is_nan() && ours.is_nan()) || *theirs == ours {
                comparison.same += 1;
                continue;
            }
            // The distance to a NaN, or between infinities, is NaN; it counts as infinite.
            comparison.largest =
                comparison.largest.max(if distance.is_nan() { f64::INFINITY } else { distance });
            if distance <= tolerance * ours.abs().max(1.0) {
                continue;
            }
            comparison.off += 1;
            comparison.first.get_or_insert_with(|| {
                let (row, column) = (at / columns, at % columns);
                let turn = (comparison.kind == Kind::Leaf).then(|| {
                    let values = row_of(rows, forest.num_features, row);
                    turn(forest, &forest.trees[column], &values, ours as u32, *theirs as u32)
                });
                First { row, column, theirs: *theirs, ours, turn }
            });
        }
        comparison
    }

    /// Whether all results are within the tolerance.
    pub fn is_equal(&self) -> bool {
        self.off == 0
    }

    /// Writes the comparison as text.
    pub fn write(&self, out: &mut String) -> std::fmt::Result {
        let Comparison { who, numbers, same, off, largest, .. } = self;
        write!(out, "  {who}: {} of {numbers} {} are equal", same, self.kind.plural())?;
        let is_number = !self.kind.element().is_whole();
        if same < numbers && is_number {
            write!(out, ", the others off by {largest:e} at most")?;
        }
        writeln!(out)?;
        let Some(first) = &self.first else { return Ok(()) };
        match is_number {
            true => {
                writeln!(out, "    {off} are too far off (more than {:e} for each unit)", self.tolerance)?
            }
            false => writeln!(out, "    {off} differ")?,
        }
        writeln!(
            out,
            "    row {}, column {}: {:?} ({}), not {:?} ({})",
            first.row,
            first.column,
            first.theirs,
            bits(first.theirs),
            first.ours,
            bits(first.ours)
        )?;
        if let Some(Turn { tree, node: Some(test), .. }) = &first.turn {
            let Test { depth, feature, value, test, left, .. } = test;
            let side = if *left { "left" } else { "right" };
            writeln!(
                out,
                "    tree {tree}, depth {depth}: feature {feature} is {value:?} ({}), and goes {side} here \
                 at `{test}`",
                bits(*value)
            )?;
        }
        Ok(())
    }

    /// The comparison as JSON.
    pub fn to_json(&self) -> Value {
        let first = self.first.as_ref().map(|first| {
            json!({
                "row": first.row,
                "column": first.column,
                "theirs": { "value": format!("{:?}", first.theirs), "bits": bits(first.theirs) },
                "ours": { "value": format!("{:?}", first.ours), "bits": bits(first.ours) },
            })
        });
        json!({
            "who": self.who,
            "output": self.kind.word(),
            "numbers": self.numbers,
            "equal": self.same,
            "too_far_off": self.off,
            "largest_difference": self.largest,
            "tolerance": self.tolerance,
            "first": first,
        })
    }
}

fn rows_in(rows: &Values, forest: &Forest) -> usize {
    let count = match rows {
        Values::F32(values) => values.len(),
        Values::F64(values) => values.len(),
    };
    count / forest.num_features.max(1)
}
