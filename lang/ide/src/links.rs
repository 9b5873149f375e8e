//! Links from names of files in the text to the files.

use sched_grammar::ast::{Span, StmtKind};

use super::Analysis;

/// A name of a file as a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLink {
    /// The text without its quotes.
    pub span: Span,
    /// The linked file.
    pub target: LinkTarget,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// A model file, relative to the schedule.
    Model(String),
}

/// All links of a text.
pub fn document_links(a: &Analysis) -> Vec<FileLink> {
    let models = a.parsed().file.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Model { path, .. } if !path.value.is_empty() => Some(path),
        _ => None,
    });
    let link = |path: &sched_grammar::ast::Str| {
        let quoted = a.text(path.span);
        let front = quoted.chars().next().map_or(0, char::len_utf8);
        let inner = quoted.get(front..)?;
        // The closing quote may not be there yet.
        let inner = inner.strip_suffix(['"', '\'', '”', '’', '»', '“', '‘']).unwrap_or(inner);
        let start = path.span.start as usize + front;
        let span = Span::new(start, start + inner.len());
        Some(FileLink { span, target: LinkTarget::Model(path.value.clone()) })
    };
    models.filter_map(link).collect()
}
