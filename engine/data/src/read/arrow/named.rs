//! Columns of names, which become the codes of a model's categories.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array};
use arrow_schema::{DataType, Field};

use super::errors::{damaged, quoted};
use crate::error::DataError;
use crate::read::categories::{Lookup, refused};
use sched_categories::{Cell, CellForm, Refusal};

/// The column of a feature that holds names.
pub(super) struct NamedColumn<'a> {
    lookup: Lookup<'a>,
    form: CellForm,
    /// The column's type in the file.
    data_type: DataType,
    /// The column's number and name.
    column: usize,
    name: String,
}

/// A feature's column whose cells are names of categories; `None` if its type holds no names.
pub(super) fn column_of_names<'a>(
    field: &Field,
    column: usize,
    lookup: Option<Lookup<'a>>,
) -> Option<NamedColumn<'a>> {
    let lookup = lookup?;
    let (data_type, form) = match field.data_type() {
        DataType::Dictionary(_, values) => (values.as_ref(), CellForm::Dictionary),
        plain => (plain, CellForm::Plain),
    };
    let is_name = match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean | DataType::Null => {
            true
        }
        number => number.is_integer() || number.is_floating(),
    };
    let (data_type, name) = (field.data_type().clone(), field.name().clone());
    is_name.then_some(NamedColumn { lookup, form, data_type, column, name })
}

impl NamedColumn<'_> {
    /// Whether codes need double precision.
    pub(super) fn is_wide(&self) -> bool {
        // If the column's numbers are codes, they may be larger than those of the model.
        self.lookup.is_wide() || self.lookup.takes_codes()
    }

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
        // Each value of a dictionary is looked up once; only values that rows refer to must be categories.
        let known =
            places.as_ref().map(|_| (0..values.len()).map(|at| self.code(values, at)).collect::<Vec<_>>());
        let mut codes = Vec::with_capacity(part.len());
        for row in 0..part.len() {
            if part.is_null(row) {
                codes.push(f64::NAN);
                continue;
            }
            let at = places.as_ref().map_or(Some(row), |places| places.get(row).copied());
            let at = at.ok_or_else(contradicts)?;
            let code = match &known {
                Some(known) => known.get(at).ok_or_else(contradicts)?.clone(),
                None => self.code(values, at),
            };
            match code.ok_or_else(contradicts)? {
                Ok(code) => codes.push(code),
                Err(refusal) => return Err(self.refused(&refusal, before + row as u64 + 1, source)),
            }
        }
        Ok(match self.is_wide() {
            true => Arc::new(Float64Array::from(codes)),
            false => Arc::new(Float32Array::from_iter_values(codes.into_iter().map(|code| code as f32))),
        })
    }

    /// The code of a value; `None` if it is of a type that has no names.
    fn code(&self, values: &ArrayRef, at: usize) -> Option<Result<f64, Refusal>> {
        if values.is_null(at) || *values.data_type() == DataType::Null {
            return Some(Ok(f64::NAN));
        }
        let cell = match values.data_type() {
            DataType::Utf8 => Cell::Text(values.as_string_opt::<i32>()?.value(at)),
            DataType::LargeUtf8 => Cell::Text(values.as_string_opt::<i64>()?.value(at)),
            DataType::Utf8View => Cell::Text(values.as_string_view_opt()?.value(at)),
            DataType::Boolean => Cell::Truth(values.as_boolean_opt()?.value(at)),
            DataType::Int8 => Cell::Integer(values.as_primitive_opt::<Int8Type>()?.value(at).into()),
            DataType::Int16 => Cell::Integer(values.as_primitive_opt::<Int16Type>()?.value(at).into()),
            DataType::Int32 => Cell::Integer(values.as_primitive_opt::<Int32Type>()?.value(at).into()),
            DataType::Int64 => Cell::Integer(values.as_primitive_opt::<Int64Type>()?.value(at)),
            DataType::UInt8 => Cell::Integer(values.as_primitive_opt::<UInt8Type>()?.value(at).into()),
            DataType::UInt16 => Cell::Integer(values.as_primitive_opt::<UInt16Type>()?.value(at).into()),
            DataType::UInt32 => Cell::Integer(values.as_primitive_opt::<UInt32Type>()?.value(at).into()),
            DataType::UInt64 => Cell::Unsigned(values.as_primitive_opt::<UInt64Type>()?.value(at)),
            DataType::Float16 => Cell::Number(values.as_primitive_opt::<Float16Type>()?.value(at).to_f64()),
            DataType::Float32 => Cell::Number(values.as_primitive_opt::<Float32Type>()?.value(at).into()),
            DataType::Float64 => Cell::Number(values.as_primitive_opt::<Float64Type>()?.value(at)),
            _ => return None,
        };
        Some(self.lookup.code(cell, self.form))
    }

    fn refused(&self, refusal: &Refusal, row: u64, source: &str) -> DataError {
        let (code, message, help) = refused(self.lookup, refusal);
        DataError::new(code, source, format!("{message}, in row {row} of the rows that are read"))
            .column(self.column + 1, Some(self.name.clone()))
            .help(help)
    }
}
