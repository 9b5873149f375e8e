//! Everywhere where something is named.

use sched_grammar::ast::Span;

use super::Analysis;

/// All occurrences of the thing named at `offset`, in the order of the text: loops with all copies, numbers,
/// facts, directives and words.
pub fn references(a: &Analysis, offset: usize, include_declaration: bool) -> Vec<Span> {
    let names = a.names();
    let Some(here) = names.at(offset) else { return Vec::new() };
    let wanted = names.alike(here).filter(|other| include_declaration || !other.declares);
    wanted.map(|occurrence| occurrence.span).collect()
}
