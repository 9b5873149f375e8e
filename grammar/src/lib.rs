//! Lexer, parser and syntax tree of the `.sched` language.
//!
//! [`parse`] accepts any text and always returns a tree. Text that did not parse is an `Error` node with an
//! entry in [`Parsed::errors`]. [`parse_strict`] accepts only texts without mistakes.
//!
//! ```
//! let parsed = sched_grammar::parse("tile(batch, b0, b1, 64\nparallel(b0)");
//! assert_eq!(parsed.file.stmts.len(), 2);
//! assert_eq!(parsed.errors[0].to_string(), "S0006: this statement does not close its `(`");
//! assert_eq!(parsed.file.to_string(), "tile(batch, b0, b1, 64)\nparallel(b0)\n");
//! ```
//!
//! `lexer` makes raw tokens. `layout` and `statement` cut their `stream` into statements with balanced
//! brackets and bounded nesting. The LALRPOP grammar turns each statement into a tree.

pub mod ast;
mod brackets;
mod error;
mod escape;
mod layout;
mod lexeme;
mod lexer;
mod parsed;
mod print;
mod reuse;
mod spans;
mod statement;
mod stream;
mod text;
mod token;
mod tree;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::panic, missing_docs, unused)]
    grammar
);

pub use error::{MAX_NESTING, SyntaxError, SyntaxErrorKind, SyntaxFix};
pub use lexeme::{Lexeme, LexemeKind, lexemes};
pub use parsed::Parsed;
pub use print::{print_file, write_expr, write_stmt};
pub use spans::{each_span, erase_spans};
pub use token::{is_reserved, is_reserved_for_later};

use ast::{ScheduleFile, ScheduleStmt, Span, StmtKind};
use layout::LayoutPass;
use reuse::Reusable;
use statement::{Statement, StatementBody};
use tree::ParseContext;

/// Parses any text. Each mistake gives one error and does not affect the statements around it.
pub fn parse(source: &str) -> Parsed {
    parse_anew(source, None)
}

/// Parses an edited text. The result is that of [`parse`], but statements of unchanged lines come from the
/// old tree.
pub fn parse_edited(source: &str, old_source: &str, old: &Parsed) -> Parsed {
    parse_anew(source, Reusable::new(source, old_source, old))
}

fn parse_anew(source: &str, mut known: Option<Reusable<'_>>) -> Parsed {
    let (tokens, comments) = lexer::lex(source);
    let mut layout = LayoutPass::new(source, tokens);
    let stmts = parse_statements(&mut layout, &mut known);
    let mut errors = layout.stream.errors;
    errors.sort_by_key(|error| error.span);
    Parsed { file: ScheduleFile { stmts }, comments, errors }
}

/// Parses the statements up to the end of the text or of the current block.
fn parse_statements(layout: &mut LayoutPass<'_>, known: &mut Option<Reusable<'_>>) -> Vec<ScheduleStmt> {
    let mut stmts = Vec::new();
    while !layout.is_at_end() {
        if let Some(stmt) = known.as_mut().and_then(|known| layout.reuse_statement(known)) {
            stmts.push(stmt);
            continue;
        }
        let was_in_block = layout.is_in_block();
        let Some(statement) = layout.statement() else { break };
        let mut stmt = parse_statement(layout, statement);
        let (mut body, mut block) = (Vec::new(), Span { start: stmt.span.end, end: stmt.span.end });
        if layout.is_in_block() && !was_in_block {
            // Blocks do not nest, so the recursion ends here.
            body = parse_statements(layout, known);
            block = layout.close_block();
            stmt.span = stmt.span.to(block);
        }
        if let StmtKind::When(when) = &mut stmt.kind {
            (when.body, when.block) = (body, block);
        }
        stmts.push(stmt);
    }
    stmts
}

/// Parses a text without mistakes.
///
/// # Errors
///
/// All syntax errors of the text, in its order.
pub fn parse_strict(source: &str) -> Result<ScheduleFile, Vec<SyntaxError>> {
    let parsed = parse(source);
    if parsed.errors.is_empty() { Ok(parsed.file) } else { Err(parsed.errors) }
}

fn parse_statement(layout: &mut LayoutPass<'_>, statement: Statement<'_>) -> ScheduleStmt {
    let Statement { body, span, has_error } = statement;
    let kind = match body {
        StatementBody::Unparsable => StmtKind::Error,
        StatementBody::Reserved(word) => StmtKind::Reserved(word),
        StatementBody::Tokens(tokens) => {
            let mut context = ParseContext { source: layout.stream.source, error: None };
            let kind = grammar::StmtParser::new().parse(&mut context, tokens).unwrap_or_else(|error| {
                context.note_failure(error);
                StmtKind::Error
            });
            layout.stream.errors.extend(context.error.filter(|_| !has_error));
            kind
        }
    };
    ScheduleStmt { kind, span }
}
