//! Completion items and their parts.

use sched_grammar::ast::Span;
use sched_lang::check::WorkBudget;

/// Work that one answer may take. It must be ready between two keystrokes.
pub(super) const WORK: WorkBudget = WorkBudget { whole: 2_000, here: 400 };

/// A completion item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text in the list.
    pub label: String,
    /// The kind of item.
    pub kind: CompletionKind,
    /// A few words beside the label.
    pub detail: String,
    /// The reason for the proposal, in Markdown.
    pub documentation: String,
    /// The replaced text: the word under the cursor.
    pub replace: Span,
    /// The new text.
    pub insert: String,
    /// Whether `insert` is a snippet with places to fill in; `$`, `}` and `\` are escaped then.
    pub is_snippet: bool,
    /// The sort key. Editors show the items in its ascending order.
    pub sort: String,
    /// The text that editors compare with the word under the cursor.
    pub filter: String,
    /// Whether fast schedules usually take this step next.
    pub is_next: bool,
    /// Whether the directive changes the order of accumulation from exact to reassociated.
    pub reassociates: bool,
}

/// The kind of a completion.
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

impl CompletionKind {
    /// Whether completions of this kind are operands, which another character may continue.
    pub fn is_operand(self) -> bool {
        !matches!(self, CompletionKind::Directive | CompletionKind::Keyword)
    }
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
            is_snippet: false,
            sort: String::new(),
            filter: label.clone(),
            is_next: false,
            reassociates: false,
            label,
        }
    }

    /// Whether the proposal is a directive with all its arguments.
    pub fn is_whole_directive(&self) -> bool {
        self.kind == CompletionKind::Directive && self.insert.ends_with(')')
    }

    /// The text after accepting the proposal, if that is a directive with all its arguments.
    pub fn accepted_directive(&self, source: &str) -> Option<String> {
        let (start, end) = (self.replace.start as usize, self.replace.end as usize);
        let (before, after) = (source.get(..start)?, source.get(end..)?);
        self.is_whole_directive().then(|| format!("{before}{}{after}", self.label))
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
        Completion { insert: insert.into(), is_snippet: true, ..self }
    }
}

/// Text with the escapes of a snippet.
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
