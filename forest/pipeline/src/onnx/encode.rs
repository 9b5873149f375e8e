//! Encoders: mappings from texts or numbers to numbers or texts.

use super::builder::GraphColumns;
use super::node::GraphNode;
use super::tensor::{Cells, Outputs, Tensor, TensorElement, TextCell};
use sched_columns::{Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Edges, Expr, Ties, Unary};
use sched_forest::onnx::TensorProto;
use sched_forest::{CategoryRule, Float, ModelError};
use std::sync::Arc;

/// Keys or values of a mapping.
enum MappingItems<'a> {
    Texts(Vec<&'a str>),
    Numbers(TensorElement, Vec<ColumnValue>),
}

impl<'a> MappingItems<'a> {
    fn len(&self) -> usize {
        match self {
            MappingItems::Texts(items) => items.len(),
            MappingItems::Numbers(_, items) => items.len(),
        }
    }

    /// The values of a tensor in the file.
    fn of_tensor(node: &GraphNode, tensor: &TensorProto<'a>) -> Result<MappingItems<'a>, ModelError> {
        let element = TensorElement::of_code(tensor.element());
        let number = |value: f64, element| match element {
            TensorElement::F32 => ColumnValue::F32(value as f32),
            _ => ColumnValue::F64(value),
        };
        let floats = |float, element| {
            let values = tensor.floats(float)?.into_iter().map(|value| number(value, element)).collect();
            Ok(MappingItems::Numbers(element, values))
        };
        match element {
            Some(TensorElement::Text) => Ok(MappingItems::Texts(tensor.texts()?)),
            Some(TensorElement::F32) => floats(Float::F32, TensorElement::F32),
            Some(TensorElement::F64) => floats(Float::F64, TensorElement::F64),
            Some(element @ (TensorElement::I32 | TensorElement::I64)) => {
                let values = tensor.integers()?.into_iter().map(ColumnValue::I64).collect();
                Ok(MappingItems::Numbers(element, values))
            }
            Some(TensorElement::Bool) | None => {
                Err(node.refuse("maps values of a type that is not supported"))
            }
        }
    }

    /// The attribute for keys or values, of any type. `side` is `keys` or `values`.
    fn of_node(node: &GraphNode<'a>, side: &str) -> Result<Option<MappingItems<'a>>, ModelError> {
        let attributes = node.attributes;
        if let Some(tensor) = attributes.tensor(&format!("{side}_tensor"))? {
            return MappingItems::of_tensor(node, &tensor).map(Some);
        }
        let strings = format!("{side}_strings");
        let texts = attributes.texts(&strings)?.map(|text| text?.as_text());
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        if !texts.is_empty() {
            return Ok(Some(MappingItems::Texts(texts)));
        }
        if let Some(integers) = node.ints(&format!("{side}_int64s"))? {
            let values = integers.into_iter().map(ColumnValue::I64).collect();
            return Ok(Some(MappingItems::Numbers(TensorElement::I64, values)));
        }
        let floats = attributes.floats(&format!("{side}_floats"))?;
        let values = floats.iter().map(|value| ColumnValue::F32(*value as f32)).collect::<Vec<_>>();
        Ok((!values.is_empty()).then_some(MappingItems::Numbers(TensorElement::F32, values)))
    }
}

/// A mapping from keys to values, with a value for all other keys.
struct Mapping<'a> {
    keys: MappingItems<'a>,
    values: MappingItems<'a>,
    other: OtherValue<'a>,
}

/// The value for inputs that are no key.
enum OtherValue<'a> {
    Text(&'a str),
    Number(ColumnValue),
}

impl<'a> Mapping<'a> {
    /// The attributes of a LabelEncoder of versions 2 and 4.
    fn of_label_encoder(node: &GraphNode<'a>) -> Result<Mapping<'a>, ModelError> {
        let lacks = || node.refuse("lacks keys or values");
        let keys = MappingItems::of_node(node, "keys")?.ok_or_else(lacks)?;
        let values = MappingItems::of_node(node, "values")?.ok_or_else(lacks)?;
        let attributes = node.attributes;
        let from_tensor = match attributes.tensor("default_tensor")? {
            Some(tensor) => Some(MappingItems::of_tensor(node, &tensor)?),
            None => None,
        };
        let other = match (&values, from_tensor) {
            (MappingItems::Texts(_), Some(MappingItems::Texts(texts))) => {
                OtherValue::Text(texts.first().copied().unwrap_or(""))
            }
            (MappingItems::Texts(_), _) if attributes.has("default_string")? => {
                OtherValue::Text(attributes.text("default_string")?)
            }
            (MappingItems::Texts(_), _) => OtherValue::Text("_Unused"),
            (MappingItems::Numbers(_, _), Some(MappingItems::Numbers(_, numbers))) => {
                OtherValue::Number(numbers.first().copied().ok_or_else(lacks)?)
            }
            (MappingItems::Numbers(TensorElement::F32 | TensorElement::F64, _), _) => {
                OtherValue::Number(ColumnValue::F32(attributes.float("default_float")?.unwrap_or(-0.0)))
            }
            _ => OtherValue::Number(ColumnValue::I64(attributes.int("default_int64")?.unwrap_or(-1))),
        };
        Mapping { keys, values, other }.checked(node)
    }

    /// A mapping from texts to whole numbers, or the other way if the input is numeric.
    fn between(
        node: &GraphNode<'a>,
        texts: Vec<&'a str>,
        numbers: Vec<i64>,
        of_text: bool,
    ) -> Result<Mapping<'a>, ModelError> {
        let numbers =
            MappingItems::Numbers(TensorElement::I64, numbers.into_iter().map(ColumnValue::I64).collect());
        let attributes = node.attributes;
        let named = attributes.has("default_string")?;
        let text = if named { attributes.text("default_string")? } else { "_Unused" };
        let number = attributes.int("default_int64")?.unwrap_or(-1);
        match of_text {
            true => Mapping {
                keys: MappingItems::Texts(texts),
                values: numbers,
                other: OtherValue::Number(ColumnValue::I64(number)),
            },
            false => {
                Mapping { keys: numbers, values: MappingItems::Texts(texts), other: OtherValue::Text(text) }
            }
        }
        .checked(node)
    }

    fn checked(mut self, node: &GraphNode) -> Result<Mapping<'a>, ModelError> {
        if self.keys.len() != self.values.len() {
            return Err(node.refuse("has different numbers of keys and values"));
        }
        if let (MappingItems::Numbers(element, _), OtherValue::Number(other)) =
            (&self.values, &mut self.other)
            && let Some(column_type) = element.column_type()
        {
            *other = other.cast(column_type);
        }
        Ok(self)
    }

    /// The results for all cells of a tensor.
    fn applied(&self, node: &GraphNode, builder: &mut GraphColumns, of: &Tensor) -> Outputs {
        // An entry of a table takes an eighth of the memory of a column.
        builder.count_cells(of.cells.len().checked_mul(self.keys.len()).map(|entries| entries / 8))?;
        // For values that are texts, columns first hold their positions in the list.
        let (element, values, other) = match (&self.values, &self.other) {
            (MappingItems::Numbers(element, values), OtherValue::Number(other)) => {
                (*element, values.clone(), *other)
            }
            (values, _) => {
                let places = (0..values.len()).map(|place| ColumnValue::F64(place as f64)).collect();
                (TensorElement::F64, places, ColumnValue::F64(values.len() as f64))
            }
        };
        let mut columns = Vec::with_capacity(of.cells.len());
        match (&of.cells, &self.keys) {
            (Cells::Texts(cells), MappingItems::Texts(keys)) => {
                let entries: Vec<_> = keys.iter().copied().zip(values).collect();
                for text in cells {
                    columns.push(builder.look_up(text, &entries, other)?);
                }
            }
            (Cells::Numbers(cells), MappingItems::Numbers(_, keys)) => {
                let keys: Vec<f64> = keys.iter().map(|key| key.to_f64()).collect();
                for &cell in cells {
                    columns.push(number_entry(node, builder, cell, &keys, &values, other)?);
                }
            }
            _ => return Err(node.refuse("has keys of another type than its input")),
        }
        let (by_row, shape) = (of.by_row, of.shape.clone());
        match (&self.values, &self.other) {
            (MappingItems::Texts(texts), OtherValue::Text(other)) => {
                let texts = columns.into_iter().map(|place| builder.texts_of(place, texts, other));
                let cells = Cells::Texts(texts.collect::<Result<Vec<TextCell>, _>>()?);
                Ok(vec![Tensor { by_row, shape, element: TensorElement::Text, cells }])
            }
            _ => Ok(vec![Tensor::numbers(by_row, shape, element, columns)]),
        }
    }
}

/// Whole numbers up to this bound, or up to four times the number of keys, are looked up in a table by
/// number.
const DENSE_KEYS_BOUND: f64 = 1024.0;

/// A column with the value of a mapping for a number. The first of equal keys counts, and NaN can be a key.
fn number_entry(
    node: &GraphNode,
    builder: &mut GraphColumns,
    cell: ColumnId,
    keys: &[f64],
    values: &[ColumnValue],
    other: ColumnValue,
) -> Result<ColumnId, ModelError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if keys.iter().any(|key| key.abs() >= EXACT && key.is_finite()) {
        return Err(node.refuse("has keys of 2^53 or more, which double precision cannot distinguish"));
    }
    let of = builder.cast(&[cell], TensorElement::F64)?[0];
    let mut sorted: Vec<(f64, ColumnValue)> = keys.iter().copied().zip(values.iter().copied()).collect();
    let missing = sorted.iter().find(|(key, _)| key.is_nan()).map_or(other, |(_, value)| *value);
    sorted.retain(|(key, _)| !key.is_nan());
    sorted.iter_mut().for_each(|(key, _)| *key += 0.0);
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    sorted.dedup_by(|right, left| right.0 == left.0);
    let rule = CategoryRule::Whole;
    let most = DENSE_KEYS_BOUND.max(4.0 * sorted.len() as f64);
    if sorted.iter().all(|(key, _)| rule.category(*key).is_some() && *key <= most) {
        let mut table = CategoryTable { rule, values: Vec::new(), other, missing };
        for (key, value) in sorted {
            table.values.resize(key as usize + 1, other);
            table.values[key as usize] = value;
        }
        return builder.add(Expr::Table { of, table: Arc::new(table) });
    }
    // Finds the last key that is not above the value, and compares it with the value.
    let at: Vec<f64> = sorted.iter().map(|(key, _)| *key).collect();
    let reached = builder.add(Expr::Step { of, edges: Arc::new(Edges { at, ties: Ties::Above }) })?;
    let nan = ColumnValue::F64(f64::NAN);
    let by_place = |builder: &mut GraphColumns, none: ColumnValue, entries: Vec<ColumnValue>| {
        let values: Vec<ColumnValue> = std::iter::once(none).chain(entries).collect();
        builder.add(Expr::Pick { of: reached, values: values.into() })
    };
    let key = by_place(builder, nan, sorted.iter().map(|(key, _)| ColumnValue::F64(*key)).collect())?;
    let value = by_place(builder, other, sorted.iter().map(|(_, value)| *value).collect())?;
    let is_key = builder.add(Expr::Binary(Binary::Equal, of, key))?;
    let otherwise = builder.columns.constant(other);
    let found = builder.add(Expr::Select { condition: is_key, then: value, otherwise })?;
    let is_nan = builder.add(Expr::Unary(Unary::IsNan, of))?;
    let missing = builder.columns.constant(missing);
    builder.add(Expr::Select { condition: is_nan, then: missing, otherwise: found })
}

pub(super) fn label_encoder(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let classes = node.attributes.texts("classes_strings")?.map(|text| text?.as_text());
    let classes = classes.collect::<Result<Vec<_>, _>>()?;
    let mapping = match classes.is_empty() {
        true => Mapping::of_label_encoder(node)?,
        false => {
            let numbers = (0..classes.len() as i64).collect();
            Mapping::between(node, classes, numbers, of.element == TensorElement::Text)?
        }
    };
    mapping.applied(node, builder, of)
}

pub(super) fn category_mapper(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let texts = node.attributes.texts("cats_strings")?.map(|text| text?.as_text());
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let numbers = node.ints("cats_int64s")?.unwrap_or_default();
    Mapping::between(node, texts, numbers, of.element == TensorElement::Text)?.applied(node, builder, of)
}

/// `OneHotEncoder` of `ai.onnx.ml`.
pub(super) fn one_hot_encoder(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let texts = node.attributes.texts("cats_strings")?.map(|text| text?.as_text());
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let (places, keys): (Tensor, Vec<i64>) = match (&of.cells, texts.is_empty()) {
        (Cells::Texts(_), false) => {
            let numbers: Vec<i64> = (0..texts.len() as i64).collect();
            let mapping = Mapping {
                keys: MappingItems::Texts(texts),
                values: MappingItems::Numbers(
                    TensorElement::I64,
                    numbers.iter().copied().map(ColumnValue::I64).collect(),
                ),
                other: OtherValue::Number(ColumnValue::I64(-1)),
            };
            let mut places = mapping.applied(node, builder, of)?;
            (places.remove(0), numbers)
        }
        (Cells::Numbers(cells), true) => {
            let cells = builder.cast(cells, TensorElement::I64)?;
            let places = Tensor::numbers(of.by_row, of.shape.clone(), TensorElement::I64, cells);
            (places, node.ints("cats_int64s")?.unwrap_or_default())
        }
        _ => return Err(node.refuse("has categories of another type than its input")),
    };
    let [on, off] = [1.0, 0.0].map(|value| builder.columns.constant(ColumnValue::F32(value)));
    let keys: Vec<Vec<i64>> = keys.into_iter().map(|key| vec![key]).collect();
    one_hot_of(node, builder, (&places, &keys), (on, off), TensorElement::F32)
}

/// A tensor with one more axis at the end: for each list of keys, `on` if the cell is one of the keys, else
/// `off`.
fn one_hot_of(
    node: &GraphNode,
    builder: &mut GraphColumns,
    (of, keys): (&Tensor, &[Vec<i64>]),
    (on, off): (ColumnId, ColumnId),
    element: TensorElement,
) -> Outputs {
    let count = of.cells.len().checked_mul(keys.len());
    let mut cells = Vec::with_capacity(builder.count_cells(count)?);
    for &cell in node.numbers(of)? {
        for keys in keys {
            let mut condition = builder.columns.constant(ColumnValue::Bool(false));
            for key in keys {
                let key = builder.columns.constant(ColumnValue::I64(*key));
                let is_key = builder.add(Expr::Binary(Binary::Equal, cell, key))?;
                condition = builder.add(Expr::Binary(Binary::Or, condition, is_key))?;
            }
            cells.push(builder.add(Expr::Select { condition, then: on, otherwise: off })?);
        }
    }
    let mut shape = of.shape.clone();
    shape.push(keys.len());
    Ok(vec![Tensor::numbers(of.by_row, shape, element, cells)])
}

pub(super) fn one_hot(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (of, depth, values) = (node.input(0)?, node.input(1)?, node.input(2)?);
    if node.attributes.int("axis")?.unwrap_or(-1) != -1 {
        return Err(node.refuse("puts the new axis elsewhere than at the end"));
    }
    let depth = node.constants(builder, depth)?.first().map(|depth| depth.cast(ColumnType::I64));
    let Some(ColumnValue::I64(depth @ 0..)) = depth else {
        return Err(node.refuse("lacks a depth that is a whole number"));
    };
    builder.count_cells(usize::try_from(depth).ok())?;
    let &[off, on] = node.numbers(values)? else {
        return Err(node.refuse("lacks two values, for off and on"));
    };
    let cells = builder.cast(node.numbers(of)?, TensorElement::I64)?;
    let places = Tensor::numbers(of.by_row, of.shape.clone(), TensorElement::I64, cells);
    // A negative index counts from the end.
    let keys: Vec<Vec<i64>> = (0..depth).map(|key| vec![key, key - depth]).collect();
    one_hot_of(node, builder, (&places, &keys), (on, off), values.element)
}
