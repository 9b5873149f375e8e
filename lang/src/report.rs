//! Collects diagnostics, and knows the spans and texts of directives.

use sched_grammar::ast::{Directive, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind};
use sched_grammar::{SyntaxError, SyntaxErrorKind};

use crate::diagnostics::{Applicability, Code, Diagnostic, Edit, Fix, Severity, codes};
use crate::directives::{Role, find};
use crate::lineage::DirectiveIndex;
use crate::schedule::DirectiveText;

/// Largest number of errors of one check, and of its other diagnostics. More would not help the reader.
const MAX_DIAGNOSTICS: usize = 1000;

/// The diagnostics of one check.
pub struct Report<'a> {
    source: &'a str,
    directives: Vec<(&'a Directive, Span)>,
    /// Start of the first directive or block.
    end_of_header: u32,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    others: usize,
    strict: bool,
}

impl<'a> Report<'a> {
    pub fn new(source: &'a str, file: &'a ScheduleFile, strict: bool) -> Self {
        let directives = file.stmts.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Directive(directive) => Some((directive, stmt.span)),
            _ => None,
        });
        let directives = directives.collect();
        let is_header =
            |stmt: &&ScheduleStmt| !matches!(stmt.kind, StmtKind::Directive(_) | StmtKind::When(_));
        let end_of_header = file.stmts.iter().find(|stmt| !is_header(stmt)).map_or(0, |stmt| stmt.span.start);
        Report { source, directives, end_of_header, diagnostics: Vec::new(), errors: 0, others: 0, strict }
    }

    /// Adds a diagnostic; beyond [`MAX_DIAGNOSTICS`], only counts it. Open obligations are errors if the
    /// caller is strict.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if self.strict && diagnostic.code == codes::UNVERIFIED {
            diagnostic.severity = Severity::Error;
        }
        let count = if diagnostic.severity == Severity::Error { &mut self.errors } else { &mut self.others };
        *count += 1;
        if *count <= MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Adds a diagnostic if there is one.
    pub fn extend(&mut self, diagnostic: Option<Diagnostic>) {
        if let Some(diagnostic) = diagnostic {
            self.push(diagnostic);
        }
    }

    /// Adds a syntax error.
    pub fn syntax(&mut self, error: &SyntaxError) {
        let code = codes::find(error.code).unwrap_or(codes::UNEXPECTED);
        let mut diagnostic = Diagnostic::new(code, error.span, error.message()).label("here");
        diagnostic.help = error.help();
        if let Some((span, what)) = error.related() {
            diagnostic = diagnostic.and(span, what);
        }
        let edits: Vec<Edit> =
            error.fixes().into_iter().map(|fix| Edit { span: fix.span, text: fix.text }).collect();
        if !edits.is_empty() {
            let title = error.help().unwrap_or_else(|| "correct it".to_owned());
            let title = title.trim_end_matches('.').to_owned();
            let applicability = applicability(&error.kind);
            diagnostic.fixes.push(Fix { title, edits, applicability });
        }
        self.push(diagnostic);
    }

    /// Whether the limit for errors, or for other diagnostics, is reached. Counts one left-out diagnostic
    /// with this code.
    pub fn is_full(&mut self, code: Code) -> bool {
        let is_error = self.severity(code) == Severity::Error;
        let count = if is_error { &mut self.errors } else { &mut self.others };
        *count += usize::from(*count >= MAX_DIAGNOSTICS);
        *count > MAX_DIAGNOSTICS
    }

    /// Severity of a code in this check.
    pub fn severity(&self, code: Code) -> Severity {
        if self.strict && code == codes::UNVERIFIED {
            return Severity::Error;
        }
        code.severity()
    }

    /// Span of an operation, or of one of its arguments.
    pub fn place(&self, step: DirectiveIndex, argument: Option<usize>) -> Span {
        let Some((directive, span)) = self.directives.get(step.0 as usize) else { return Span::default() };
        let argument = argument.and_then(|at| directive.args.get(at));
        argument.map_or(*span, |expr: &ScheduleExpr| expr.span)
    }

    /// The name of an operation's directive.
    pub fn directive_name(&self, step: DirectiveIndex) -> &str {
        self.directives.get(step.0 as usize).map_or("", |(directive, _)| directive.name.text.as_str())
    }

    /// The text of an operation's directive, if it is short enough to quote.
    pub fn text(&self, step: DirectiveIndex) -> &str {
        const SHORT: usize = 60;
        let text = self.source.get(self.place(step, None).range()).unwrap_or_default();
        if text.len() <= SHORT && !text.contains('\n') { text } else { self.directive_name(step) }
    }

    /// All directives in order.
    pub fn directive_texts(&self) -> Vec<DirectiveText> {
        let mut line = 1;
        let mut at = 0;
        let event = |(number, (_, span)): (usize, &(&Directive, Span))| {
            let start = span.start as usize;
            line += self.source.get(at..start).map_or(0, |text| text.matches('\n').count());
            at = start;
            DirectiveText { span: *span, line, text: self.text(DirectiveIndex(number as u32)).to_owned() }
        };
        self.directives.iter().enumerate().map(event).collect()
    }

    /// The arguments of an operation as written.
    pub fn argument_texts(&self, step: DirectiveIndex) -> Vec<&str> {
        let Some((directive, _)) = self.directives.get(step.0 as usize) else { return Vec::new() };
        self.texts(&directive.args)
    }

    /// The text at a place.
    pub fn source_text(&self, span: Span) -> &'a str {
        self.source.get(span.range()).unwrap_or_default()
    }

    /// Rest of the line after `span`, without blanks.
    pub fn rest_of_line(&self, span: Span) -> &'a str {
        let rest = self.source.get(span.end as usize..).unwrap_or_default();
        rest.lines().next().unwrap_or_default().trim()
    }

    /// Expressions as written.
    pub fn texts(&self, exprs: &[ScheduleExpr]) -> Vec<&'a str> {
        exprs.iter().map(|expr| self.source.get(expr.span.range()).unwrap_or_default()).collect()
    }

    /// Whether a directive anywhere in the text mentions the name.
    pub fn is_declared(&self, name: &str) -> bool {
        let texts = self.directives.iter().flat_map(|(directive, _)| &directive.args);
        texts.into_iter().any(|arg| self.source.get(arg.span.range()) == Some(name))
    }

    /// First directive after `step` that makes a loop with this name.
    pub fn maker_after(&self, step: DirectiveIndex, name: &str) -> Option<DirectiveIndex> {
        let makes = |directive: &Directive| {
            let parameters = find(&directive.name.text).map_or(&[][..], |signature| signature.parameters);
            let new = parameters.iter().zip(&directive.args).filter(|(p, _)| p.role == Role::NewIndex);
            new.into_iter().any(|(_, arg)| self.source.get(arg.span.range()) == Some(name))
        };
        let later = self.directives.iter().enumerate().skip(step.0 as usize + 1);
        later
            .into_iter()
            .find(|(_, (directive, _))| makes(directive))
            .map(|(at, _)| DirectiveIndex(at as u32))
    }

    /// Line, from 1, at which an operation begins.
    pub fn line(&self, step: DirectiveIndex) -> usize {
        let start = self.place(step, None).start as usize;
        self.source.get(..start).map_or(1, |before| before.matches('\n').count() + 1)
    }

    /// An argument of an operation as written, or the whole operation.
    pub fn argument_text(&self, step: DirectiveIndex, argument: Option<usize>) -> String {
        self.source.get(self.place(step, argument).range()).unwrap_or_default().to_owned()
    }

    /// The empty span before the first directive.
    pub fn first_directive(&self) -> Span {
        let start = self.directives.first().map_or(0, |(_, span)| span.start);
        Span { start, end: start }
    }

    /// The empty span where declarations go.
    pub fn end_of_header(&self) -> Span {
        Span { start: self.end_of_header, end: self.end_of_header }
    }

    /// Makes fixes declare names at the place where those of another report do.
    pub fn declare_as(&mut self, other: &Report) {
        self.end_of_header = other.end_of_header;
    }

    /// A text as a separate line before `place`, with the same indent.
    pub fn line_before(&self, place: Span, text: &str) -> String {
        let before = self.source.get(..place.start as usize).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let indent = if line.trim().is_empty() { line } else { "" };
        format!("{text}\n{}", indent.trim_start_matches('\u{feff}'))
    }

    /// The place behind all directives, and these lines for it.
    pub fn lines_at_end(&self, lines: &[String]) -> (Span, String) {
        let end = self.source.len();
        let before = if self.source.is_empty() || self.source.ends_with('\n') { "" } else { "\n" };
        (Span::new(end, end), format!("{before}{}\n", lines.join("\n")))
    }

    /// Whether anything so far is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All diagnostics in the order of the text.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span().start, diagnostic.code));
        diagnostics
    }
}

/// Applicability of the fix of a syntax error.
fn applicability(kind: &SyntaxErrorKind) -> Applicability {
    match kind {
        SyntaxErrorKind::MissingComma
        | SyntaxErrorKind::MissingParens { .. }
        | SyntaxErrorKind::MissingSeparator
        | SyntaxErrorKind::WrongQuotes(_)
        | SyntaxErrorKind::Quoted(_)
        | SyntaxErrorKind::BadEscape(_) => Applicability::Safe,
        _ => Applicability::Unsure,
    }
}
