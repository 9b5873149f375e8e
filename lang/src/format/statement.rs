//! The lines of one statement.

use sched_grammar::ast::{Comment, ScheduleStmt, StmtKind};
use sched_grammar::{Lexeme, LexemeKind};

/// Longest line that a statement may fill, in characters.
pub const WIDTH: usize = 100;

/// Blanks before each item of a broken list, and before the content of a block.
pub(super) const INDENT: usize = 4;

/// A line of the result, without its end.
#[derive(Debug, Default)]
pub(super) struct OutputLine {
    pub indent: usize,
    /// A statement or a part of one; empty for a blank line or a single comment.
    pub text: String,
    pub comment: Option<String>,
    /// Whether the line opens or closes a list of several lines. Comments do not align across such a line.
    pub is_edge: bool,
    /// Whether a block begins at the end of the line.
    pub opens_block: bool,
    /// Column of the comment after the text.
    pub column: usize,
}

impl OutputLine {
    /// Number of characters before the comment.
    pub fn width(&self) -> usize {
        self.indent + self.text.chars().count()
    }

    pub fn write(&self, out: &mut String) {
        if self.text.is_empty() && self.comment.is_none() {
            return;
        }
        out.extend(std::iter::repeat_n(' ', self.indent));
        out.push_str(&self.text);
        let Some(comment) = &self.comment else { return };
        if !self.text.is_empty() {
            out.extend(std::iter::repeat_n(' ', self.column.saturating_sub(self.width())));
        }
        out.push_str(comment);
    }
}

/// A statement divided into its head, the items of the list at its end, and the comments inside.
pub(super) struct StatementParts<'s> {
    source: &'s str,
    /// The head; the whole statement if it has no list.
    head: &'s [Lexeme],
    /// Lexemes between the brackets.
    list: Option<&'s [Lexeme]>,
    close: Option<Lexeme>,
    comments: &'s [Comment],
    /// Whether `-` joins the parts of a word, as in `x86-64-v3`.
    is_hyphenated: bool,
    /// Whether a block follows.
    opens_block: bool,
    indent: usize,
}

impl<'s> StatementParts<'s> {
    pub fn new(
        source: &'s str,
        stmt: &ScheduleStmt,
        lexemes: &'s [Lexeme],
        comments: &'s [Comment],
        indent: usize,
    ) -> Self {
        let opens_block = matches!(stmt.kind, StmtKind::When(_));
        let is_hyphenated = matches!(stmt.kind, StmtKind::Target { .. });
        let breaks =
            matches!(stmt.kind, StmtKind::Directive(_) | StmtKind::Target { .. } | StmtKind::Param { .. });
        let (list, close) = (None, None);
        let whole = StatementParts {
            source,
            head: lexemes,
            list,
            close,
            comments,
            is_hyphenated,
            opens_block,
            indent,
        };
        let Some(open) = last_list(lexemes).filter(|_| breaks) else { return whole };
        // `param X = (1 + 2)` ends with a bracket, but has no list.
        let is_list = !matches!(stmt.kind, StmtKind::Param { .. }) || whole.text(&lexemes[open]) == "{";
        if !is_list {
            return whole;
        }
        let (head, rest) = lexemes.split_at(open + 1);
        let (close, list) = rest.split_last().map_or((None, rest), |(close, list)| (Some(*close), list));
        StatementParts { head, list: Some(list), close, ..whole }
    }

    fn text(&self, lexeme: &Lexeme) -> &'s str {
        self.source.get(lexeme.span.range()).unwrap_or_default()
    }

    /// The statement's lines, before comments and values of neighbouring lines are aligned.
    pub fn lines(&self) -> Vec<OutputLine> {
        let mut lines = self.unindented();
        lines.iter_mut().for_each(|line| line.indent += self.indent);
        if let Some(last) = lines.last_mut() {
            last.is_edge |= self.opens_block;
            last.opens_block = self.opens_block;
        }
        lines
    }

    /// Lines without the indent of the statement.
    fn unindented(&self) -> Vec<OutputLine> {
        let mut flat = self.head.to_vec();
        flat.extend(self.list.into_iter().flatten());
        flat.extend(self.close);
        let flat = self.join(&flat);
        let is_long = self.indent + flat.chars().count() > WIDTH;
        match self.list {
            Some(list) if self.comments.is_empty() && (!is_long || list.is_empty()) => vec![plain(flat)],
            Some(list) if self.comments.iter().all(|comment| self.is_in_list(comment)) => {
                self.list_lines(list)
            }
            // These comments are inside an unbreakable text, so they go before the statement.
            _ => {
                let mut lines: Vec<OutputLine> =
                    self.comments.iter().map(|comment| comment_line(comment, 0)).collect();
                lines.push(plain(flat));
                lines
            }
        }
    }

    fn is_in_list(&self, comment: &Comment) -> bool {
        self.head.last().is_some_and(|open| open.span.end <= comment.span.start)
    }

    /// One item a line. A comment between two items stays there. A comment inside an item goes after it.
    fn list_lines(&self, list: &[Lexeme]) -> Vec<OutputLine> {
        let mut lines = vec![edge(self.join(self.head))];
        let mut end = self.head.last().map_or(0, |open| open.span.end);
        let mut comments = self.comments;
        for item in items(list) {
            let (Some(first), Some(last)) = (item.first(), item.last()) else { continue };
            self.place_comments(&mut lines, &mut comments, first.span.start, end);
            lines.push(OutputLine { indent: INDENT, text: self.join(item) + ",", ..OutputLine::default() });
            let inside = comments.iter().take_while(|comment| comment.span.start < last.span.end).count();
            let (inside, rest) = comments.split_at(inside);
            inside.iter().for_each(|comment| append_comment(&mut lines, comment));
            comments = rest;
            end = last.span.end;
        }
        self.place_comments(&mut lines, &mut comments, u32::MAX, end);
        lines.extend(self.close.map(|close| edge(self.text(&close).to_owned())));
        lines
    }

    /// Places the comments before `until`: on the line that ended at `end`, or on lines of their own.
    fn place_comments(
        &self,
        lines: &mut Vec<OutputLine>,
        comments: &mut &[Comment],
        until: u32,
        mut end: u32,
    ) {
        while let [comment, rest @ ..] = *comments
            && comment.span.start < until
        {
            let between = self.source.get(end as usize..comment.span.start as usize).unwrap_or_default();
            if between.contains('\n') {
                lines.push(comment_line(comment, INDENT));
            } else {
                append_comment(lines, comment);
            }
            end = comment.span.end;
            *comments = rest;
        }
    }

    /// The lexemes with canonical blanks between them, without a comma before a closing bracket.
    fn join(&self, lexemes: &[Lexeme]) -> String {
        let mut out = String::new();
        let mut last: Option<Lexeme> = None;
        let mut is_sign = false;
        for (at, lexeme) in lexemes.iter().enumerate() {
            let closes = lexemes.get(at + 1).is_some_and(|next| next.kind == LexemeKind::Close);
            if lexeme.kind == LexemeKind::Comma && closes {
                continue;
            }
            let after_operand = last.is_some_and(|last| self.ends_operand(&last));
            if let Some(last) = last
                && !is_sign
                && self.has_blank(&last, lexeme, out.len() == self.text(&last).len())
            {
                out.push(' ');
            }
            out.push_str(self.text(lexeme));
            is_sign = lexeme.kind == LexemeKind::Operator && self.text(lexeme) == "-" && !after_operand;
            last = Some(*lexeme);
        }
        out
    }

    fn ends_operand(&self, lexeme: &Lexeme) -> bool {
        matches!(lexeme.kind, LexemeKind::Name | LexemeKind::Number | LexemeKind::Close)
    }

    /// Whether a blank is between two neighbours. `first` marks the first word of the statement.
    fn has_blank(&self, last: &Lexeme, next: &Lexeme, first: bool) -> bool {
        use LexemeKind::{Close, Comma, Dot, Name, Open};
        if self.is_hyphenated && (self.text(last) == "-" || self.text(next) == "-") {
            return false;
        }
        match (last.kind, next.kind) {
            (Open | Dot, _) | (_, Close | Comma | Dot) => false,
            (Name | Close, Open) if self.text(next) != "{" => first && is_header(self.text(last)),
            _ => true,
        }
    }
}

/// Words before an opening bracket that begins a value, not a list of arguments.
fn is_header(word: &str) -> bool {
    matches!(word, "sched" | "model" | "param" | "const" | "when")
}

fn plain(text: String) -> OutputLine {
    OutputLine { text, ..OutputLine::default() }
}

fn edge(text: String) -> OutputLine {
    OutputLine { text, is_edge: true, ..OutputLine::default() }
}

fn comment_line(comment: &Comment, indent: usize) -> OutputLine {
    OutputLine { indent, comment: Some(comment.text.trim_end().to_owned()), ..OutputLine::default() }
}

/// Writes a comment after the last line, or on a separate line if that has one.
fn append_comment(lines: &mut Vec<OutputLine>, comment: &Comment) {
    match lines.last_mut() {
        Some(line) if line.comment.is_none() => line.comment = Some(comment.text.trim_end().to_owned()),
        _ => lines.push(comment_line(comment, INDENT)),
    }
}

/// The index of the bracket that the last lexeme closes, if it is outside of all others.
fn last_list(lexemes: &[Lexeme]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, lexeme) in lexemes.iter().enumerate().rev() {
        match lexeme.kind {
            LexemeKind::Close => depth += 1,
            LexemeKind::Open => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (lexeme.kind == LexemeKind::Open).then_some(at);
        }
    }
    None
}

/// The items of a list, without the commas between them.
fn items(list: &[Lexeme]) -> impl Iterator<Item = &[Lexeme]> {
    let mut depth = 0_usize;
    list.split(move |lexeme| {
        match lexeme.kind {
            LexemeKind::Open => depth += 1,
            LexemeKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && lexeme.kind == LexemeKind::Comma
    })
}
