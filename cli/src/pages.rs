//! The pages of all codes: those of schedules come with the language, the others, which are about models, data, compiling
//! and LLVM, are kept here.

use sched_lang::diagnostics::CODES;

/// Several pages in one text each; a page begins with `# CODE: title`.
const FILES: [&str; 4] = [
    include_str!("explain/models.md"),
    include_str!("explain/data.md"),
    include_str!("explain/compile.md"),
    include_str!("explain/llvm.md"),
];

/// A page about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The code, such as `M0003`.
    pub code: &'a str,
    /// The code in a few words.
    pub title: &'a str,
    /// The page, in Markdown.
    pub text: &'a str,
}

/// All pages: schedules, models, data, compiling, LLVM.
pub fn pages() -> Vec<Page<'static>> {
    let schedules = CODES.iter().filter_map(|info| page(code.page()));
    schedules.chain(FILES.into_iter().flat_map(split)).collect()
}

/// The page of a code, however it is capitalised.
pub fn find(code: &str) -> Option<Page<'static>> {
    let (letter, number) = code.split_at_checked(1)?;
    let code = format!("{letter}{number:0>4}");
    pages().into_iter().find(|page| page.code.eq_ignore_ascii_case(&code))
}

/// The pages of a file.
fn split(file: &'static str) -> impl Iterator<Item = Page<'static>> {
    let mut rest = file;
    std::iter::from_fn(move || {
        let end = rest.get(1..)?.find("\n# ").map_or(rest.len(), |at| at + 2);
        let (text, after) = rest.split_at(end);
        rest = after;
        page(text)
    })
}

fn page(text: &str) -> Option<Page<'_>> {
    let heading = text.lines().next()?.strip_prefix("# ")?;
    let (code, title) = heading.split_once(": ")?;
    Some(Page { code, title, text: text.trim_end() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Codes of the other families that stand in the sources of a folder.
    fn codes_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                codes_in(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let words = text.split(|c: char| !c.is_ascii_alphanumeric());
                let is_code = |word: &&str| {
                    word.len() == 5
                        && word.starts_with(['M', 'D', 'C', 'L'])
                        && word[1..].bytes().all(|byte| byte.is_ascii_digit())
                };
                found.extend(words.filter(is_code).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_code_has_one_page_and_every_page_a_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut used = BTreeSet::new();
        for folder in ["forest/src", "cli/data/src", "codegen/ir/src", "codegen/llvm/src"] {
            codes_in(&root.join(folder), &mut used);
        }
        let own: Vec<_> = pages().into_iter().filter(|page| !page.code.starts_with('S')).collect();
        let known: BTreeSet<String> = own.iter().map(|page| page.code.to_owned()).collect();
        assert_eq!(known.len(), own.len(), "a code has two pages");
        assert_eq!(known, used);
        let schedules = pages().iter().filter(|page| page.code.starts_with('S')).count();
        assert_eq!(schedules, CODES.len());
    }

    #[test]
    fn pages_have_a_title_a_text_and_a_way_out() {
        for code in sched_forest::codes::ALL {
            assert_eq!(find(&code.to_string()).map(|page| page.title), Some(code.title()));
        }
        for page in FILES.into_iter().flat_map(split) {
            assert!(page.text.starts_with(&format!("# {}: {}\n\n", page.code, page.title)), "{page:?}");
            assert!(page.text.contains("\n\nWay out: ") && page.text.ends_with('.'), "{page:?}");
            assert_eq!(page.text.matches("\n# ").count(), 0, "{page:?}");
        }
    }

    #[test]
    fn codes_are_found_however_they_are_written() {
        assert_eq!(find("m0003").map(|page| page.code), Some("M0003"));
        assert_eq!(find("S0022").map(|page| page.title), Some("wrong kind of argument"));
        assert_eq!(find("S9999"), None);
        assert_eq!(find(""), None);
    }
}
