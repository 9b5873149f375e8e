//! Base margins of the rows: columns of the input, or a separate array.

use crate::args::Predict;
use sched_llvm::PackedRows;
use sched_llvm::runtime::Dtype;
use schedc_data::{Batch, DataError, DataSource, Expect, Reading, RowStream};
use schedc_driver::Failure;
use std::path::Path;

/// Most rows of a separate array that are read at a time.
const PIECE_ROWS: usize = 1 << 16;

/// The origin of a base margin, as an argument names it.
pub enum BaseMarginOrigin {
    /// Columns of the input.
    Columns(Vec<String>),
    /// A file.
    File(String),
}

impl BaseMarginOrigin {
    /// The origin that the argument names: an array if the name ends in .npy or .npz, otherwise columns,
    /// separated by commas.
    pub fn of(args: &Predict) -> Option<BaseMarginOrigin> {
        let named = args.base_margin.as_ref()?;
        let is_array = Path::new(named).extension().is_some_and(|end| end == "npy" || end == "npz");
        Some(match is_array {
            true => BaseMarginOrigin::File(named.clone()),
            false => BaseMarginOrigin::Columns(named.split(',').map(str::to_owned).collect()),
        })
    }

    /// The columns of the input that hold the base margin.
    pub fn columns(&self) -> &[String] {
        match self {
            BaseMarginOrigin::Columns(columns) => columns,
            BaseMarginOrigin::File(_) => &[],
        }
    }

    /// Opens the source for a model of `margins` margins.
    pub fn open(self, margins: usize, args: &Predict) -> Result<BaseMargin, Failure> {
        match self {
            BaseMarginOrigin::Columns(columns) if columns.len() != margins => Err(Failure::usage(
                format!(
                    "--base-margin needs a column for each margin: it names {}, the model has {margins}",
                    columns.len()
                ),
                "name one column of the input for each margin, with commas between them, or a .npy file",
            )),
            BaseMarginOrigin::Columns(_) => Ok(BaseMargin { array: None, margins, rows: 0 }),
            BaseMarginOrigin::File(_) if args.shard.is_some() => Err(Failure::usage(
                "--base-margin names an array for all rows, and --shard predicts a part of them",
                "put the base margin into a column of the input",
            )),
            BaseMarginOrigin::File(name) => {
                let stream = RowStream::open(
                    &DataSource::Path(name.clone().into()),
                    Expect::unnamed(margins),
                    Reading::default(),
                )?;
                Ok(BaseMargin { array: Some((stream, name)), margins, rows: 0 })
            }
        }
    }
}

/// A base margin that is read with the rows.
pub struct BaseMargin {
    /// The array with its name; `None` if columns of the input hold the base margin.
    array: Option<(RowStream<'static>, String)>,
    margins: usize,
    /// Number of rows read.
    rows: u64,
}

/// The base margin of a batch, in the type of the model's sums.
pub enum BatchBaseMargin {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl BatchBaseMargin {
    /// The values in the form of a call's argument.
    pub fn as_rows(&self) -> PackedRows<'_> {
        match self {
            BatchBaseMargin::F32(values) => PackedRows::F32(values),
            BatchBaseMargin::F64(values) => PackedRows::F64(values),
        }
    }
}

impl BaseMargin {
    /// The base margin of a batch, for sums of type `element`.
    pub fn next(&mut self, batch: &Batch, element: Dtype) -> Result<BatchBaseMargin, Failure> {
        let values = match &mut self.array {
            None => batch.beside.clone(),
            Some((stream, name)) => {
                let mut values = Vec::new();
                let mut lacking = batch.rows;
                while lacking > 0 {
                    let Some(piece) = stream.next(lacking.min(PIECE_ROWS))? else {
                        return Err(length(name, &format!("there are only {} rows in it", self.rows)));
                    };
                    lacking -= piece.rows;
                    self.rows += piece.rows as u64;
                    values.extend(piece.values.into_f64());
                }
                if values.iter().any(|value| !value.is_finite()) {
                    return Err(length(name, "not all of its numbers are finite"));
                }
                values
            }
        };
        debug_assert_eq!(values.len(), batch.rows * self.margins);
        Ok(match element {
            Dtype::F64 => BatchBaseMargin::F64(values),
            _ => BatchBaseMargin::F32(values.into_iter().map(|value| value as f32).collect()),
        })
    }

    /// Refuses an array with more rows than the input. Call it after the last batch.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let Some((stream, name)) = &mut self.array else { return Ok(()) };
        match stream.next(1)? {
            Some(_) => Err(length(name, "there are more rows in it than in the input")),
            None => Ok(()),
        }
    }
}

fn length(name: &str, message: &str) -> Failure {
    DataError::base_margin(name, message).into()
}
