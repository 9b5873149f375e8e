//! The rows of calls that are timed: of a file, or drawn; as many as the largest call needs.

use crate::args::RowType;
use sched_forest::Float;
use schedc_data::{Expect, Source, Values, read_rows};
use schedc_driver::{Failure, Model};
use schedc_measure::{Numbers, draw};
use std::path::Path;

/// Most numbers that the rows of the largest call may have.
const MOST_NUMBERS: usize = 1 << 28;

/// The rows of the file that is named, or drawn ones. They have the type that is asked for, or that of the file; a model that
/// reads single precision would only round others.
pub fn rows_of(input: Option<&Path>, rows: Option<RowType>, model: &Model) -> Result<Values, Failure> {
    let values = match input {
        Some(input) => read(input, model.forest.num_features)?,
        None => Values::F64(draw(&model.forest)),
    };
    let default = match (&values, model.own_rows) {
        (Values::F32(_), _) | (_, Float::F32) => Float::F32,
        _ => Float::F64,
    };
    Ok(match (rows.map_or(default, Float::from), values) {
        (Float::F32, Values::F64(values)) => Values::F32(values.into_iter().map(|x| x as f32).collect()),
        (Float::F64, Values::F32(values)) => Values::F64(values.into_iter().map(f64::from).collect()),
        (_, values) => values,
    })
}

/// Rows that are drawn for a model, of the type that it reads.
pub fn drawn(model: &Model) -> Values {
    let values = draw(&model.forest);
    match model.own_rows {
        Float::F32 => Values::F32(values.into_iter().map(|x| x as f32).collect()),
        Float::F64 => Values::F64(values),
    }
}

/// The rows of a file.
fn read(input: &Path, features: usize) -> Result<Values, Failure> {
    // Times hardly depend on the order of columns.
    let expect = Expect::unnamed(features).by_position(true);
    let rows = read_rows(&Source::from_argument(input), expect)?;
    if rows.rows == 0 {
        let help = "name a file with at least one row";
        return Err(Failure::usage(format!("{} has no rows to time", input.display()), help));
    }
    Ok(rows.values)
}

/// The rows, as often as they are needed to fill the largest call.
pub fn filled(once: Values, features: usize, largest: usize) -> Result<Numbers, Failure> {
    Ok(match once {
        Values::F32(once) => Numbers::F32(repeated(once, features, largest)?),
        Values::F64(once) => Numbers::F64(repeated(once, features, largest)?),
    })
}

/// Rows repeated until they fill the largest call.
fn repeated<T: Copy>(mut values: Vec<T>, features: usize, largest: usize) -> Result<Vec<T>, Failure> {
    if largest.saturating_mul(features) > MOST_NUMBERS {
        return Err(Failure::usage(
            format!("{largest} rows of {features} features are too many to time in one call"),
            format!("time calls of at most {} rows", MOST_NUMBERS / features),
        ));
    }
    let once = values.len();
    while once > 0 && values.len() < largest * features {
        values.extend_from_within(..once);
    }
    Ok(values)
}

/// The rows in single precision, in which GPUs get them: times do not depend on the last bits.
pub fn narrow(rows: &Numbers) -> Vec<f32> {
    match rows {
        Numbers::F32(values) => values.clone(),
        Numbers::F64(values) => values.iter().map(|x| *x as f32).collect(),
    }
}
