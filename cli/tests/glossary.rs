//! Checks that sources and documents do not use the words that `docs/glossary.md` replaces.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Ordinary words that documents may not use outside of code, since the glossary has others for their ideas.
const GONE_FROM_PROSE: &[&str] =
    &["coded", "coding", "fact", "facts", "hopping", "leaf numbers", "rank", "ranks", "swept", "turned"];

/// Documents that may contain replaced words: the glossary, and the history of releases.
const EXEMPT: &[&str] = &["docs/glossary.md", "CHANGELOG.md"];

/// Folders without sources or documents of this project.
const FOREIGN: &[&str] = &["target", "node_modules", ".git"];

/// Begin of every table's header in the glossary.
const HEADER: &str = "| instead of | term |";

fn repository() -> Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?)
}

/// The parts of a text between backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words that the tables of the glossary replace.
fn replaced(glossary: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut in_table = false;
    for line in glossary.lines() {
        in_table = line.starts_with(HEADER) || in_table && line.starts_with('|');
        if in_table {
            let first = line.trim_start_matches('|').split(" | ").next().unwrap_or_default();
            words.extend(in_backticks(first));
        }
    }
    words
}

/// Whether a text contains `word` as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// A document without code blocks and code in backticks.
fn prose(document: &str) -> String {
    let mut kept = String::new();
    for (number, block) in document.split("```").enumerate() {
        if number % 2 == 0 {
            kept.extend(block.split('`').step_by(2).flat_map(|text| [text, "\n"]));
        }
    }
    kept
}

/// All files below a folder with one of these extensions.
fn files(folder: &Path, extensions: &[&str], into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            if !FOREIGN.iter().any(|name| path.ends_with(name)) {
                files(&path, extensions, into)?;
            }
        } else if path.extension().is_some_and(|ext| extensions.iter().any(|known| ext == *known)) {
            into.push(path);
        }
    }
    Ok(())
}

/// All files of the repository with these extensions in which replaced words are forbidden.
fn texts(extensions: &[&str]) -> Result<Vec<(PathBuf, String)>> {
    let repository = repository()?;
    let mut paths = Vec::new();
    files(&repository, extensions, &mut paths)?;
    let own = Path::new(file!()).file_name().ok_or("this test is a file")?;
    paths.retain(|path| !path.ends_with(own) && !EXEMPT.iter().any(|exempt| path.ends_with(exempt)));
    paths.sort();
    assert!(paths.len() > 20, "only {} files were found", paths.len());
    paths
        .into_iter()
        .map(|path| Ok((path.strip_prefix(&repository)?.to_path_buf(), fs::read_to_string(&path)?)))
        .collect()
}

/// Lines with one of the words.
fn uses(texts: &[(PathBuf, String)], words: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in texts {
        for (number, line) in text.lines().enumerate() {
            let found = words.iter().filter(|word| has_word(line, word));
            problems.extend(found.map(|word| format!("{}: line {}: `{word}`", path.display(), number + 1)));
        }
    }
    problems
}

#[test]
fn replaced_words_stay_out_of_sources_and_documents() -> Result<()> {
    let glossary = fs::read_to_string(repository()?.join("docs/glossary.md"))?;
    let words = replaced(&glossary);
    assert!(words.len() > 60, "only {} replaced words were found", words.len());
    let texts = texts(&["rs", "c", "h", "lalrpop", "py", "ts", "lua", "sched", "md"])?;
    let problems = uses(&texts, &words);
    assert!(problems.is_empty(), "docs/glossary.md has other words for these:\n{}", problems.join("\n"));
    Ok(())
}

#[test]
fn replaced_words_stay_out_of_prose() -> Result<()> {
    let documents: Vec<_> = texts(&["md"])?.into_iter().map(|(path, text)| (path, prose(&text))).collect();
    let mut problems = Vec::new();
    for (path, text) in &documents {
        let found = GONE_FROM_PROSE.iter().filter(|word| has_word(text, word));
        problems.extend(found.map(|word| format!("{}: `{word}`", path.display())));
    }
    assert!(problems.is_empty(), "docs/glossary.md has other words for these:\n{}", problems.join("\n"));
    Ok(())
}

#[test]
fn words_are_found_as_wholes() {
    assert!(has_word("a hop, then", "hop") && has_word("hop", "hop"));
    assert!(!has_word("a shop hops hop_count", "hop"));
    let table = "| instead of | term |\n|---|---|\n| `hop`, `hops` | **step** `s` |\n\n| `other` | x |\n";
    assert_eq!(replaced(table), ["hop", "hops"]);
    assert_eq!(uses(&[("a.md".into(), "one\nhops".to_string())], &["hop", "hops"]), ["a.md: line 2: `hops`"]);
    assert!(!has_word(&prose("walk ```console\nhop\n``` and `hop` here"), "hop"));
}
