//! Prints the variants for numbers of rows, one after the other.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{nest_json, show_nest};
use crate::{Nest, Variants};

/// `when n_rows <= 8`, or `otherwise` for all calls that no bound covers.
pub fn show_rows(max_rows: Option<u32>) -> String {
    max_rows.map_or_else(|| "otherwise".to_owned(), |rows| format!("when n_rows <= {rows}"))
}

/// Text of each variant, indented below a line for its calls. A single variant has no such line.
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

/// Object of the variant for calls without a bound, with a list `when` of the other variants if there are
/// any.
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

/// [`show_nest`] for each variant.
pub fn show_nests(nests: &Variants<Nest>) -> String {
    show_variants(nests, show_nest)
}

/// [`nest_json`] with the nests of all variants.
pub fn nests_json(nests: &Variants<Nest>) -> Value {
    variants_json(nests, "nest", nest_json)
}
