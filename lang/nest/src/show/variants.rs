//! What differs by the number of rows of a call, one part after the other.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{nest_json, show_nest};
use crate::{Nest, Variants};

/// `when n_rows <= 8`, or `otherwise` for all calls that no bound covers.
pub fn show_rows(max_rows: Option<u32>) -> String {
    max_rows.map_or_else(|| "otherwise".to_owned(), |rows| format!("when n_rows <= {rows}"))
}

/// The text of each variant, indented below the calls that it is for; that of an only one stands alone.
pub fn show_variants<T>(variants: &Variants<T>, show: impl Fn(&T) -> String) -> String {
    if variants.bounded().is_empty() {
        return show(variants.rest());
    }
    let mut out = String::new();
    for (max_rows, value) in variants.iter() {
        let _ = writeln!(out, "{}:", show_rows(max_rows));
        for line in show(value).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// The object of the variant for calls that no bound covers, with a list `when` of the others if there are any.
pub fn variants_json<T>(variants: &Variants<T>, what: &str, json: impl Fn(&T) -> Value) -> Value {
    let mut rest = json(variants.rest());
    let bounded = variants.bounded().iter();
    let bounded: Vec<Value> =
        bounded.map(|one| json!({ "max_rows": one.max_rows, what: json(&one.value) })).collect();
    if let (Value::Object(object), false) = (&mut rest, bounded.is_empty()) {
        object.insert("when".to_owned(), bounded.into());
    }
    rest
}

/// As [`show_nest`] for each number of rows.
pub fn show_nests(nests: &Variants<Nest>) -> String {
    show_variants(nests, show_nest)
}

/// As [`nest_json`] with the nests for few rows.
pub fn nests_json(nests: &Variants<Nest>) -> Value {
    variants_json(nests, "nest", nest_json)
}
