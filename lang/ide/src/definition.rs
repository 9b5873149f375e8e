//! Declarations of names.

use sched_grammar::ast::Span;

use super::Analysis;
use super::names::NameKind;

/// A link from a name to its declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name at the cursor.
    pub origin: Span,
    /// The declarations of the name: one, unless the text declares it several times by mistake.
    pub targets: Vec<Span>,
}

/// The declaration of the name at `offset`. The directive that makes copies declares a numbered copy
/// (`v[3]`), and the `model` line declares the model properties.
pub fn definition(a: &Analysis, offset: usize) -> Option<Definition> {
    let names = a.names();
    let here = names.at(offset)?;
    let named = names.meaning(here);
    let copied = named.copied.filter(|copied| here.numbered && *copied != here.span);
    let targets = match (named.kind, copied) {
        (_, Some(copied)) => vec![copied],
        (NameKind::Property, None) => a.verdict().header.model.iter().map(|(_, span)| *span).collect(),
        _ => named.declarations.clone(),
    };
    (!targets.is_empty()).then_some(Definition { origin: here.span, targets })
}
