//! The table of outputs against the lists in C, Python and the documents, which cannot read it.

use sched_library::{Counts, Kind};
use std::fs;
use std::path::Path;

/// A file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text between the first `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no `{start}`"));
    rest.split_once(end).unwrap_or_else(|| panic!("no `{end}` after `{start}`")).0
}

/// The names and numbers of a C enumeration, without a prefix that all names have.
fn enumerators(body: &str, prefix: &str) -> Vec<(String, i32)> {
    let entries = body.lines().filter_map(|line| line.split_once('='));
    let entry = |(name, value): (&str, &str)| {
        let number: String = value.trim().chars().take_while(char::is_ascii_digit).collect();
        (name.trim().replacen(prefix, "", 1), number.parse().expect("a number"))
    };
    entries.map(entry).collect()
}

/// Words in quotes, in the order of the text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

#[test]
fn numbers_count_outputs_from_zero() {
    for (number, kind) in Kind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number, "{kind:?}");
        assert_eq!(Kind::of_word(kind.word()), Some(kind));
    }
    assert_eq!(Kind::of_word("Value"), None);
    assert_eq!(quoted(&Kind::words(|_| true)), Kind::ALL.map(Kind::word));
}

#[test]
fn columns_are_counts_of_the_model() {
    let counts = Counts { values: 1, margins: 2, classes: 3, trees: 4, tree_values: 5 };
    let kinds = [Kind::Value, Kind::Raw, Kind::Class, Kind::Leaf, Kind::Tree];
    assert_eq!(kinds.map(|kind| kind.columns(&counts)), [1, 2, 3, 4, 5]);
}

#[test]
fn c_has_the_outputs_of_the_table() {
    let wanted: Vec<(String, i32)> =
        Kind::ALL.into_iter().map(|kind| (kind.word().to_uppercase(), kind as i32)).collect();
    let api = text("codegen/llvm/runtime/api.h");
    let body = between(&api, "/* Kinds of output. */\nenum {", "};");
    assert_eq!(enumerators(body, "SCHEDC_KIND_"), wanted);
    let header = text("codegen/llvm/src/header.h.in");
    assert_eq!(enumerators(between(&header, "/* Output kinds. */\nenum {", "};"), "@P@_"), wanted);
    let (runtime, page) = (text("codegen/llvm/runtime/call.c"), text("docs/c-api.md"));
    for (name, _) in wanted {
        let cases = runtime.matches(&format!("case SCHEDC_KIND_{name}:")).count();
        assert!(cases >= 2, "call.c answers for the columns and the kernels of {name}: {cases} cases");
        assert!(page.contains(&format!("`SCHEDC_{name}`")), "docs/c-api.md describes SCHEDC_{name}");
        if name != "VALUE" {
            assert!(header.contains(&format!("#define @P@_NUM_{name} ")), "columns of {name} in headers");
        }
    }
}

#[test]
fn python_has_the_outputs_of_the_table() {
    let words = Kind::ALL.map(Kind::word);
    let stub = text("python/runtime/schedc_runtime/_native.pyi");
    assert_eq!(quoted(between(&stub, "Output = Literal[", "]")), words);
    // Batches and fitted objects have fewer outputs, with the words and headings of the table.
    for file in ["python/runtime/schedc_runtime/batch.py", "python/compiler/schedc/model.py"] {
        let text = text(file);
        let some = quoted(between(&text, "Output = Literal[", "]")).len();
        assert_eq!(quoted(between(&text, "Output = Literal[", "]")), words[..some], "{file}");
    }
    let batch = text("python/runtime/schedc_runtime/batch.py");
    let headings = quoted(between(&batch, "_HEADINGS = {", "}"));
    for pair in headings.chunks(2) {
        let kind = Kind::of_word(pair[0]).unwrap_or_else(|| panic!("{pair:?}"));
        assert_eq!(pair.get(1), Some(&kind.heading()));
    }
}
