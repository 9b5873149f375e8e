//! Codes in comments: `allow(S0090)`.

use sched_grammar::ast::{Comment, Span};

use super::answer::{Hover, touches};
use sched_lang::diagnostics::{Severity, codes};

/// Hover of the code under the cursor: its title, and the first paragraph of its page.
pub(super) fn hover(comment: &Comment, offset: usize) -> Option<Hover> {
    let base = comment.span.start as usize;
    for (at, _) in comment.text.match_indices(['S', 's']) {
        let Some(text) = comment.text.get(at..at + 5) else { continue };
        let span = Span::new(base + at, base + at + text.len());
        let Some(code) = codes::find(text).filter(|_| touches(span, offset)) else { continue };
        let effect = match code.severity() {
            Severity::Error => "An error: no comment can silence it.",
            _ => "In `allow(...)` this silences it in the whole file.",
        };
        let about = summary(code.page());
        let markdown =
            format!("**{code}** ({}): {}\n\n{about}\n\n{effect}", code.severity().name(), code.title());
        return Some(Hover::new(span, markdown).page(format!("errors/{code}")));
    }
    None
}

/// The first paragraph of a page, after its headline.
fn summary(page: &str) -> String {
    let paragraphs = page.split("\n\n").map(str::trim);
    paragraphs.skip(1).find(|text| !text.is_empty()).unwrap_or_default().replace('\n', " ")
}
