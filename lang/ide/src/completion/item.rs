//! What is proposed, and how it is made up.

use sched_grammar::ast::Span;
use sched_lang::check::Work;

/// Work that one answer may take: it must come between two keystrokes.
pub(super) const WORK: Work = Work { whole: 1_500, here: 400 };

/// What is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the list shows.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// A few words beside the label.
    pub detail: String,
    /// Why it is proposed, in Markdown.
    pub documentation: String,
    /// What it replaces: the word under the cursor.
    pub replace: Span,
    /// What is written instead.
    pub insert: String,
    /// Whether `insert` is a snippet with places to fill in; `$`, `}` and `\` are escaped then.
    pub snippet: bool,
    /// Ascending order of this is the order of the list.
    pub sort: String,
    /// What the word under the cursor is compared with.
    pub filter: String,
    /// Whether it is a step that fast schedules take next.
    pub is_next: bool,
}

/// What a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the language's own")]
pub enum CompletionKind {
    Directive,
    Index,
    Property,
    Param,
    Const,
    Word,
    Function,
    Keyword,
}

impl Completion {
    pub(super) fn new(kind: CompletionKind, label: impl Into<String>, replace: Span) -> Self {
        let label = label.into();
        Completion {
            kind,
            detail: String::new(),
            documentation: String::new(),
            replace,
            insert: label.clone(),
            snippet: false,
            sort: String::new(),
            filter: label.clone(),
            is_next: false,
            label,
        }
    }

    /// The text with it written where it is proposed, if it is a directive with all its arguments.
    pub fn taken(&self, source: &str) -> Option<String> {
        let (start, end) = (self.replace.start as usize, self.replace.end as usize);
        let is_whole = self.kind == CompletionKind::Directive && self.snippet;
        let (before, after) = (source.get(..start)?, source.get(end..)?);
        is_whole.then(|| format!("{before}{}{after}", self.label))
    }

    pub(super) fn detail(self, detail: impl Into<String>) -> Self {
        Completion { detail: detail.into(), ..self }
    }

    pub(super) fn documentation(self, documentation: impl Into<String>) -> Self {
        Completion { documentation: documentation.into(), ..self }
    }

    pub(super) fn filter(self, filter: impl Into<String>) -> Self {
        Completion { filter: filter.into(), ..self }
    }

    pub(super) fn snippet(self, insert: impl Into<String>) -> Self {
        Completion { insert: insert.into(), snippet: true, ..self }
    }
}

/// Text as it stands in a snippet.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '$' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
