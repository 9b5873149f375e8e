//! The columns that a graph computes, collected while the graph is read.

use super::tensor::{Tensor, TensorElement, TextCell, places, size};
use crate::constants::add_evaluated;
use sched_columns::{CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{CategoryRule, Float, ModelError, codes};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of cells of all tensors of a graph, so that a small file cannot take much memory.
const MOST_CELLS: usize = 1 << 23;

/// Index of a made-up feature that stands for the number of rows of a call, while a graph is read.
const ROW_COUNT: u32 = u32::MAX;

/// The columns for operations of a file on constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// Their values.
    Evaluated,
    /// The operations, as the file has them.
    AsWritten,
}

/// The columns of a graph, and the names that stand for codes of texts.
#[derive(Debug)]
pub(super) struct GraphColumns {
    pub columns: Columns,
    constants: Constants,
    /// The version of the standard operators; 0 if the file does not say.
    pub version: i64,
    cells_left: usize,
    /// The column of the number of rows of a call, if some operator computes it.
    row_count: Option<ColumnId>,
    /// For each column of codes, the index of its list of names in `lists`.
    list_of: HashMap<ColumnId, usize>,
    lists: Vec<NameList>,
}

/// Names in the order of their codes.
#[derive(Clone, Debug, Default)]
pub(super) struct NameList {
    pub names: Vec<Rc<str>>,
    codes: HashMap<Rc<str>, u32>,
}

impl NameList {
    /// The code of a name, which is added if it is new. `None` for the empty text, which is a missing value.
    fn code(&mut self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        if let Some(code) = self.codes.get(name) {
            return Some(*code);
        }
        let code = self.names.len() as u32;
        let name: Rc<str> = name.into();
        self.names.push(Rc::clone(&name));
        self.codes.insert(name, code);
        Some(code)
    }
}

impl GraphColumns {
    /// No columns, for a graph with this version of the standard operators.
    pub fn new(version: i64, constants: Constants) -> GraphColumns {
        GraphColumns {
            columns: Columns::default(),
            constants,
            version,
            cells_left: MOST_CELLS,
            row_count: None,
            list_of: HashMap::new(),
            lists: Vec::new(),
        }
    }

    /// Counts cells towards [`MOST_CELLS`], and returns their number. `None` counts as too many.
    ///
    /// # Errors
    /// `M0019` if the graph has too many cells.
    pub fn count_cells(&mut self, cells: Option<usize>) -> Result<usize, ModelError> {
        let left = cells.and_then(|cells| self.cells_left.checked_sub(cells));
        self.cells_left = left.ok_or_else(|| {
            let message = format!("the graph computes more than {MOST_CELLS} values for each row");
            ModelError::new(codes::TOO_LARGE, message).help("convert a pipeline with fewer columns")
        })?;
        Ok(cells.unwrap_or(0))
    }

    /// The column of the number of rows of a call. It may only be used in shapes.
    pub fn row_count(&mut self) -> Result<ColumnId, ModelError> {
        let input = self.columns.input(ROW_COUNT, Float::F64);
        let count = self.add(Expr::Unary(Unary::Cast(ColumnType::I64), input))?;
        self.row_count = Some(count);
        Ok(count)
    }

    /// Whether a column is the number of rows of a call.
    pub fn is_row_count(&self, column: ColumnId) -> bool {
        self.row_count == Some(column)
    }

    /// Refuses columns that are computed from the number of rows.
    ///
    /// # Errors
    /// `M0040` if one of them is computed from it.
    pub fn refuse_row_count(&self, columns: &[ColumnId]) -> Result<(), ModelError> {
        match self.row_count {
            Some(count) if self.columns.needed_for(columns).contains(&count) => {
                let message = "a result of the operator `Shape` is used as a value, so the prediction of a \
                               row would depend on the number of rows";
                Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
                    .at("graph")
                    .help("convert the model without this operator"))
            }
            _ => Ok(()),
        }
    }

    /// Gives a column of codes an empty list of names, to which later nodes add.
    pub fn name_codes(&mut self, column: ColumnId) {
        self.list_number(column);
    }

    /// The index of a column's list of names. A column without a list gets an empty one.
    fn list_number(&mut self, column: ColumnId) -> usize {
        let next = self.lists.len();
        let number = *self.list_of.entry(column).or_insert(next);
        if number == next {
            self.lists.push(NameList::default());
        }
        number
    }

    /// The names that codes of a column stand for.
    pub fn names(&self, column: ColumnId) -> &[Rc<str>] {
        self.list_of.get(&column).map_or(&[], |number| &self.lists[*number].names)
    }

    /// A column with the entry of a table for a text. Entries have one type, and the first of equal texts
    /// counts.
    pub fn look_up(
        &mut self,
        text: &TextCell,
        entries: &[(&str, ColumnValue)],
        other: ColumnValue,
    ) -> Result<ColumnId, ModelError> {
        let entry = |text: &str| entries.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        let column = match text {
            TextCell::Known(text) => return Ok(self.columns.constant(entry(text).unwrap_or(other))),
            TextCell::ByCode(column) => *column,
        };
        let number = self.list_number(column);
        let list = &mut self.lists[number];
        let mut values = Vec::new();
        for (name, value) in entries.iter().rev() {
            if let Some(code) = list.code(name) {
                let code = code as usize;
                if values.len() <= code {
                    values.resize(code + 1, other);
                }
                values[code] = *value;
            }
        }
        let missing = entry("").unwrap_or(other);
        let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing };
        self.add(Expr::Table { of: column, table: Arc::new(table) })
    }

    /// A text of a row: the entry at the position that the column `place` holds, or `other` if there is no
    /// such entry.
    pub fn texts_of(
        &mut self,
        place: ColumnId,
        entries: &[&str],
        other: &str,
    ) -> Result<TextCell, ModelError> {
        let mut list = NameList::default();
        let code =
            |list: &mut NameList, text: &str| ColumnValue::F64(list.code(text).map_or(f64::NAN, f64::from));
        let values = entries.iter().map(|text| code(&mut list, text)).collect();
        let other = code(&mut list, other);
        let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing: other };
        let column = self.add(Expr::Table { of: place, table: Arc::new(table) })?;
        let number = self.list_number(column);
        self.lists[number] = list;
        Ok(TextCell::ByCode(column))
    }

    /// One of two texts, by a condition. `None` if both texts are codes with different lists of names.
    pub fn one_of_texts(
        &mut self,
        condition: ColumnId,
        then: &TextCell,
        otherwise: &TextCell,
    ) -> Result<Option<TextCell>, ModelError> {
        let list = |it: &mut GraphColumns, text: &TextCell| match text {
            TextCell::ByCode(column) => Some(it.list_number(*column)),
            TextCell::Known(_) => None,
        };
        let list = match (list(self, then), list(self, otherwise)) {
            (Some(left), Some(right)) if left != right => return Ok(None),
            (Some(list), _) | (_, Some(list)) => list,
            (None, None) => {
                self.lists.push(NameList::default());
                self.lists.len() - 1
            }
        };
        let code = |it: &mut GraphColumns, text: &TextCell| match text {
            TextCell::ByCode(column) => *column,
            TextCell::Known(name) => {
                let code = it.lists[list].code(name).map_or(f64::NAN, f64::from);
                it.columns.constant(ColumnValue::F64(code))
            }
        };
        let (then, otherwise) = (code(self, then), code(self, otherwise));
        let column = self.add(Expr::Select { condition, then, otherwise })?;
        self.list_of.insert(column, list);
        Ok(Some(TextCell::ByCode(column)))
    }

    /// Adds a column.
    ///
    /// # Errors
    /// `M0042` if the operation does not accept these types.
    pub fn add(&mut self, expr: Expr) -> Result<ColumnId, ModelError> {
        let added = match self.constants {
            Constants::Evaluated => add_evaluated(&mut self.columns, expr),
            Constants::AsWritten => self.columns.add(expr),
        };
        added.map_err(|error| ModelError::new(codes::ONNX_TYPE, error.to_string()))
    }

    /// The value of a column that depends on no feature; `None` for other columns.
    pub fn constant(&self, column: ColumnId) -> Option<ColumnValue> {
        self.columns.constant_value(column)
    }

    /// The columns, converted to another type.
    ///
    /// # Errors
    /// `M0042` for a conversion to texts.
    pub fn cast(&mut self, columns: &[ColumnId], to: TensorElement) -> Result<Vec<ColumnId>, ModelError> {
        let Some(to) = to.column_type() else {
            return Err(ModelError::new(codes::ONNX_TYPE, "a cast of numbers to texts is not supported"));
        };
        columns.iter().map(|column| self.add(Expr::Unary(Unary::Cast(to), *column))).collect()
    }

    /// The common shape of tensors by ONNX's rules for broadcasting, and the position of each cell in each
    /// tensor.
    ///
    /// # Errors
    /// A message if shapes do not fit, or if values of different rows would be combined.
    pub fn broadcast(&mut self, tensors: &[&Tensor]) -> Result<Broadcast, BroadcastError> {
        let by_row = tensors.iter().any(|tensor| tensor.by_row);
        let rank = tensors.iter().map(|tensor| tensor.rank()).max().unwrap_or(0);
        let mixes = |message: &str| Err(BroadcastError::Shapes(message.into()));
        if by_row && tensors.iter().any(|tensor| tensor.by_row && tensor.rank() != rank) {
            return mixes("would combine values of different rows");
        }
        let axes = rank - usize::from(by_row);
        let mut shape = vec![1; axes];
        let mut aligned = Vec::new();
        for tensor in tensors {
            let mut own = tensor.shape.clone();
            // A constant with an axis for rows must have the size 1 there.
            if by_row && !tensor.by_row && own.len() == rank && own.remove(0) != 1 {
                return mixes("has a constant with values for a fixed number of rows");
            }
            let before = axes - own.len();
            for (axis, count) in own.iter().enumerate() {
                let common = &mut shape[before + axis];
                match (*common, *count) {
                    (1, count) => *common = count,
                    (_, 1) => {}
                    (common, count) if common == count => {}
                    _ => return mixes("combines tensors whose shapes do not fit"),
                }
            }
            aligned.push((before, own));
        }
        let count = self.count_cells(size(&shape)).map_err(BroadcastError::Model)?;
        let place_of = |(before, own): (usize, Vec<usize>)| {
            let own_steps = super::tensor::strides(&own);
            let mut steps = vec![0; before];
            steps.extend(own.iter().zip(own_steps).map(|(count, step)| if *count == 1 { 0 } else { step }));
            places(&shape, &steps, 0)
        };
        let places = aligned.into_iter().map(place_of).collect();
        Ok(Broadcast { by_row, count, places, shape })
    }
}

/// Tensors with a common shape.
pub(super) struct Broadcast {
    pub by_row: bool,
    pub shape: Vec<usize>,
    /// The number of cells.
    pub count: usize,
    /// For each tensor, the position in it of each cell of the common shape.
    pub places: Vec<Vec<usize>>,
}

/// The error for tensors that cannot be combined.
pub(super) enum BroadcastError {
    /// A message about their shapes, to be written after the name of the node.
    Shapes(String),
    Model(ModelError),
}
