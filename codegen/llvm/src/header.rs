//! The public C header of an artefact.

use sched_ir::lir::{Interface, Scalar};

/// What a header says about its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderInfo {
    /// Columns of a row.
    pub num_features: i32,
    /// Columns of the raw output.
    pub num_margins: i32,
    /// Columns of the value output.
    pub num_values: i32,
    /// Columns of the leaf output; 0: the model does not tell its leaves.
    pub num_trees: i32,
    /// Whether the model predicts classes.
    pub has_classes: bool,
    /// Whether categories have names.
    pub has_categories: bool,
    /// What the model reads, adds up and returns.
    pub types: Interface,
}

/// Longest prefix: C99 promises that 31 characters of an external name count, compilers of today keep far
/// more.
const MAX_PREFIX: usize = 64;

/// Whether exported names can start with `prefix`: a C identifier that is not reserved for the C
/// implementation and leaves the runtime's own names alone.
pub fn valid_prefix(prefix: &str) -> bool {
    let mut bytes = prefix.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    starts_well
        && prefix.len() <= MAX_PREFIX
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && prefix != "schedc_rt"
}

/// The header that declares an artefact's exported functions, for C and C++. `prefix` must be a
/// [`valid_prefix`].
pub fn header(prefix: &str, constants: &HeaderInfo) -> String {
    let HeaderInfo { num_features, num_margins, num_values, num_trees, has_classes, has_categories, types } =
        *constants;
    let num_classes = i32::from(has_classes);
    let bits = |scalar: Scalar| (8 * scalar.bytes()).to_string();
    let result = if types.results == Scalar::F64 { "double" } else { "float" };
    let encode = if has_categories { ENCODE } else { "" };
    TEMPLATE
        .replace("@ENCODE@", encode)
        .replace("@ROW_BITS@", &bits(types.rows))
        .replace("@SUM_BITS@", &bits(types.margins))
        .replace("@RESULT@", result)
        .replace("@FEATURES@", &num_features.to_string())
        .replace("@MARGINS@", &num_margins.to_string())
        .replace("@VALUES@", &num_values.to_string())
        .replace("@CLASSES@", &num_classes.to_string())
        .replace("@TREES@", &num_trees.to_string())
        .replace("@P@", &prefix.to_ascii_uppercase())
        .replace("@p@", prefix)
}

/// Whether a file is a header that [`header()`] made, for whatever model.
pub fn is_header(bytes: &[u8]) -> bool {
    TEMPLATE.lines().next().is_some_and(|mark| bytes.starts_with(mark.as_bytes()))
}

/// What a header says of a model whose categories have names.
const ENCODE: &str = "/* The code of a category of a feature by its name, in UTF-8: the number that stands for it in rows. NaN, which is a missing
 * value, for a null pointer and for a name that the model does not know, and where the feature has no categories with names. */
double @p@_encode(int32_t feature, const char *text);

";

const TEMPLATE: &str = include_str!("header.h.in");
