//! Reuses statements of a text from before an edit.
//!
//! A statement on one line without mistakes has the same meaning anywhere. Nothing before its first token or
//! after the end of its line affects it.

use crate::ast::{ScheduleStmt, Span, StmtKind};
use crate::error::SyntaxErrorKind;
use crate::parsed::Parsed;
use crate::spans::stmt_spans;

/// The statements of a text before an edit.
pub(crate) struct Reusable<'o> {
    old: &'o Parsed,
    /// All statements, including those of blocks. Blocks themselves are not among them, since they may span
    /// lines.
    stmts: Vec<&'o ScheduleStmt>,
    /// Number of bytes at the start that both texts share.
    before: usize,
    /// Byte of the new text from which both texts end alike.
    after: usize,
    /// Offset from the old text to the new one, after the edit.
    shift: i64,
    /// First statement and error that the calls so far have not passed.
    next: usize,
    next_error: usize,
}

impl<'o> Reusable<'o> {
    /// Compares the text with the old one. `None` if an error of the old text affects all of it: only the
    /// first use of a reserved word is a mistake.
    pub fn new(source: &str, old_source: &str, old: &'o Parsed) -> Option<Self> {
        let is_general = |kind: &SyntaxErrorKind| matches!(kind, SyntaxErrorKind::ReservedName(_));
        if old.errors.iter().any(|error| is_general(&error.kind)) {
            return None;
        }
        let (new, was) = (source.as_bytes(), old_source.as_bytes());
        let before = common(new.iter(), was.iter());
        let rest = new.len().min(was.len()) - before;
        let after = common(new.iter().rev().take(rest), was.iter().rev().take(rest));
        let shift = new.len() as i64 - was.len() as i64;
        let stmts = old.file.all_stmts().filter(|stmt| !matches!(stmt.kind, StmtKind::When(_))).collect();
        Some(Reusable { old, stmts, before, after: new.len() - after, shift, next: 0, next_error: 0 })
    }

    /// The statement from `start` to `end`, if the old text has it without mistakes. `line_end` is the end of
    /// the token that ends it. Calls must be in the order of the text.
    pub fn statement(&mut self, start: usize, end: usize, line_end: Option<usize>) -> Option<ScheduleStmt> {
        let shift = if line_end.is_some_and(|end| end <= self.before) {
            0
        } else if start >= self.after {
            self.shift
        } else {
            return None;
        };
        let old = |offset: usize| u32::try_from(offset as i64 - shift).ok();
        let span = Span { start: old(start)?, end: old(end)? };
        let rest = self.stmts.get(self.next..)?;
        self.next += rest.iter().take_while(|stmt| stmt.span.start < span.start).count();
        let stmt = *self.stmts.get(self.next)?;
        let is_whole = !matches!(stmt.kind, StmtKind::Error | StmtKind::Reserved(_));
        if stmt.span != span || !is_whole || self.has_error(span) {
            return None;
        }
        let mut stmt = stmt.clone();
        if shift != 0 {
            let moved = |offset: u32| (i64::from(offset) + shift) as u32;
            stmt_spans(&mut stmt, &mut |span| {
                *span = Span { start: moved(span.start), end: moved(span.end) }
            });
        }
        Some(stmt)
    }

    /// Whether the old text had an error in `span` or at its end.
    fn has_error(&mut self, span: Span) -> bool {
        let rest = self.old.errors.get(self.next_error..).unwrap_or_default();
        self.next_error += rest.iter().take_while(|error| error.span.start < span.start).count();
        self.old.errors.get(self.next_error).is_some_and(|error| error.span.start <= span.end)
    }
}

/// Number of equal bytes at the start.
fn common<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}
