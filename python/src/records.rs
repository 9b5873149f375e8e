//! Rows as Python dicts from names to numbers.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use pyo3::{ffi, intern};
use std::collections::HashMap;
use std::ptr;

/// Whole numbers up to this magnitude have an exact double.
const EXACT_WHOLE: i64 = 1 << 53;

/// The values of records in row-major order. A feature without a name is NaN in all rows. `None` if a record
/// lacks a name, or a value is neither a number nor missing.
///
/// # Errors
/// The comparison of a dict's keys raises an exception.
pub fn values_of_records(
    records: &Bound<'_, PyList>,
    names: &[Option<&Bound<'_, PyString>>],
) -> PyResult<Option<Vec<f64>>> {
    let mut values = Vec::with_capacity(records.len() * names.len());
    let mut row = vec![f64::NAN; names.len()];
    let mut keys = None;
    for record in records {
        let Ok(record) = record.cast::<PyDict>() else { return Ok(None) };
        // For a single record, the order of the keys is not worth computing.
        if values.is_empty() && records.len() > 1 {
            keys = Keys::of(record, names);
        }
        let is_read = keys.as_ref().is_some_and(|keys| keys.read(record, &mut row));
        if !is_read && !look_up(record, names, &mut row)? {
            return Ok(None);
        }
        values.extend_from_slice(&row);
    }
    Ok(Some(values))
}

/// Reads the values of a record by a look-up of each name. `false` if the record lacks a name, or a value is
/// neither a number nor missing.
fn look_up(
    record: &Bound<'_, PyDict>,
    names: &[Option<&Bound<'_, PyString>>],
    row: &mut [f64],
) -> PyResult<bool> {
    for (place, name) in row.iter_mut().zip(names) {
        let Some(name) = name else { continue };
        let Some(value) = record.get_item(name)? else { return Ok(false) };
        let Some(number) = number_of(&value) else { return Ok(false) };
        *place = number;
    }
    Ok(true)
}

/// The keys of a record in their order. Records from one source have the same objects as keys in the same
/// order, so iterating over a dict yields each feature's value without a look-up.
struct Keys<'py>(Vec<RecordKey<'py>>);

struct RecordKey<'py> {
    /// The key. This reference keeps the object alive, so that no other object gets its address.
    name: Bound<'py, PyAny>,
    /// The feature whose value the key has; `None` if no feature has this name.
    feature: Option<usize>,
}

impl<'py> Keys<'py> {
    /// The keys of a record. `None` if a key is no plain text, a feature's name is missing, or two features
    /// have the same name.
    fn of(record: &Bound<'py, PyDict>, names: &[Option<&Bound<'py, PyString>>]) -> Option<Keys<'py>> {
        let mut features = HashMap::with_capacity(names.len());
        for (feature, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            if features.insert(name.to_str().ok()?, feature).is_some() {
                return None;
            }
        }
        let mut keys = Vec::with_capacity(record.len());
        for name in record.keys() {
            let feature = features.remove(name.cast_exact::<PyString>().ok()?.to_str().ok()?);
            keys.push(RecordKey { name, feature });
        }
        let last = keys.iter().rposition(|key| key.feature.is_some()).map_or(0, |last| last + 1);
        keys.truncate(last);
        features.is_empty().then_some(Keys(keys))
    }

    /// Reads the values of a record. `false` if the record has other keys or another order, or if reading a
    /// value would run Python code.
    fn read(&self, record: &Bound<'_, PyDict>, row: &mut [f64]) -> bool {
        let mut position = 0;
        for key in &self.0 {
            let (mut name, mut value) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the dict is valid, and no code changes it while its entries are read.
            let is_there = unsafe { ffi::PyDict_Next(record.as_ptr(), &mut position, &mut name, &mut value) };
            // SAFETY: the dict holds the key of an entry.
            if is_there == 0 || !unsafe { key.is(name) } {
                return false;
            }
            let Some(feature) = key.feature else { continue };
            // SAFETY: the dict holds the value of an entry.
            let number = unsafe { plain_number_of(record.py(), value) };
            let (Some(place), Some(number)) = (row.get_mut(feature), number) else { return false };
            *place = number;
        }
        true
    }
}

impl RecordKey<'_> {
    /// Whether the key of an entry is this object, or a plain text that equals it. Runs no Python code.
    ///
    /// # Safety
    /// `name` is an object.
    #[inline(always)]
    unsafe fn is(&self, name: *mut ffi::PyObject) -> bool {
        let mine = self.name.as_ptr();
        // SAFETY: both are objects, and texts where they are compared.
        name == mine
            || unsafe { ffi::PyUnicode_CheckExact(name) != 0 && ffi::PyUnicode_Compare(name, mine) == 0 }
    }
}

/// A Python number, truth value or None, as [`number_of`] reads it. Runs no Python code; `None` for objects
/// that would run some.
///
/// # Safety
/// `value` is an object.
#[inline(always)]
unsafe fn plain_number_of(py: Python<'_>, value: *mut ffi::PyObject) -> Option<f64> {
    // SAFETY: `value` is an object.
    if unsafe { ffi::PyFloat_CheckExact(value) } != 0 {
        // SAFETY: it is a float.
        return Some(unsafe { ffi::PyFloat_AsDouble(value) });
    }
    // SAFETY: `value` is an object, which the caller holds.
    let value = unsafe { Borrowed::from_ptr(py, value) };
    let is_plain = value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_instance_of::<PyFloat>();
    if is_plain { number_of(&value) } else { None }
}

/// A Python number, truth value or None as a double. `None` for other objects, and for whole numbers that
/// double precision would round.
fn number_of(value: &Bound<'_, PyAny>) -> Option<f64> {
    if let Ok(number) = value.cast::<PyFloat>() {
        return Some(number.value());
    }
    if value.is_none() {
        return Some(f64::NAN);
    }
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyInt>() {
        return exact(value);
    }
    let py = value.py();
    let kind = value.getattr_opt(intern!(py, "dtype")).ok()??.getattr(intern!(py, "kind")).ok()?;
    let kind: char = kind.extract().ok()?;
    let is_scalar = value.getattr(intern!(py, "ndim")).ok()?.extract::<usize>().ok()? == 0;
    let bytes: usize = value.getattr(intern!(py, "itemsize")).ok()?.extract().ok()?;
    match kind {
        _ if !is_scalar || bytes > 8 => None,
        'f' => value.extract().ok(),
        'b' => Some(f64::from(value.is_truthy().ok()?)),
        'i' | 'u' => exact(value),
        _ => None,
    }
}

fn exact(value: &Bound<'_, PyAny>) -> Option<f64> {
    let whole: i64 = value.extract().ok()?;
    (-EXACT_WHOLE..=EXACT_WHOLE).contains(&whole).then_some(whole as f64)
}
