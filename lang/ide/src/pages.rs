//! The book's pages about directives, as far as a hover shows them.

use sched_lang::directives::Signature;
use sched_lang::pages::without_links;

/// The first paragraph of the page's rule, with the texts of its links in their place.
pub(super) fn rule(signature: &Signature) -> Option<String> {
    let text = signature.page.replace("\r\n", "\n");
    let (_, rule) = text.split_once("\n## Rule\n")?;
    let paragraph = rule.trim_start().split("\n\n").next()?;
    Some(without_links(&paragraph.replace('\n', " ")))
}
