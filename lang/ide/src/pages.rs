//! The book's pages about directives, as far as a hover shows them.

use sched_lang::directives::Signature;

/// The first paragraph of the page's rule, with the texts of its links in their place.
pub(super) fn rule(signature: &Signature) -> Option<String> {
    let text = signature.page.replace("\r\n", "\n");
    let (_, rule) = text.split_once("\n## Rule\n")?;
    let paragraph = rule.trim_start().split("\n\n").next()?;
    Some(without_links(&paragraph.replace('\n', " ")))
}

/// `[text](target)` becomes `text`.
fn without_links(text: &str) -> String {
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
