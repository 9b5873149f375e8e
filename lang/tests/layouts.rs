//! The table of layouts against the places that name layouts in words of their own.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use sched_lang::directives::{Role, SIGNATURES};
use sched_nest::Layout;
use std::path::Path;

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words between backticks of a text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn a_word_names_one_layout() {
    for layout in Layout::ALL {
        assert_eq!(layout.word().parse(), Ok(*layout));
    }
    assert_eq!("level".parse::<Layout>(), Err(()));
    let words = SIGNATURES.iter().flat_map(|signature| signature.parameters).map(|parameter| parameter.role);
    assert!(words.into_iter().any(|role| role == Role::Keyword(Layout::WORDS)));
}

#[test]
fn documents_name_every_layout() {
    let readme = text("README.md");
    let row = readme.lines().find(|line| line.starts_with("| `representation(")).expect("a row");
    let page = text("docs/book/src/directives/representation.md");
    for layout in Layout::ALL {
        assert!(quoted(row).contains(&layout.word()), "README.md lacks `{}`", layout.word());
        assert!(
            page.contains(&format!("\n- `{}`:", layout.word())),
            "representation.md lacks `{}`",
            layout.word()
        );
    }
}

#[test]
fn editors_colour_every_word_of_an_argument() {
    let grammar = text("editors/vscode/syntaxes/sched.tmLanguage.json");
    let line = |with: &str| grammar.lines().find(|line| line.contains(with)).expect("words of arguments");
    let (words, dimensions) = (line("|uniform|probability)"), line(".[xyz]"));
    for parameter in SIGNATURES.iter().flat_map(|signature| signature.parameters) {
        let Role::Keyword(keywords) = parameter.role else { continue };
        for keyword in keywords {
            let (line, word) =
                keyword.split_once('.').map_or((words, *keyword), |(level, _)| (dimensions, level));
            let is_known = line.split(['(', '|', ')']).any(|known| known == word);
            assert!(is_known, "the grammar of editors lacks `{keyword}`");
        }
    }
}
