//! Steps of a growing selection.

use sched_grammar::ast::{Comment, ExprKind, Ident, Path, ScheduleExpr, ScheduleStmt, Span, StmtKind, Str};

use super::Analysis;

/// The selections around `offset`, innermost first: each lies within the next one, and the last one is the
/// whole text.
pub fn selection_ranges(a: &Analysis, offset: usize) -> Vec<Span> {
    let mut enclosing = Enclosing { offset: Span::new(offset, offset).start, found: Vec::new() };
    let stmts = &a.parsed().file.stmts;
    let after = stmts.partition_point(|stmt| stmt.span.start as usize <= offset);
    if let Some(stmt) = after.checked_sub(1).and_then(|at| stmts.get(at)) {
        enclosing.statement(stmt);
    }
    enclosing.comments(a.source(), &a.parsed().comments);
    enclosing.add(paragraph(a.source(), offset));
    enclosing.found.push(Span::new(0, a.source().len()));
    nested(enclosing.found)
}

/// The spans that lie within each other, without repetitions.
fn nested(mut found: Vec<Span>) -> Vec<Span> {
    found.sort_by_key(|span| (span.end - span.start, span.start));
    let mut chain: Vec<Span> = Vec::new();
    for span in found {
        let fits = chain.last().is_none_or(|inner| *inner != span && inner.to(span) == span);
        if fits {
            chain.push(span);
        }
    }
    chain
}

/// The lines around `offset` up to blank ones.
fn paragraph(source: &str, offset: usize) -> Span {
    let (mut start, mut found) = (0, None);
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if is_blank && at > offset {
            break;
        }
        if is_blank {
            (start, found) = (at + line.len(), None);
        } else {
            found = Some(at + line.trim_end().len());
        }
        at += line.len();
    }
    found.map_or_else(|| Span::new(offset, offset), |end| Span::new(start, end))
}

struct Enclosing {
    offset: u32,
    found: Vec<Span>,
}

impl Enclosing {
    /// Adds a span that holds the offset or ends there; returns whether it does.
    fn add(&mut self, span: Span) -> bool {
        let holds = span.start <= self.offset && self.offset <= span.end && span.start < span.end;
        if holds {
            self.found.push(span);
        }
        holds
    }

    fn statement(&mut self, stmt: &ScheduleStmt) {
        if !self.add(stmt.span) {
            return;
        }
        match &stmt.kind {
            StmtKind::Edition(expr) => self.expr(expr),
            StmtKind::Model { path, fingerprint } => {
                self.string(path);
                fingerprint.iter().for_each(|fingerprint| self.string(fingerprint));
            }
            StmtKind::Target { kind, options } => {
                self.name(kind);
                options.iter().for_each(|option| self.name(option));
            }
            StmtKind::Param { name, default, choices } => {
                self.name(name);
                self.expr(default);
                if let [first, .., last] = choices.as_slice() {
                    self.add(first.span.to(last.span));
                }
                choices.iter().for_each(|choice| self.expr(choice));
            }
            StmtKind::Const { name, value } => {
                self.name(name);
                self.expr(value);
            }
            StmtKind::Directive(directive) => {
                self.name(&directive.name);
                self.add(directive.args_span);
                if let [first, .., last] = directive.args.as_slice() {
                    self.add(first.span.to(last.span));
                }
                directive.args.iter().for_each(|arg| self.expr(arg));
            }
            StmtKind::When(when) => {
                self.add(when.left.span.to(when.right.span));
                self.expr(&when.left);
                self.expr(&when.right);
                self.add(when.block);
                if let [first, .., last] = when.body.as_slice() {
                    self.add(first.span.to(last.span));
                }
                // Blocks do not nest, so this goes no deeper.
                when.body.iter().for_each(|stmt| self.statement(stmt));
            }
            StmtKind::Reserved(word) => self.name(word),
            StmtKind::Error => {}
        }
    }

    fn name(&mut self, name: &Ident) {
        self.add(name.span);
    }

    /// A string, and the text between its quotes.
    fn string(&mut self, text: &Str) {
        if self.add(text.span) && text.span.end - text.span.start > 2 {
            self.add(Span { start: text.span.start + 1, end: text.span.end - 1 });
        }
    }

    fn expr(&mut self, expr: &ScheduleExpr) {
        // The parser bounds the depth of expressions.
        if !self.add(expr.span) {
            return;
        }
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Error => {}
            ExprKind::Path(path) => self.path(path),
            ExprKind::Neg(inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                self.add(left.span.to(right.span));
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Call(function, args) => {
                self.name(function);
                if let [first, .., last] = args.as_slice() {
                    self.add(first.span.to(last.span));
                }
                args.iter().for_each(|arg| self.expr(arg));
            }
        }
    }

    /// A path, its prefix up to each segment, and the expressions in brackets.
    fn path(&mut self, path: &Path) {
        self.add(path.span);
        for segment in &path.segments {
            self.name(&segment.name);
            if let Some(index) = &segment.index {
                self.expr(index);
            }
        }
    }

    /// A comment, its text, and the comments on the lines around it.
    fn comments(&mut self, source: &str, comments: &[Comment]) {
        let after = comments.partition_point(|comment| comment.span.start <= self.offset);
        let Some(comment) = after.checked_sub(1).and_then(|at| comments.get(at)) else { return };
        if !self.add(comment.span) {
            return;
        }
        let text = comment.text.trim_start_matches(['/', '#']).trim_start();
        let start = comment.span.end - text.len().min(comment.text.len()) as u32;
        self.add(Span { start, end: comment.span.end });
        self.word(source, comment.span);
        let block = comments.chunk_by(|a, b| {
            let between = source.get(a.span.end as usize..b.span.start as usize).unwrap_or_default();
            between.trim().is_empty() && between.bytes().filter(|byte| *byte == b'\n').count() == 1
        });
        let holds = |run: &&[Comment]| run.iter().any(|other| other.span == comment.span);
        if let Some([first, .., last]) = block.into_iter().find(holds) {
            self.add(first.span.to(last.span));
        }
    }

    /// The word at the offset in running text.
    fn word(&mut self, source: &str, within: Span) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (start, at, end) = (within.start as usize, self.offset as usize, within.end as usize);
        let (Some(before), Some(after)) = (source.get(start..at), source.get(at..end)) else { return };
        let start = before.trim_end_matches(is_word).len() as u32 + within.start;
        let end = self.offset + (after.len() - after.trim_start_matches(is_word).len()) as u32;
        self.add(Span { start, end });
    }
}
