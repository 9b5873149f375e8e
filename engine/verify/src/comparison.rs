//! Compares predictions of other programs with the walker's.

use crate::expected::ExpectedResults;
use crate::origin::{Divergence, bits_text, divergence};
use crate::rows::{count, row_of};
use sched_diagnostics::internal;
use sched_forest::{Float, Forest};
use sched_llvm::runtime::OutputKind;
use schedc_data::FeatureValues;
use schedc_driver::Failure;
use serde_json::{Value, json};

/// Default tolerances of numbers in single and in double precision, relative to numbers above 1 and else
/// absolute.
const TOLERANCES: [f64; 2] = [1e-6, 1e-9];

/// Predictions of another program.
pub struct OtherPredictions {
    /// The program or the file of the predictions.
    pub source: String,
    /// The output.
    pub kind: OutputKind,
    /// The predictions.
    pub values: FeatureValues,
}

/// The result of a comparison.
pub struct OutputComparison {
    /// The program or the file of the predictions.
    pub source: String,
    /// The output.
    pub kind: OutputKind,
    /// Number of results.
    pub numbers: usize,
    /// Number of equal results.
    pub equal: usize,
    /// Number of results beyond the tolerance.
    pub too_far_off: usize,
    /// The largest difference.
    pub largest_difference: f64,
    /// The tolerance: relative for results above 1, else absolute.
    pub tolerance: f64,
    /// The first result beyond the tolerance.
    pub first: Option<FirstDifference>,
}

/// The first result beyond the tolerance.
pub struct FirstDifference {
    /// The row's index.
    pub row: usize,
    /// The column of the output.
    pub column: usize,
    /// The other program's result.
    pub theirs: f64,
    /// The walker's result.
    pub ours: f64,
    /// The node at which the walks diverge, if the output is leaves.
    pub divergence: Option<Divergence>,
}

/// Compares predictions of another program for some rows with the walker's. `tolerance` replaces the default
/// tolerances.
///
/// # Errors
/// When the walker refuses the rows, which is a bug.
pub fn compare(
    forest: &Forest,
    rows: &FeatureValues,
    others: Vec<OtherPredictions>,
    tolerance: Option<f64>,
) -> Result<Vec<OutputComparison>, Failure> {
    let expected = ExpectedResults::of(forest, rows)
        .map_err(|error| Failure::new(internal::IMPOSSIBLE, error, internal::BUG_REPORT_HELP))?;
    Ok(others
        .into_iter()
        .map(|theirs| OutputComparison::new(forest, rows, &expected, theirs, tolerance))
        .collect())
}

impl OutputComparison {
    /// Compares each number with the walker's at the same position. Numbers in single precision are compared
    /// in single precision.
    fn new(
        forest: &Forest,
        rows: &FeatureValues,
        expected: &ExpectedResults,
        theirs: OtherPredictions,
        requested: Option<f64>,
    ) -> OutputComparison {
        let ours = expected.numbers(theirs.kind);
        let (values, narrow): (Vec<f64>, bool) = match theirs.values {
            FeatureValues::F32(values) => (values.into_iter().map(f64::from).collect(), true),
            FeatureValues::F64(values) => (values, false),
        };
        let exact = theirs.kind.element().is_whole();
        let is_single = narrow || forest.types.output == Float::F32;
        let usual = TOLERANCES[usize::from(!is_single)];
        let tolerance = if exact { 0.0 } else { requested.unwrap_or(usual) };
        let columns = (ours.len() / count(rows, forest.num_features).max(1)).max(1);
        let mut comparison = OutputComparison {
            source: theirs.source,
            kind: theirs.kind,
            numbers: ours.len(),
            equal: 0,
            too_far_off: 0,
            largest_difference: 0.0,
            tolerance,
            first: None,
        };
        for (at, (theirs, ours)) in values.iter().zip(&ours).enumerate() {
            let ours = if narrow { f64::from(*ours as f32) } else { *ours };
            let distance = (theirs - ours).abs();
            if theirs.to_bits() == ours.to_bits() || (theirs.is_nan() && ours.is_nan()) || *theirs == ours {
                comparison.equal += 1;
                continue;
            }
            // The distance to a NaN, or between infinities, is NaN; it counts as infinite.
            comparison.largest_difference =
                comparison.largest_difference.max(if distance.is_nan() { f64::INFINITY } else { distance });
            if distance <= tolerance * ours.abs().max(1.0) {
                continue;
            }
            comparison.too_far_off += 1;
            comparison.first.get_or_insert_with(|| {
                let (row, column) = (at / columns, at % columns);
                let divergence = (comparison.kind == OutputKind::Leaf).then(|| {
                    let values = row_of(rows, forest.num_features, row);
                    divergence(forest, &forest.trees[column], &values, ours as u32, *theirs as u32)
                });
                FirstDifference { row, column, theirs: *theirs, ours, divergence }
            });
        }
        comparison
    }

    /// Whether all results are within the tolerance.
    pub fn is_equal(&self) -> bool {
        self.too_far_off == 0
    }

    /// The comparison as JSON.
    pub fn to_json(&self) -> Value {
        let first = self.first.as_ref().map(|first| {
            json!({
                "row": first.row,
                "column": first.column,
                "theirs": { "value": format!("{:?}", first.theirs), "bits": bits_text(first.theirs) },
                "ours": { "value": format!("{:?}", first.ours), "bits": bits_text(first.ours) },
            })
        });
        json!({
            "who": self.source,
            "output": self.kind.word(),
            "numbers": self.numbers,
            "equal": self.equal,
            "too_far_off": self.too_far_off,
            "largest_difference": self.largest_difference,
            "tolerance": self.tolerance,
            "first": first,
        })
    }
}
