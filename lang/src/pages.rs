//! The book's pages about directives, as text for terminals and hovers.

use crate::directives::Signature;

/// The page of a directive without marks of the book: no comments, and links as their texts.
pub fn plain(signature: &Signature) -> String {
    let text = signature.page.replace("\r\n", "\n");
    let is_comment = |line: &&str| line.starts_with("<!--") && line.ends_with("-->");
    // The words after `sched` are for the tests of the book.
    let without_words = |line| if str::starts_with(line, "```sched") { "```sched" } else { line };
    let lines = text.lines().filter(|line| !is_comment(line)).map(without_words);
    without_links(&lines.map(|line| format!("{line}\n")).collect::<String>())
}

/// Replaces `[text](target)` by `text`.
pub fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        match link.split_once("](").and_then(|(text, after)| Some((text, after.split_once(')')?.1))) {
            Some((text, after)) if !text.contains('[') => {
                out.push_str(text);
                rest = after;
            }
            _ => {
                out.push('[');
                rest = link;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::directives::SIGNATURES;

    #[test]
    fn pages_have_no_marks_of_the_book() {
        for signature in SIGNATURES {
            let page = plain(signature);
            assert!(page.starts_with(&format!("# {}\n", signature.name)), "{page}");
            assert!(page.contains("\n## Rule\n"), "{page}");
            assert!(!page.contains("](") && !page.contains("<!--"), "{page}");
        }
    }
}
