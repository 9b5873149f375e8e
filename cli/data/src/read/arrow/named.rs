//! Columns of names, which become the codes of a model's categories.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float32Array};
use arrow_schema::{DataType, Field};

use super::{damaged, quoted};
use crate::error::DataError;
use crate::read::categories::Lookup;

/// The column of a feature that holds names.
pub(super) struct NamedColumn<'a> {
    lookup: Lookup<'a>,
    /// What its parts are before they become codes.
    data_type: DataType,
    /// Its number and name.
    column: usize,
    name: String,
}

/// How a feature's column gets its codes: text, and what has a dictionary. `None` for a column of codes, or of a type that has
/// none.
pub(super) fn column_of_names<'a>(
    field: &Field,
    column: usize,
    lookup: Option<Lookup<'a>>,
) -> Option<NamedColumn<'a>> {
    let lookup = lookup?;
    let is_name = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Boolean => lookup.of_truth(true).or(lookup.of_truth(false)).is_some(),
        DataType::Dictionary(_, values) => is_value(values),
        _ => false,
    };
    let data_type = field.data_type().clone();
    is_name.then(|| NamedColumn { lookup, data_type, column, name: field.name().clone() })
}

/// Whether a dictionary of these values has names.
fn is_value(data_type: &DataType) -> bool {
    let texts = matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean | DataType::Null
    );
    texts || data_type.is_integer() || data_type.is_floating()
}

impl NamedColumn<'_> {
    /// The codes of a part of the column, of which `before` rows have been read.
    pub(super) fn codes(&self, part: &ArrayRef, before: u64, source: &str) -> Result<ArrayRef, DataError> {
        let contradicts =
            || damaged(source, &format!("column {} has a type that contradicts itself", quoted(&self.name)));
        if *part.data_type() != self.data_type {
            return Err(damaged(
                source,
                &format!("a part of column {} is of another kind", quoted(&self.name)),
            ));
        }
        let (values, places) = match part.as_any_dictionary_opt() {
            Some(dictionary) => (dictionary.values(), Some(dictionary.normalized_keys())),
            None => (part, None),
        };
        // What a dictionary holds is looked up once; only what rows refer to has to be known.
        let known =
            places.as_ref().map(|_| (0..values.len()).map(|at| self.code(values, at)).collect::<Vec<_>>());
        let mut codes = Vec::with_capacity(part.len());
        for row in 0..part.len() {
            if part.is_null(row) {
                codes.push(f32::NAN);
                continue;
            }
            let at = places.as_ref().map_or(Some(row), |places| places.get(row).copied());
            let at = at.ok_or_else(contradicts)?;
            let code = match &known {
                Some(known) => known.get(at).ok_or_else(contradicts)?.clone(),
                None => self.code(values, at),
            };
            match code.ok_or_else(contradicts)? {
                Ok(code) => codes.push(code as f32),
                Err(text) => return Err(self.refused(&text, before + row as u64 + 1, source)),
            }
        }
        Ok(Arc::new(Float32Array::from(codes)))
    }

    /// The code of a value; its text if it has none, and nothing if it is of no type that has names.
    fn code(&self, values: &ArrayRef, at: usize) -> Option<Result<f64, String>> {
        if values.is_null(at) || *values.data_type() == DataType::Null {
            return Some(Ok(f64::NAN));
        }
        let of = |code: Option<f64>, text: &dyn Fn() -> String| {
            Some(code.or_else(|| self.lookup.unseen()).ok_or_else(text))
        };
        let text = |text: &str| of(self.lookup.of_text(text), &|| text.to_owned());
        let integer = |number: i64| of(self.lookup.of_integer(number), &|| number.to_string());
        let number = |number: f64| match number.is_nan() {
            true => Some(Ok(f64::NAN)),
            false => of(self.lookup.of_number(number), &|| number.to_string()),
        };
        match values.data_type() {
            DataType::Utf8 => text(values.as_string_opt::<i32>()?.value(at)),
            DataType::LargeUtf8 => text(values.as_string_opt::<i64>()?.value(at)),
            DataType::Utf8View => text(values.as_string_view_opt()?.value(at)),
            DataType::Boolean => {
                let truth = values.as_boolean_opt()?.value(at);
                of(self.lookup.of_truth(truth), &|| truth.to_string())
            }
            DataType::Int8 => integer(i64::from(values.as_primitive_opt::<Int8Type>()?.value(at))),
            DataType::Int16 => integer(i64::from(values.as_primitive_opt::<Int16Type>()?.value(at))),
            DataType::Int32 => integer(i64::from(values.as_primitive_opt::<Int32Type>()?.value(at))),
            DataType::Int64 => integer(values.as_primitive_opt::<Int64Type>()?.value(at)),
            DataType::UInt8 => integer(i64::from(values.as_primitive_opt::<UInt8Type>()?.value(at))),
            DataType::UInt16 => integer(i64::from(values.as_primitive_opt::<UInt16Type>()?.value(at))),
            DataType::UInt32 => integer(i64::from(values.as_primitive_opt::<UInt32Type>()?.value(at))),
            DataType::UInt64 => {
                let value = values.as_primitive_opt::<UInt64Type>()?.value(at);
                i64::try_from(value).map_or_else(|_| number(value as f64), integer)
            }
            DataType::Float16 => number(values.as_primitive_opt::<Float16Type>()?.value(at).to_f64()),
            DataType::Float32 => number(f64::from(values.as_primitive_opt::<Float32Type>()?.value(at))),
            DataType::Float64 => number(values.as_primitive_opt::<Float64Type>()?.value(at)),
            _ => None,
        }
    }

    fn refused(&self, text: &str, row: u64, source: &str) -> DataError {
        let (code, message, help) = self.lookup.refusal(text);
        DataError::new(code, source, format!("{message}, in row {row} of those that are read"))
            .column(self.column + 1, Some(self.name.clone()))
            .help(help)
    }
}
