//! Compares the table of layouts with the checker, and with other lists of layouts.
//! `UPDATE=1 cargo test -p sched-lang layouts::` writes these lists.
use sched_lang::directives::{Role, SIGNATURES};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_nest::{Layout, Nodes, RowVectors, Shapes};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares the part of a file between two texts with the expected one, or writes it.
fn expect(path: &str, [before, after]: [&str; 2], between: &str) {
    let old = text(path);
    let end = |start: usize| old[start..].find(after).map(|length| start + length);
    let places = old.match_indices(before).map(|(at, _)| at + before.len());
    let places = places.filter_map(|start| end(start).map(|end| start..end));
    let place = places.last().unwrap_or_else(|| panic!("{path} lacks `{before}...{after}`"));
    if std::env::var_os("UPDATE").is_some() {
        let new = format!("{}{between}{}", &old[..place.start], &old[place.end..]);
        std::fs::write(root().join(path), new).unwrap_or_else(|error| panic!("{path}: {error}"));
    } else {
        assert_eq!(&old[place], between, "{path}: UPDATE=1 writes this list");
    }
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

/// The properties in the table hold for the checker.
#[test]
fn the_checker_obeys_the_table() {
    let codes = |facts: &str, text: &str| -> BTreeSet<u16> {
        check(text, &sched_testing::options(facts))
            .diagnostics
            .iter()
            .map(|found| found.code.number())
            .collect()
    };
    for layout in Layout::ALL {
        let line = format!("representation({})", layout.word());
        let too_large = codes("depths=30,2", &line).contains(&84);
        assert_eq!(too_large, layout.nodes() == Nodes::Complete, "{line}: nodes");

        let other_trees = codes("depths=3,3 oblivious=yes,no", &line).contains(&116);
        assert_eq!(other_trees, layout.shapes() == Shapes::Oblivious, "{line}: shapes");

        for target in ["", "target gpu(sm_90)"] {
            let refuses = codes("", &format!("{target}\n{line}\ntileTrees(4)")).contains(&76);
            assert_eq!(refuses, !layout.holds_tiles(), "{target} {line}: tiles");
        }

        let vectors = "reorder(tree, batch)\nvectorize(batch, 8)\nspeculateWalk(batch, 2)";
        let no_steps = codes("", &format!("{vectors}\n{line}")).contains(&101);
        assert_eq!(no_steps, layout.row_vectors() == RowVectors::Sweep, "{line}: vectors of rows");

        let options = CheckOptions { purpose: CheckPurpose::Compile, ..sched_testing::options("trees=3") };
        assert!(check(&line, &options).nest().is_some(), "{line}: refused where code is to be made");
    }
}

/// Texts of layouts in editors are sentences.
#[test]
fn texts_are_sentences() {
    for layout in Layout::ALL {
        let (meaning, smaller) = (layout.meaning(), layout.smaller_layouts());
        assert!(meaning.ends_with('.') && meaning.len() > 20, "`{meaning}`");
        assert!(smaller.len() > 20 && !smaller.ends_with('.'), "`{smaller}`");
        let itself = format!("representation({})", layout.word());
        assert!(!smaller.contains(&itself), "`{itself}` is proposed instead of itself");
    }
}

#[test]
fn the_tour_lists_all_layouts() {
    let words: Vec<String> = Layout::WORDS.iter().map(|word| format!("`{word}`")).collect();
    let (last, others) = words.split_last().expect("layouts");
    let list = format!("{} or {last}", others.join(", "));
    expect("docs/book/src/tour.md", ["the trees' layout in memory: ", " | ✓ |"], &list);
}

#[test]
fn the_book_lists_all_layouts() {
    let mut list = String::new();
    for layout in Layout::ALL {
        let mut line = format!("- `{}`:", layout.word());
        for word in layout.meaning().split(' ') {
            if line.len() + word.len() >= 110 {
                list += &std::mem::replace(&mut line, " ".to_owned());
                list += "\n";
            }
            line += &format!(" {word}");
        }
        list += &format!("{line}\n");
    }
    expect("docs/book/src/directives/representation.md", ["below `v`.\n\n", "\nIn `array`"], &list);
}

#[test]
fn the_code_generator_has_the_formats_of_all_layouts() {
    let file = "codegen/ir/src/repr/layout.rs";
    let arm = |layout: &Layout| format!("        nest::Layout::{layout:?} => {}::FORMATS,\n", layout.word());
    expect(file, ["match layout {\n", "    }\n"], &Layout::ALL.iter().map(arm).collect::<String>());
    let words: BTreeSet<&str> = Layout::WORDS.iter().copied().collect();
    let modules: String = words.into_iter().map(|word| format!("mod {word};\n")).collect();
    expect(file, ["write these lists.\n", "\n/// The formats"], &modules);
}

/// Keywords of arguments, without the GPU dimensions.
fn argument_words() -> Vec<&'static str> {
    let parameters = SIGNATURES.iter().flat_map(|signature| signature.parameters);
    let words = parameters.flat_map(|parameter| match parameter.role {
        Role::Keyword(words) => words,
        _ => &[],
    });
    words.copied().filter(|word| !word.contains('.')).collect()
}

#[test]
fn editors_colour_every_word_of_an_argument() {
    let words = argument_words();
    assert!(words.len() > Layout::ALL.len(), "{words:?}");
    let grammar = "editors/vscode/syntaxes/sched.tmLanguage.json";
    expect(grammar, ["\"match\": \"\\\\b(", ")\\\\b(?=\\\\s*\\\\))\""], &words.join("|"));
    let vim = "editors/neovim/syntax/sched.vim";
    expect(vim, ["syntax match schedWord /\\<\\%(", "\\)\\>\\ze\\s*)/"], &words.join("\\|"));
}

#[test]
fn fuzzers_know_every_directive_and_word() {
    let directives = SIGNATURES.iter().map(|signature| format!("\"{}(\"\n", signature.name));
    let words = argument_words().into_iter().map(|word| format!("\"{word}\"\n"));
    let list: String = directives.chain(words).collect();
    expect("fuzz/sched.dict", ["# Directives and words of their arguments.\n", "# End.\n"], &list);
}
