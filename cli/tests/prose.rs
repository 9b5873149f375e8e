//! The rules of CONTRIBUTING.md's "Style" that patterns can see: how comments begin, phrases without an agent
//! or a quantity, lines that are too long, names of types that say nothing, and names and paths in documents
//! that do not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// First words of a comment that leave its subject open, or make a heading of it.
const OPEN_BEGINNINGS: &[&str] =
    &["What", "Those", "That", "The same", "It", "They", "Where", "Why", "How", "Nothing"];

/// Phrases without a quantity or without somebody who acts.
const EMPTY_PHRASES: &[&str] = &["so many", "is told", "are told", "is said", "are said"];

/// Names that say nothing about a type. Each stands for at most one type of the workspace.
const OPEN_NAMES: &str = "Told Found Asked Known Said Run Line Place";

/// Names of the field that several rooms could claim. Each stands for at most one type, too.
const CLAIMED_NAMES: &str =
    "Batch Builder Fault Group Index Level Levels LoopTree Site Sum Tile Trap WalkContext";

/// Longest line of sources and documents, in characters.
const WIDEST: usize = 110;

/// Folders without sources or documents of ours.
const FOREIGN: &[&str] = &["target", "node_modules", ".git", "__pycache__", ".vscode-test", "dist", "out"];

/// Words that may look like names of code in a document, but belong to other people's programs or are
/// placeholders.
const FOREIGN_NAMES: &[&str] = &[];

/// The files of the repository, by path from its root.
fn files() -> Result<Vec<PathBuf>> {
    let root = root()?;
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_symlink() || FOREIGN.iter().any(|name| path.ends_with(name)) {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path.strip_prefix(&root)?.to_path_buf()),
            }
        }
    }
    Ok(files)
}

fn root() -> Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?)
}

/// The texts of the repository with one of these extensions, by path from its root.
fn texts(extensions: &[&str]) -> Result<BTreeMap<PathBuf, String>> {
    let root = root()?;
    let mut files = files()?;
    files.retain(|path| path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known)));
    files.into_iter().map(|path| Ok((path.clone(), fs::read_to_string(root.join(path))?))).collect()
}

/// A comment: the line on which it begins, from 1, and its text without marks, lines joined by spaces.
#[derive(Debug, PartialEq)]
struct Comment {
    line: usize,
    text: String,
}

/// The comments of a source whose comments fill whole lines after one of these marks. Neighbouring lines with
/// the same mark are one comment.
fn comments(source: &str, marks: &[&str]) -> Vec<Comment> {
    let mut all: Vec<Comment> = Vec::new();
    let mut last: Option<&str> = None;
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let mark = marks.iter().copied().find(|mark| line.starts_with(mark));
        if let Some(mark) = mark {
            let text = line[mark.len()..].trim();
            match all.last_mut().filter(|_| last == Some(mark)) {
                Some(comment) => comment.text.extend([" ", text]),
                None => all.push(Comment { line: number + 1, text: text.to_string() }),
            }
        }
        last = mark;
    }
    all
}

/// The comments of a source between `/*` and `*/`, without the stars in front of their lines.
fn block_comments(source: &str) -> Vec<Comment> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(begin) = source[at..].find("/*").map(|begin| at + begin) {
        let end = source[begin..].find("*/").map_or(source.len(), |end| begin + end);
        let lines = source[begin..end].lines();
        let words: Vec<&str> = lines.map(|line| line.trim().trim_start_matches(['/', '*']).trim()).collect();
        let line = source[..begin].matches('\n').count() + 1;
        all.push(Comment { line, text: words.join(" ").trim().to_string() });
        at = end;
    }
    all
}

/// The comments of a file, by its extension.
fn comments_of(path: &Path, source: &str) -> Vec<Comment> {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "rs" | "lalrpop" => comments(source, &["///", "//!", "//"]),
        "c" | "h" | "ts" | "js" | "in" => {
            let mut all = comments(source, &["//"]);
            all.extend(block_comments(source));
            all
        }
        "py" | "sh" | "toml" | "yml" => comments(source, &["#"]),
        "lua" => comments(source, &["--"]),
        _ => Vec::new(),
    }
}

/// Whether a text begins with these words as wholes.
fn begins_with(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
}

/// The lines, from 1, on which a text has a phrase as whole words, in upper or lower case.
fn lines_with(text: &str, phrase: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |line: &str| {
        line.match_indices(phrase).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + phrase.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    let lines = text.lines().enumerate();
    lines.filter(|(_, line)| has(&line.to_lowercase())).map(|(number, _)| number + 1).collect()
}

/// A document without blocks of code.
fn without_blocks(document: &str) -> String {
    let mut open = false;
    let mut kept = String::new();
    for line in document.lines() {
        let fence = line.trim_start().starts_with("```");
        if !open && !fence {
            kept.push_str(line);
        }
        kept.push('\n');
        open ^= fence;
    }
    kept
}

/// The parts of a document between single backticks, with their lines.
fn in_backticks(document: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (number, line) in without_blocks(document).lines().enumerate() {
        let parts = line.split('`').skip(1).step_by(2);
        all.extend(parts.map(|part| (number + 1, part.to_string())));
    }
    all
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn comments_begin_with_their_subject() -> Result<()> {
    let mut problems = Vec::new();
    let mut seen = 0;
    for (path, source) in texts(&["rs", "lalrpop", "c", "h", "in", "py", "ts", "sh", "lua", "yml"])? {
        for comment in comments_of(&path, &source) {
            seen += 1;
            let open = OPEN_BEGINNINGS.iter().find(|words| begins_with(&comment.text, words));
            problems.extend(open.map(|words| format!("{}:{}: {words}", path.display(), comment.line)));
        }
    }
    assert!(seen > 10_000, "only {seen} comments were found");
    assert_none(&problems);
    Ok(())
}

#[test]
fn quantities_have_names_and_somebody_acts() -> Result<()> {
    let mut problems = Vec::new();
    let own = Path::new(file!()).file_name().ok_or("this test is a file")?;
    for (path, text) in
        texts(&["rs", "lalrpop", "c", "h", "in", "py", "ts", "sh", "lua", "yml", "md", "json"])?
    {
        if path.ends_with(own) || path.ends_with("package-lock.json") {
            continue;
        }
        for phrase in EMPTY_PHRASES {
            let lines = lines_with(&text, phrase);
            problems.extend(lines.iter().map(|line| format!("{}:{line}: {phrase}", path.display())));
        }
    }
    assert_none(&problems);
    Ok(())
}

#[test]
fn lines_fit_a_page() -> Result<()> {
    let mut problems = Vec::new();
    for (path, text) in texts(&["rs", "lalrpop", "c", "h", "py", "ts", "sh", "lua", "md"])? {
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        let text = if is_document { without_blocks(&text) } else { text };
        for (number, line) in text.lines().enumerate() {
            // Tables and addresses cannot be broken.
            let whole = is_document && (line.starts_with('|') || line.contains("](")) || line.contains("://");
            if line.chars().count() > WIDEST && !whole {
                problems.push(format!("{}:{}: {}", path.display(), number + 1, line.chars().count()));
            }
        }
    }
    assert_none(&problems);
    Ok(())
}

#[test]
fn open_names_stand_for_one_type_at_most() -> Result<()> {
    let names: Vec<&str> = OPEN_NAMES.split(' ').chain(CLAIMED_NAMES.split(' ')).collect();
    let mut homes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, source) in texts(&["rs"])? {
        for (number, line) in source.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for pair in words.windows(2).filter(|pair| ["struct", "enum", "type", "trait"].contains(&pair[0]))
            {
                if let Some(name) = names.iter().copied().find(|name| *name == pair[1]) {
                    homes.entry(name).or_default().push(format!("{}:{}", path.display(), number + 1));
                }
            }
        }
    }
    let several = homes.iter().filter(|(_, homes)| homes.len() > 1);
    let problems: Vec<String> =
        several.map(|(name, homes)| format!("{name}: {}", homes.join(", "))).collect();
    assert_none(&problems);
    Ok(())
}

/// Folders and files of the repository, each by all its trailing parts: `a/b/c.rs`, `b/c.rs`, `c.rs`.
fn trailing_parts(paths: impl Iterator<Item = PathBuf>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for path in paths {
        for path in path.ancestors() {
            let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
            all.extend((0..parts.len()).map(|first| parts[first..].join("/")));
        }
    }
    all
}

/// Whether the text in backticks is the path of a source, or of something in a folder of the repository.
fn is_path(text: &str, top: &BTreeSet<String>) -> bool {
    let plain = text.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    let is_placeholder = text.contains("NAME");
    let is_source = [".rs", ".lalrpop"].iter().any(|end| text.ends_with(end));
    let in_folder = text.split_once('/').is_some_and(|(first, _)| top.contains(first));
    plain && !is_placeholder && text.starts_with(char::is_alphanumeric) && (is_source || in_folder)
}

/// The names of Rust code in a text in backticks: the last two of `module::Name`, or a type's name alone.
fn code_names(text: &str) -> Vec<&str> {
    let text = text.split(['(', '<', '{']).next().unwrap_or_default();
    let parts: Vec<&str> = text.split("::").collect();
    let is_name = |part: &&str| {
        part.starts_with(char::is_alphabetic) && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    if parts.len() < 2 || !parts.iter().all(is_name) {
        return Vec::new();
    }
    parts[parts.len() - 2..].to_vec()
}

/// The glossary without the first columns of its tables, which list replaced names.
fn prescribed(glossary: &str) -> String {
    let row = |line: &str| line.split(" | ").skip(1).collect::<Vec<_>>().join(" | ");
    let lines = glossary.lines().map(|line| if line.starts_with('|') { row(line) } else { line.to_string() });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn names_and_paths_in_documents_exist() -> Result<()> {
    let sources = texts(&[
        "rs", "lalrpop", "c", "h", "in", "py", "ts", "sh", "toml", "json", "lua", "sched", "md", "svg",
    ])?;
    let parts = trailing_parts(files()?.into_iter());
    let top: BTreeSet<String> = sources
        .keys()
        .filter(|path| path.components().count() > 1)
        .filter_map(|path| path.iter().next()?.to_str().map(str::to_string))
        .collect();
    let mut words = BTreeSet::new();
    for (_, source) in sources.iter().filter(|(path, _)| path.extension().is_some_and(|end| end != "md")) {
        words.extend(source.split(|c: char| !c.is_alphanumeric() && c != '_'));
    }
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, document) in sources.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "md"))
    {
        if path.ends_with("CHANGELOG.md") {
            continue;
        }
        let is_glossary = path.ends_with("docs/glossary.md");
        let document = if is_glossary { prescribed(document) } else { document.clone() };
        for (line, text) in in_backticks(&document) {
            let place = format!("{}:{line}", path.display());
            if is_path(&text, &top) {
                checked += 1;
                if !parts.contains(text.trim_end_matches('/')) {
                    problems.push(format!("{place}: no file {text}"));
                }
                continue;
            }
            for name in code_names(&text) {
                checked += 1;
                if !words.contains(name) && !FOREIGN_NAMES.contains(&name) && !parts.contains(name) {
                    problems.push(format!("{place}: no code has the name {name} of {text}"));
                }
            }
        }
    }
    assert!(checked > 200, "only {checked} names and paths were found");
    assert_none(&problems);
    Ok(())
}

#[test]
fn the_checks_see_what_they_look_for() {
    let source = "/// What is\n/// left.\nfn f() {}\n// Fine\n";
    let found = comments(source, &["///", "//"]);
    assert_eq!(found[0], Comment { line: 1, text: "What is left.".into() });
    assert_eq!(found.len(), 2);
    assert_eq!(block_comments("x\n/* A\n * b */\n/** It */")[1], Comment { line: 4, text: "It".into() });
    assert!(begins_with("It is", "It") && !begins_with("Items", "It"));
    assert_eq!(lines_with("a\nSo many rows\nso manyfold", "so many"), [2]);
    assert_eq!(in_backticks("a `b` c\n```\n`x`\n```\n`d`"), [(1, "b".into()), (5, "d".into())]);
    assert_eq!(code_names("a::b::C"), ["b", "C"]);
    assert!(code_names("word").is_empty());
}
