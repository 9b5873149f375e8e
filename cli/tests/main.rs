//! Tests of the command line, the language server, the documents and the source text.

mod architecture;
mod bench;
mod builds;
mod callers;
mod cli;
mod damaged;
mod documents;
mod glossary;
mod kernel_times;
mod lsp;
mod models;
mod pipelines;
mod prose;
mod scripts;
mod support;
mod toolchain;
mod tune;
