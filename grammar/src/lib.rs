//! Lexer, parser and syntax tree of the `.sched` language.

pub mod ast;
