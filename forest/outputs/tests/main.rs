//! The table of outputs, and the lists in C, Python and the documents, which must agree with it.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use sched_outputs::{Element, OutputCounts, OutputKind};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a file of the repository.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The text between the first `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no `{start}`"));
    rest.split_once(end).unwrap_or_else(|| panic!("no `{end}` after `{start}`")).0
}

/// Compares the part of a file between two texts with the wanted text. If `UPDATE` is set, writes the wanted
/// text.
fn keep(name: &str, (start, end): (&str, &str), wanted: &str) {
    let text = text(name);
    let found = between(&text, start, end);
    if found != wanted && std::env::var_os("UPDATE").is_some() {
        let (from, to) = (format!("{start}{found}{end}"), format!("{start}{wanted}{end}"));
        return fs::write(path(name), text.replacen(&from, &to, 1)).unwrap();
    }
    assert_eq!(found, wanted, "{name}: run UPDATE=1 cargo test -p sched-outputs");
}

/// The parts of a text within double quotes, in order.
fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

#[test]
fn numbers_count_outputs_from_zero() {
    for (number, kind) in OutputKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number, "{kind:?}");
        assert_eq!(OutputKind::of_word(kind.word()), Some(kind));
    }
    assert_eq!(OutputKind::of_word("Value"), None);
    assert_eq!(quoted(&OutputKind::words(|_| true)), OutputKind::ALL.map(OutputKind::word));
}

#[test]
fn columns_are_counts_of_the_model() {
    let counts = OutputCounts { values: 1, margins: 2, classes: 3, trees: 4, tree_values: 5 };
    let kinds = [OutputKind::Value, OutputKind::Raw, OutputKind::Class, OutputKind::Leaf, OutputKind::Tree];
    assert_eq!(kinds.map(|kind| kind.columns(&counts)), [1, 2, 3, 4, 5]);
    assert_eq!(kinds.map(|kind| kind.columns_of_code(&counts, true)), [1, 2, 3, 4, 5]);
    assert_eq!(kinds.map(|kind| kind.columns_of_code(&counts, false)), [2, 2, 0, 0, 0]);
}

#[test]
fn c_has_the_outputs_of_the_table() {
    let entry =
        |kind: OutputKind| format!("    SCHEDC_KIND_{} = {},\n", kind.word().to_uppercase(), kind as i32);
    let count = format!("    SCHEDC_NUM_KINDS = {},\n", OutputKind::ALL.len());
    keep("codegen/llvm/runtime/kinds.h", ("enum {\n", "};"), &(OutputKind::ALL.map(entry).concat() + &count));
}

#[test]
fn python_has_the_outputs_of_the_table() {
    let words = OutputKind::ALL.map(OutputKind::word);
    let list = words.map(|word| format!("\"{word}\"")).join(", ");
    keep("python/runtime/schedc_runtime/_native.pyi", ("Output = Literal[", "]"), &list);
    // Batches and fitted objects have the first few outputs only, with the words and headings of the table.
    for file in ["python/runtime/schedc_runtime/batch.py", "python/compiler/schedc/model.py"] {
        let text = text(file);
        let some = quoted(between(&text, "Output = Literal[", "]"));
        assert_eq!(some, words[..some.len()], "{file}");
    }
    let batch = text("python/runtime/schedc_runtime/batch.py");
    let headings = quoted(between(&batch, "_HEADINGS = {", "}"));
    for pair in headings.chunks(2) {
        let kind = OutputKind::of_word(pair[0]).unwrap_or_else(|| panic!("{pair:?}"));
        assert_eq!(pair.get(1), Some(&kind.heading()));
    }
}

#[test]
fn documents_have_the_outputs_of_the_table() {
    let row = |kind: OutputKind| {
        let (word, help) = (kind.word().to_uppercase(), kind.help());
        let element = match kind.element() {
            Element::Result => "the model's type of results",
            Element::Sum => "the model's type of sums",
            Element::Class => "`float`",
            Element::Leaf => "`int32_t`",
        };
        format!("| `SCHEDC_{word}` | {} | {help} | {element} |\n", kind as i32)
    };
    let head = "| kind | number | meaning | elements |\n|---|---|---|---|\n";
    keep("docs/c-api.md", (head, "\nThe "), &OutputKind::ALL.map(row).concat());
}

#[test]
fn forests_have_the_definitions_of_the_table() {
    let file = "forest/src/definitions/mod.rs";
    let arm =
        |kind: OutputKind| format!("            OutputKind::{kind:?} => {}::DEFINITION,\n", kind.word());
    keep(file, ("match kind {\n", "        }"), &OutputKind::ALL.map(arm).concat());
    let mut words = OutputKind::ALL.map(OutputKind::word);
    words.sort_unstable();
    let modules = words.map(|word| format!("mod {word};\n"));
    keep(file, ("write these lists.\n", "\nuse "), &modules.concat());
}
