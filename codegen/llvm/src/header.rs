//! The public C header of an artefact.

use crate::runtime::{Element, Needs, OutputKind};
use sched_ir::lir::{Interface, Scalar};

/// Version of the interface between artefacts and programs. It grows when programs that were compiled for an
/// earlier version cannot work with new artefacts.
pub const ABI_VERSION: i32 = 1;

/// Numbers of a model that its header states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderInfo {
    /// Number of features of a row.
    pub num_features: i32,
    /// Number of values per row of each output; 0 if the model lacks the output.
    pub columns: [usize; OutputKind::ALL.len()],
    /// Whether categories have names.
    pub has_categories: bool,
    /// Types of rows, margins and results.
    pub types: Interface,
    /// Types of rows that it accepts.
    pub rows: AcceptedRowTypes,
}

/// Types of rows that an artefact accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedRowTypes {
    /// Both float types; rows are converted to the type that the code reads.
    Converted,
    /// Both float types; there is code for each.
    Each,
    /// 32-bit floats only; others would have to be rounded, and are refused.
    Narrow,
}

impl AcceptedRowTypes {
    /// Words for the type that the code reads, and a sentence about rows of another type.
    fn words(self, types: Interface) -> (String, &'static str) {
        let bits = 8 * types.rows.bytes();
        match self {
            AcceptedRowTypes::Converted => (
                format!("{bits}-bit floats"),
                "Rows of either float type are accepted: they are rounded or widened to the model's.",
            ),
            AcceptedRowTypes::Each => (
                "32- or 64-bit floats, without conversion,".to_string(),
                "Rows of either float type are accepted: there is code for each.",
            ),
            AcceptedRowTypes::Narrow => (
                "32-bit floats only".to_string(),
                "Rows are 32-bit floats: 64-bit floats would have to be rounded, and are refused.",
            ),
        }
    }
}

/// Characters of the longest prefix. C99 guarantees only 31 significant characters of an external name, but
/// today's compilers keep far more.
const MAX_PREFIX_LENGTH: usize = 64;

/// Whether exported names can start with `prefix`: a C identifier that neither C nor the runtime reserves.
pub fn is_valid_prefix(prefix: &str) -> bool {
    let mut bytes = prefix.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    starts_well
        && prefix.len() <= MAX_PREFIX_LENGTH
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && prefix != "schedc_rt"
}

/// Returns the header that declares an artefact's exported functions, for C and C++. `prefix` must pass
/// [`is_valid_prefix`].
pub fn header(prefix: &str, constants: &HeaderInfo) -> String {
    let HeaderInfo { num_features, columns, has_categories, types, rows } = *constants;
    let bits = |scalar: Scalar| (8 * scalar.bytes()).to_string();
    let (read_rows, other_rows) = rows.words(types);
    let float = |scalar| if scalar == Scalar::F64 { "double" } else { "float" };
    let encode = if has_categories { ENCODE_DECLARATION } else { "" };
    HEADER_TEMPLATE
        .replace("@ENCODE@", encode)
        .replace("@KINDS@", &output_enumerators())
        .replace("@READ_ROWS@", &read_rows)
        .replace("@OTHER_ROWS@", other_rows)
        .replace("@SUM_BITS@", &bits(types.margins))
        .replace("@RESULT@", float(types.results))
        .replace("@SUM@", float(types.margins))
        .replace("@ABI@", &ABI_VERSION.to_string())
        .replace("@FEATURES@", &num_features.to_string())
        .replace("@COLUMNS@", &columns_of_outputs(&columns))
        .replace("@P@", &prefix.to_ascii_uppercase())
        .replace("@p@", prefix)
}

/// The C constants for the number of columns of each output. The name of the one for predictions is a plural.
fn columns_of_outputs(columns: &[usize]) -> String {
    let line = |(kind, columns): (OutputKind, &usize)| {
        let word = kind.word().to_ascii_uppercase();
        let plural = if kind == OutputKind::Value { "S" } else { "" };
        let none = match kind.needs() {
            Needs::Margins | Needs::Finish => "",
            Needs::FinishOrNone | Needs::Walk => "; 0: the model has no such output",
        };
        format!("#define @P@_NUM_{word}{plural} {columns} /* columns of @P@_{word}{none} */")
    };
    OutputKind::ALL.into_iter().zip(columns).map(line).collect::<Vec<_>>().join("\n")
}

/// The entries of the enumeration of outputs.
fn output_enumerators() -> String {
    let entry = |kind: OutputKind| {
        let element = match kind.element() {
            Element::Result => "@RESULT@",
            Element::Sum => "@SUM@",
            Element::Class => "float",
            Element::Leaf => "int32_t",
        };
        let comma = if kind as usize + 1 < OutputKind::ALL.len() { "," } else { "" };
        let constant = format!("@P@_{} = {}{comma}", kind.word().to_ascii_uppercase(), kind as i32);
        format!("    {constant:14} /* {}: {element} */", kind.help())
    };
    OutputKind::ALL.map(entry).join("\n")
}

/// Whether a file is a header that [`header()`] (for any model) or [`loader_header`] has written.
pub fn is_header(bytes: &[u8]) -> bool {
    HEADER_TEMPLATE.lines().next().is_some_and(|mark| bytes.starts_with(mark.as_bytes()))
}

/// Declaration in the header of a model whose categories have names.
const ENCODE_DECLARATION: &str = "\
/* The number that stands for a category of a feature in rows, by its name in UTF-8. NaN, a missing value, for
 * a null pointer, for a name that the model does not know, and for a feature without named categories. */
double @p@_encode(int32_t feature, const char *text);

";

const HEADER_TEMPLATE: &str = include_str!("header.h.in");

/// Returns the header of the loader: functions for C and C++ that open shared libraries by their paths, with
/// any prefix.
pub fn loader_header() -> String {
    let between = |text: &'static str, start: &str, end: &str| -> Option<&'static str> {
        let (_, rest) = text.split_once(start)?;
        rest.split_once(end).map(|(found, _)| found)
    };
    // This header repeats the declarations of calls, kinds and statuses from the header of a model.
    let call = between(HEADER_TEMPLATE, "#define @P@_CALL_DECLARED\n", "#endif /* @P@_CALL_DECLARED */")
        .unwrap_or_default();
    LOADER_TEMPLATE
        .replace("@CALL@", call)
        .replace("@KINDS@", &output_enumerators())
        .replace(
            "@OTHER_ROWS@",
            "Rows of 64-bit floats are refused by libraries of models that would have to round them.",
        )
        .replace("@p@_num_outputs(kind)", "schedc_model_num_outputs(model, kind)")
        .replace(
            "n_rows * @P@_NUM_RAW numbers of type @RESULT@",
            "a number for each margin of each row, of the type of margins",
        )
        .replace("@RESULT@", "float or double")
        .replace("@SUM@", "float or double")
        .replace("@ABI@", &ABI_VERSION.to_string())
        .replace("@P@", "SCHEDC")
        .replace("@p@", "schedc")
}

const LOADER_TEMPLATE: &str = include_str!("loader.h.in");
