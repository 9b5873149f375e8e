//! The rules of CONTRIBUTING.md's "Style" that patterns can see: how comments begin, phrases without an agent
//! or a quantity, lines that are too long, names of types that say nothing, and names and paths in documents
//! that do not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// First words of a comment that leave its subject open, or make a heading of it.
const OPEN_BEGINNINGS: &[&str] =
    &["What", "Those", "That", "The same", "It", "They", "Where", "Why", "How", "Nothing"];

/// Phrases without a quantity or without somebody who acts.
const EMPTY_PHRASES: &[&str] = &["so many", "as many as", "is told", "are told", "is said", "are said"];

/// Names that say nothing about a type. Each stands for at most one type of the workspace.
const OPEN_NAMES: &str = "Told Found Asked Known Said Run Line Place";

/// Names of the field that several rooms could claim. Each stands for at most one type, too.
const CLAIMED_NAMES: &str =
    "Batch Builder Fault Group Index Level Levels LoopTree Site Sum Tile Trap WalkContext";

/// Names that several types may have, each with the reason.
const SHARED_NAMES: &[(&str, &str)] =
    &[("Result", "as in the standard library, with the module's own error")];

/// Longest line of sources and documents, in characters.
const WIDEST: usize = 110;

/// Kinds of files with comments.
const SOURCES: &[&str] =
    &["rs", "lalrpop", "c", "h", "in", "py", "pyi", "ts", "js", "sh", "run", "lua", "toml", "yml", "yaml"];

/// Folders without sources or documents of ours.
const FOREIGN: &[&str] = &["target", "node_modules", ".git", "__pycache__", ".vscode-test", "dist", "out"];

/// Names in documents that no source contains: those of other people's programs, those of generated headers
/// (`SCHEDC_LEAF`), and examples.
const FOREIGN_NAMES: &[&str] = &[
    "CUDA_LIBRARY_PATH",
    "CatBoostRanker",
    "GradientBoosting",
    "HistGradientBoosting",
    "IRBuilder",
    "SCHEDC_ABI_VERSION",
    "SCHEDC_CLASS",
    "SCHEDC_DEVICE",
    "SCHEDC_HOST",
    "SCHEDC_LEAF",
    "SCHEDC_NUM_CLASS",
    "SCHEDC_NUM_LEAF",
    "SCHEDC_TREE",
    "TUMOUR_OK",
    "ValueMap",
    "permutation_importance",
    "pred_early_stop",
    "prob_b",
    "schedc_encode",
    "schedc_feature_name",
    "shared_ptr",
    "storage_type",
    "threshold_in_bin",
    "tumour_predict",
];

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

/// The kind of a text: the extension of its file, or the file's name if it has none (`.ci/run`).
fn kind(path: &Path) -> &str {
    path.extension().or(path.file_name()).and_then(|kind| kind.to_str()).unwrap_or_default()
}

/// The texts of the repository of one of these kinds, by path from its root.
fn texts(kinds: &[&str]) -> Result<BTreeMap<PathBuf, String>> {
    let root = root()?;
    let mut files = files()?;
    files.retain(|path| kinds.contains(&kind(path)));
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

/// The comments of a file, by its kind.
fn comments_of(path: &Path, source: &str) -> Vec<Comment> {
    match kind(path) {
        "rs" | "lalrpop" => comments(source, &["///", "//!", "//"]),
        "c" | "h" | "ts" | "js" | "in" => {
            let mut all = comments(source, &["//"]);
            all.extend(block_comments(source));
            all
        }
        "py" | "pyi" | "sh" | "run" | "toml" | "yml" | "yaml" => comments(source, &["#"]),
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
    for (path, source) in texts(SOURCES)? {
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
    for (path, text) in texts(&[SOURCES, &["md", "json"]].concat())? {
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
    for (path, text) in texts(&[SOURCES, &["md"]].concat())? {
        let is_document = kind(&path) == "md";
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

/// The type that a line of source begins to define: its keyword and its name.
fn type_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let (keyword, rest) = line.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_type = ["struct", "enum", "union", "trait", "type"].contains(&keyword);
    (is_type && name.starts_with(char::is_uppercase)).then_some((keyword, name))
}

/// The types that a source defines, each with its line, without those of unit tests and without associated
/// types. rustfmt puts the end of a block at the indentation of its first line.
fn types_of(source: &str) -> Vec<(usize, &str)> {
    let mut types = Vec::new();
    let (mut end_of_tests, mut end_of_items): (Option<String>, Option<String>) = (None, None);
    let mut previous = "";
    for (number, line) in source.lines().enumerate() {
        let code = line.trim_start();
        let end = || Some(format!("{}}}", &line[..line.len() - code.len()]));
        let is_open = !line.ends_with('}') && !line.ends_with(';');
        let defined = type_of(line);
        for block in [&mut end_of_tests, &mut end_of_items] {
            block.take_if(|end| end == line);
        }
        if is_open && code.contains("mod ") && previous.starts_with("#[cfg(test)]") {
            end_of_tests = end();
        }
        if let Some((keyword, name)) = defined
            && end_of_tests.is_none()
            && (keyword != "type" || end_of_items.is_none())
        {
            types.push((number + 1, name));
        }
        let has_items = ["impl ", "impl<", "unsafe impl"].iter().any(|begin| code.starts_with(begin))
            || defined.is_some_and(|(keyword, _)| keyword == "trait");
        if is_open && has_items && end_of_items.is_none() {
            end_of_items = end();
        }
        previous = code;
    }
    types
}

#[test]
fn no_name_stands_for_more_than_one_type() -> Result<()> {
    let mut sources = texts(&["rs"])?;
    // The tests of a crate are programs of their own, as are examples for users.
    let is_other = |part: &OsStr| ["tests", "tests.rs", "examples"].iter().any(|name| part == *name);
    sources.retain(|path, _| !path.iter().any(is_other));
    let mut homes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, source) in &sources {
        for (line, name) in types_of(source) {
            homes.entry(name).or_default().push(format!("{}:{line}", path.display()));
        }
    }
    assert!(homes.len() > 1000, "only {} types were found", homes.len());
    let is_shared = |name: &str| SHARED_NAMES.iter().any(|(shared, _)| *shared == name);
    let several = homes.iter().filter(|(name, homes)| homes.len() > 1 && !is_shared(name));
    let single = SHARED_NAMES.iter().filter(|(name, _)| homes.get(name).is_none_or(|homes| homes.len() == 1));
    let mut problems: Vec<String> =
        several.map(|(name, homes)| format!("{name}: {}", homes.join(", "))).collect();
    problems.extend(single.map(|(name, _)| format!("{name} has one type: remove it from SHARED_NAMES")));
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

/// The names of code in a text in backticks: the last two of `module::Name`, or a name alone. A name alone
/// has an underscore, or begins with a capital and goes on in lower case, as no ordinary word does.
fn code_names(text: &str) -> Vec<&str> {
    let text = text.split(['(', '<', '{']).next().unwrap_or_default();
    let parts: Vec<&str> = text.split("::").collect();
    let is_name = |part: &&str| {
        part.starts_with(char::is_alphabetic) && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let is_camel = text.starts_with(char::is_uppercase) && text.contains(char::is_lowercase);
    let is_marked = parts.len() > 1 || is_camel || text.contains('_');
    if !parts.iter().all(is_name) || !is_marked {
        return Vec::new();
    }
    parts[parts.len().saturating_sub(2)..].to_vec()
}

/// The glossary without the first columns of its tables, which list replaced names.
fn prescribed(glossary: &str) -> String {
    let row = |line: &str| line.split(" | ").skip(1).collect::<Vec<_>>().join(" | ");
    let lines = glossary.lines().map(|line| if line.starts_with('|') { row(line) } else { line.to_string() });
    lines.map(|line| line + "\n").collect()
}

/// The names and paths that the glossary prescribes, each with its line: the column "in code" of its tables.
fn in_code(glossary: &str) -> Vec<(usize, String)> {
    let rows = glossary.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    let rows = rows.filter(|(_, line)| !line.starts_with("| instead of |"));
    let cells = rows.filter_map(|(number, line)| Some((number + 1, line.split('|').nth(4)?)));
    let names = cells.flat_map(|(line, cell)| {
        let names = cell.split([',', ';']).map(|name| name.replace('`', "").trim().to_string());
        names.filter(|name| !name.is_empty()).map(move |name| (line, name))
    });
    names.collect()
}

/// The words and paths of the repository, of which documents may speak.
struct Vocabulary {
    /// Words of all sources, without documents and this file.
    words: BTreeSet<String>,
    /// Trailing parts of all paths.
    paths: BTreeSet<String>,
    /// Folders of the root.
    top: BTreeSet<String>,
}

impl Vocabulary {
    fn read() -> Result<Vocabulary> {
        let sources = texts(&[
            "rs", "lalrpop", "c", "h", "in", "py", "pyi", "ts", "sh", "toml", "json", "lua", "sched", "svg",
        ])?;
        let own = Path::new(file!()).file_name().ok_or("this test is a file")?;
        let others = sources.iter().filter(|(path, _)| !path.ends_with(own));
        let words = others.flat_map(|(_, source)| words_of(source)).map(str::to_string).collect();
        let folders = sources.keys().filter(|path| path.components().count() > 1);
        let top = folders.filter_map(|path| path.iter().next()?.to_str().map(str::to_string)).collect();
        Ok(Vocabulary { words, paths: trailing_parts(files()?.into_iter()), top })
    }

    /// The missing parts of a text from a document: the path that it is, or some of `names`.
    fn missing<'t>(&self, text: &'t str, names: impl IntoIterator<Item = &'t str>) -> Vec<String> {
        if is_path(text, &self.top) {
            let path = text.trim_end_matches('/');
            let exists = self.paths.contains(path);
            return (!exists).then(|| format!("no file {text}")).into_iter().collect();
        }
        let is_known = |name: &str| self.words.contains(name) || self.paths.contains(name);
        let unknown = names.into_iter().filter(|name| !is_known(name) && !FOREIGN_NAMES.contains(name));
        unknown.map(|name| format!("no code has the name {name} of {text}")).collect()
    }
}

/// The words of a text, split as names of code are.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[test]
fn names_and_paths_in_documents_exist() -> Result<()> {
    let vocabulary = Vocabulary::read()?;
    let (mut problems, mut checked, mut foreign) = (Vec::new(), 0, BTreeSet::<&str>::new());
    for (path, document) in texts(&["md"])? {
        if path.ends_with("CHANGELOG.md") {
            continue;
        }
        let is_glossary = path.ends_with("docs/glossary.md");
        let document = if is_glossary { prescribed(&document) } else { document };
        for (line, text) in in_backticks(&document) {
            let names = code_names(&text);
            checked += usize::from(!names.is_empty() || is_path(&text, &vocabulary.top));
            foreign.extend(FOREIGN_NAMES.iter().filter(|name| names.contains(name)));
            let missing = vocabulary.missing(&text, names);
            problems.extend(missing.iter().map(|what| format!("{}:{line}: {what}", path.display())));
        }
    }
    assert!(checked > 1000, "only {checked} names and paths were found");
    let stale = |name: &&&str| !foreign.contains(*name) || vocabulary.words.contains(**name);
    problems.extend(FOREIGN_NAMES.iter().filter(stale).map(|name| format!("{name} is not foreign")));
    assert_none(&problems);
    Ok(())
}

#[test]
fn names_that_the_glossary_prescribes_exist() -> Result<()> {
    let vocabulary = Vocabulary::read()?;
    let names = in_code(&fs::read_to_string(root()?.join("docs/glossary.md"))?);
    assert!(names.len() > 150, "only {} names were found", names.len());
    let missing = names.iter().flat_map(|(line, text)| {
        let missing = vocabulary.missing(text, words_of(text));
        missing.into_iter().map(move |what| format!("docs/glossary.md:{line}: {what}"))
    });
    assert_none(&missing.collect::<Vec<_>>());
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
    assert_eq!(code_names("Forest"), ["Forest"]);
    assert_eq!(code_names("tile_lut(tree)"), ["tile_lut"]);
    assert!(code_names("word").is_empty() && code_names("NAN").is_empty());
    let types = "pub(in a::b) trait A {\n    type B: C;\n}\nunsafe impl A for D {}\ntype E = F;\n\
                 impl A for E {\n    type B = G;\n    fn f() {\n        enum H {}\n    }\n}\n\
                 #[cfg(test)]\nmod tests {\n    struct I;\n}\nunion J {}\n";
    assert_eq!(types_of(types), [(1, "A"), (5, "E"), (9, "H"), (16, "J")]);
    let table = "| instead of | term | x | in code | from |\n|---|\n| `a` | b | c | `D::E`, f; `g.rs` | |\n";
    assert_eq!(in_code(table), [(3, "D::E".into()), (3, "f".into()), (3, "g.rs".into())]);
}
