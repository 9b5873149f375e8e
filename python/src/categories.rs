//! Names of categories in columns from Python, and their codes.

use crate::texts::numbers_of_texts;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use sched_categories::{
    Cell, CellForm, CellOrigin, ChoiceSyntax, Choices, Lookup, NumbersAs, Refusal, Unseen, from_json,
};

/// The categories of a library's model, with the caller's options.
#[pyclass(frozen, name = "Categories", module = "schedc_runtime")]
pub struct LibraryCategories {
    all: sched_categories::Categories,
}

/// The code of a category, or the reason why there is none.
#[derive(IntoPyObject)]
enum CategoryCode {
    Code(f64),
    Refused(RefusedCell),
}

/// A cell without a code: the message, the help, and the name if it is unknown.
type RefusedCell = (String, String, Option<String>);

#[pymethods]
impl LibraryCategories {
    /// Parses the categories in a library's JSON about its model.
    #[new]
    fn new(about: &str, unseen: Option<&str>, numbers: Option<&str>) -> PyResult<LibraryCategories> {
        let value: serde_json::Value =
            serde_json::from_str(about).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let choices = Choices {
            unseen: unseen
                .map(|word| parse_choice("unseen", word, Unseen::of_word, UNSEEN_CHOICES))
                .transpose()?,
            numbers: numbers
                .map(|word| parse_choice("categories", word, NumbersAs::of_word, NUMBERS_CHOICES))
                .transpose()?,
        };
        let (names, of_trainer) = from_json(&value["model"]["categories"]).unwrap_or_default();
        Ok(LibraryCategories { all: sched_categories::Categories::new(names, choices, of_trainer) })
    }

    /// Whether no step of the model reads a feature.
    fn is_unread(&self, feature: usize) -> bool {
        self.all.is_unread(feature)
    }

    /// Whether a feature's categories have names.
    fn has_names(&self, feature: usize) -> bool {
        self.all.lookup(feature, CellOrigin::Table).is_some()
    }

    /// The names of a feature's categories that are texts.
    fn texts(&self, feature: usize) -> Vec<String> {
        let lookup = self.all.lookup(feature, CellOrigin::Table);
        lookup.into_iter().flat_map(|lookup| lookup.texts()).map(str::to_owned).collect()
    }

    /// The code of each value of a column, or the reason why there is none.
    #[pyo3(signature = (feature, values, *, dictionary, table))]
    fn codes(
        &self,
        feature: usize,
        values: Vec<Bound<'_, PyAny>>,
        dictionary: bool,
        table: bool,
    ) -> PyResult<Vec<CategoryCode>> {
        let lookup = self.lookup(feature, table)?;
        let form = if dictionary { CellForm::Dictionary } else { CellForm::Plain };
        let code = |value: &Bound<'_, PyAny>| {
            let code = with_cell(value, |cell| lookup.code(cell, form))?;
            Ok(code.map_or_else(|refusal| CategoryCode::Refused(refused(refusal)), CategoryCode::Code))
        };
        values.iter().map(code).collect()
    }

    /// The codes of a column of texts: an array or list of objects, or a column that exports itself to Arrow.
    /// None if it has other values, or a text has no code.
    fn codes_of_texts<'py>(
        &self,
        feature: usize,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let lookup = self.lookup(feature, true)?;
        let codes = numbers_of_texts(values, &|text| lookup.code(Cell::Text(text), CellForm::Plain).ok())?;
        Ok(codes.map(|codes| narrowed(values.py(), codes)))
    }

    /// The codes of a column of numbers or truth values; `absent` marks missing ones. Also returns the first
    /// row without a code and the reason, if there is one.
    #[pyo3(signature = (feature, values, absent, *, table))]
    fn encoded<'py>(
        &self,
        py: Python<'py>,
        feature: usize,
        values: &Bound<'py, PyUntypedArray>,
        absent: Option<Bound<'py, PyArray1<bool>>>,
        table: bool,
    ) -> PyResult<CodesOrRefusal<'py>> {
        let lookup = self.lookup(feature, table)?;
        let absent = absent.map(|absent| absent.readonly().as_array().to_vec());
        let is_absent = |row: usize| absent.as_ref().is_some_and(|absent| absent.get(row) == Some(&true));
        let cells = CellEncoder { lookup, is_absent: &is_absent };
        let found = None
            .or_else(|| cells.of::<i64>(values, Cell::Integer))
            .or_else(|| cells.of::<i32>(values, |x| Cell::Integer(x.into())))
            .or_else(|| cells.of::<i16>(values, |x| Cell::Integer(x.into())))
            .or_else(|| cells.of::<i8>(values, |x| Cell::Integer(x.into())))
            .or_else(|| cells.of::<u64>(values, Cell::Unsigned))
            .or_else(|| cells.of::<u32>(values, |x| Cell::Unsigned(x.into())))
            .or_else(|| cells.of::<u16>(values, |x| Cell::Unsigned(x.into())))
            .or_else(|| cells.of::<u8>(values, |x| Cell::Unsigned(x.into())))
            .or_else(|| cells.of::<f64>(values, Cell::Number))
            .or_else(|| cells.of::<f32>(values, |x| Cell::Number(x.into())))
            .or_else(|| cells.of::<bool>(values, Cell::Truth));
        match found {
            Some(Ok(codes)) => Ok((Some(narrowed(py, codes)), None)),
            Some(Err((row, refusal))) => Ok((None, Some((row, refused(refusal))))),
            None => Err(PyTypeError::new_err(format!("holds values of type {}", values.dtype()))),
        }
    }
}

/// The codes, or the first row without one and the reason.
type CodesOrRefusal<'py> = (Option<Bound<'py, PyAny>>, Option<(usize, RefusedCell)>);

/// Codes as an array in single precision if that represents all of them exactly, otherwise in double
/// precision.
fn narrowed(py: Python<'_>, codes: Vec<f64>) -> Bound<'_, PyAny> {
    let is_exact = |code: &f64| f64::from(*code as f32) == *code || code.is_nan();
    match codes.iter().all(is_exact) {
        true => PyArray1::from_iter(py, codes.iter().map(|code| *code as f32)).into_any(),
        false => PyArray1::from_vec(py, codes).into_any(),
    }
}

const UNSEEN_CHOICES: &str = "error, missing, other";
const NUMBERS_CHOICES: &str = "names, codes";

/// Parses the value of an option. `all` lists the valid values for the error message.
fn parse_choice<T>(option: &str, word: &str, of_word: fn(&str) -> Option<T>, all: &str) -> PyResult<T> {
    of_word(word).ok_or_else(|| PyValueError::new_err(format!("{option} is one of {all}, not '{word}'")))
}

fn refused(refusal: Refusal) -> RefusedCell {
    let message = refusal.message(|name| format!("\"{}\"", shortened(name)));
    let name = match &refusal {
        Refusal::Unseen(name) => Some(name.clone()),
        _ => None,
    };
    (message, refusal.help(ChoiceSyntax::Arguments), name)
}

/// A name as messages quote it.
fn shortened(name: &str) -> String {
    const MOST: usize = 80;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Converts a Python value to a cell, and calls `code` with it.
fn with_cell<T>(value: &Bound<'_, PyAny>, code: impl FnOnce(Cell<'_>) -> T) -> PyResult<T> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(code(Cell::Text(&text.to_cow()?)));
    }
    let cell = if value.is_none() {
        Cell::Missing
    } else if is_truth(value) {
        Cell::Truth(value.is_truthy()?)
    } else if value.hasattr("__index__")? {
        let signed = value.extract().map(Cell::Integer);
        signed
            .or_else(|_| value.extract().map(Cell::Unsigned))
            .or_else(|_| value.extract().map(Cell::Number))?
    } else {
        Cell::Number(value.extract().map_err(|_| {
            let kind = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "holds values of type {kind}; categories are texts, numbers or truth values"
            ))
        })?)
    };
    Ok(code(cell))
}

/// Whether a value is a boolean of Python or of NumPy.
fn is_truth(value: &Bound<'_, PyAny>) -> bool {
    let of_numpy = || value.get_type().name().is_ok_and(|name| name == "bool" || name == "bool_");
    value.is_instance_of::<PyBool>() || of_numpy()
}

/// The look-up of the codes of a column's cells.
struct CellEncoder<'a> {
    lookup: Lookup<'a>,
    is_absent: &'a dyn Fn(usize) -> bool,
}

impl CellEncoder<'_> {
    /// The codes of an array of this type, or the first row without one; `None` for an array of another type.
    fn of<T: numpy::Element + Copy>(
        &self,
        values: &Bound<'_, PyUntypedArray>,
        cell: impl Fn(T) -> Cell<'static>,
    ) -> Option<Result<Vec<f64>, (usize, Refusal)>> {
        let array = values.cast::<PyArray1<T>>().ok()?;
        let array = array.readonly();
        let code = |(row, value): (usize, &T)| match (self.is_absent)(row) {
            true => Ok(f64::NAN),
            false => self.lookup.code(cell(*value), CellForm::Plain).map_err(|refusal| (row, refusal)),
        };
        Some(array.as_array().iter().enumerate().map(code).collect())
    }
}

impl LibraryCategories {
    fn lookup(&self, feature: usize, table: bool) -> PyResult<Lookup<'_>> {
        let origin = if table { CellOrigin::Table } else { CellOrigin::Array };
        let lookup = self.all.lookup(feature, origin);
        lookup.ok_or_else(|| PyValueError::new_err("the feature's categories have no names"))
    }
}
