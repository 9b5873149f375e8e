//! References: all occurrences of a name.

use sched_grammar::ast::Span;

use super::Analysis;

/// Returns all occurrences of the name at `offset`, in the order of the text. Names of a loop's copies, such
/// as `v[3]`, are occurrences of the loop's name.
pub fn references(a: &Analysis, offset: usize, include_declaration: bool) -> Vec<Span> {
    let names = a.names();
    let Some(here) = names.at(offset) else { return Vec::new() };
    let wanted = names.with_same_meaning(here).filter(|other| include_declaration || !other.declares);
    wanted.map(|occurrence| occurrence.span).collect()
}
