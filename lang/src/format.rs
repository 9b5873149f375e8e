//! The formatter: the same schedule, laid out canonically.
//!
//! - One statement a line, without `;`; single blanks; no blank inside brackets.
//! - A directive, a target or a list of choices is broken if it is longer than [`WIDTH`] or contains
//!   comments: one item a line, indented by four, each with a comma.
//! - The content of a block is indented by four. Its `{` ends the line of its head, and its `}` has a
//!   separate line.
//! - Comments keep their text and their order. Those after the statements of adjacent lines begin in one
//!   column.
//! - At most one blank line in a row, none at the start and the end of the text or a block. Lines end like
//!   the first one.
//!
//! Numbers, strings and parentheses stay as written. The formatter moves text and rewrites nothing.

mod statement;

use sched_grammar::ast::{Comment, ScheduleStmt, Span, StmtKind, When};
use sched_grammar::{Lexeme, SyntaxError, lexemes, parse};

pub use statement::WIDTH;
use statement::{INDENT, OutputLine, StatementParts};

/// Blanks before the comment after a statement.
const COMMENT_GAP: usize = 2;

/// The canonical layout of a schedule. It has the same meaning and comments, and formatting it again changes
/// nothing.
///
/// # Errors
///
/// Syntax errors of the text, which is then not formatted.
pub fn format(source: &str) -> Result<String, Vec<SyntaxError>> {
    format_parts(source).map(|blocks| blocks.into_iter().map(|block| block.text).collect())
}

/// Whole lines of the source, and their formatted text.
pub struct FormattedLines {
    /// Span of the lines with their ends.
    pub span: Span,
    /// Formatted lines, or nothing.
    pub text: String,
}

/// The formatted text in the smallest possible parts. Statements and comments on separate lines are separate
/// parts. The parts cover the source.
pub fn format_parts(source: &str) -> Result<Vec<FormattedLines>, Vec<SyntaxError>> {
    let parsed = parse(source);
    if !parsed.errors.is_empty() {
        return Err(parsed.errors);
    }
    let lexemes = lexemes(source);
    let mut rest = RemainingInput { comments: &parsed.comments, lexemes: &lexemes };
    let mut writer = Writer { source, indent: 0, lines: Vec::new(), end: 0, done: Vec::new() };
    writer.statements(&parsed.file.stmts, &mut rest);
    writer.comments(rest.comments);
    Ok(writer.finish())
}

/// Input that is not yet written.
struct RemainingInput<'a> {
    comments: &'a [Comment],
    lexemes: &'a [Lexeme],
}

impl<'a> RemainingInput<'a> {
    /// Takes the comments before a place.
    fn comments_before(&mut self, end: u32) -> &'a [Comment] {
        take(&mut self.comments, |comment| comment.span.start < end)
    }

    /// Takes the words and signs before a place.
    fn lexemes_before(&mut self, end: u32) -> &'a [Lexeme] {
        take(&mut self.lexemes, |lexeme| lexeme.span.start < end)
    }
}

/// Takes the items at the front that satisfy `test`.
fn take<'a, T>(items: &mut &'a [T], test: impl Fn(&T) -> bool) -> &'a [T] {
    let (taken, rest) = items.split_at(items.iter().take_while(|item| test(item)).count());
    *items = rest;
    taken
}

struct Writer<'s> {
    source: &'s str,
    /// Indent of statements.
    indent: usize,
    lines: Vec<OutputLine>,
    /// End of the written part in the source.
    end: u32,
    /// After each statement and each separate comment: number of lines, and end in the source.
    done: Vec<(usize, u32)>,
}

impl Writer<'_> {
    /// Source between the written part and `next`.
    fn gap(&self, next: Span) -> &str {
        self.source.get(self.end as usize..next.start as usize).unwrap_or_default()
    }

    /// Keeps a blank line before `next`, if there is one.
    fn blank(&mut self, next: Span) {
        let is_blank = self.gap(next).bytes().filter(|byte| *byte == b'\n').count() > 1;
        let is_first = self.lines.last().is_none_or(|line| line.opens_block);
        if is_blank && !is_first {
            self.lines.push(OutputLine::default());
        }
    }

    /// Writes a comment outside of statements, after the text before it or on a separate line.
    fn comment(&mut self, comment: &Comment) {
        let text = comment.text.trim_end().to_owned();
        let is_behind = !self.gap(comment.span).contains('\n');
        match self.lines.last_mut() {
            Some(line) if is_behind && line.comment.is_none() && !line.text.is_empty() => {
                line.comment = Some(text);
                self.done.pop();
            }
            _ => {
                self.blank(comment.span);
                self.lines.push(OutputLine {
                    indent: self.indent,
                    comment: Some(text),
                    ..OutputLine::default()
                });
            }
        }
        self.mark_written(comment.span.end);
    }

    fn comments(&mut self, comments: &[Comment]) {
        comments.iter().for_each(|comment| self.comment(comment));
    }

    fn statements(&mut self, stmts: &[ScheduleStmt], rest: &mut RemainingInput) {
        for stmt in stmts {
            self.comments(rest.comments_before(stmt.span.start));
            match &stmt.kind {
                StmtKind::When(when) => self.block(stmt, when, rest),
                _ => self.statement(stmt, stmt.span.end, rest),
            }
        }
    }

    /// Writes a statement, or the head of one with a block.
    fn statement(&mut self, stmt: &ScheduleStmt, end: u32, rest: &mut RemainingInput) {
        self.blank(stmt.span);
        let cut = StatementParts::new(
            self.source,
            stmt,
            rest.lexemes_before(end),
            rest.comments_before(end),
            self.indent,
        );
        self.lines.extend(cut.lines());
        self.mark_written(end);
    }

    /// Writes a statement with a block. Blocks do not nest, so recursion is bounded.
    fn block(&mut self, stmt: &ScheduleStmt, when: &When, rest: &mut RemainingInput) {
        self.statement(stmt, when.block.start + 1, rest);
        self.indent = INDENT;
        self.statements(&when.body, rest);
        self.comments(rest.comments_before(stmt.span.end));
        self.indent = 0;
        rest.lexemes_before(stmt.span.end);
        self.lines.push(OutputLine { text: "}".to_owned(), is_edge: true, ..OutputLine::default() });
        self.mark_written(stmt.span.end);
    }

    /// Records that the source up to `end` is written.
    fn mark_written(&mut self, end: u32) {
        self.end = end;
        self.done.push((self.lines.len(), end));
    }

    fn finish(mut self) -> Vec<FormattedLines> {
        align(&mut self.lines);
        let line_end = match self.source.find('\n') {
            Some(at) if self.source[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let (mut blocks, mut start) = (Vec::new(), 0);
        let mut text = String::new();
        let mut lines = self.lines.iter();
        let mut written = 0;
        for (count, end) in &self.done {
            for line in lines.by_ref().take(count - written) {
                line.write(&mut text);
                text.push_str(line_end);
            }
            written = *count;
            if let Some(end) = next_line(self.source, *end as usize) {
                blocks.push(FormattedLines { span: Span::new(start, end), text: std::mem::take(&mut text) });
                start = end;
            }
        }
        if start < self.source.len() {
            blocks.push(FormattedLines { span: Span::new(start, self.source.len()), text });
        }
        blocks
    }
}

/// Start of the line after `at`, if nothing else is on this one.
fn next_line(source: &str, at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    let behind = rest.trim_start_matches([' ', '\t', '\r', '\x0c', ';']);
    let end = source.len() - behind.len();
    if behind.is_empty() { Some(end) } else { behind.starts_with('\n').then_some(end + 1) }
}

/// Aligns the comments after adjacent lines.
fn align(lines: &mut [OutputLine]) {
    let is_aligned = |line: &OutputLine| line.comment.is_some() && !line.text.is_empty();
    let are_neighbours = |a: &OutputLine, b: &OutputLine| {
        is_aligned(a) && is_aligned(b) && !a.is_edge && !b.is_edge && a.indent == b.indent
    };
    for block in lines.chunk_by_mut(are_neighbours) {
        let width = block.iter().map(OutputLine::width).max().unwrap_or(0);
        block.iter_mut().for_each(|line| line.column = width + COMMENT_GAP);
    }
}
