//! Proposals that fit the word at the cursor: a finished number or name stays as it is typed.

use super::item::Completion;
use crate::ScheduleAnalysis;
use sched_lang::resolve::PROPERTIES;

/// Removes proposals that would replace a finished word by another one.
///
/// - A word that begins with a digit is a number, and no proposal continues a number.
/// - If the word is a known name, proposals begin with it. Editors also match `num_trees` with `N`.
/// - If only the word itself is left, nothing is proposed.
pub(super) fn keep_typed(analysis: ScheduleAnalysis, offset: usize, all: &mut Vec<Completion>) {
    let Some(replace) = all.first().map(|item| item.replace) else { return };
    let source = analysis.source();
    let typed = source.get(replace.start as usize..offset).unwrap_or_default();
    if typed.starts_with(|first: char| first.is_ascii_digit()) {
        all.clear();
    } else if offset == replace.end as usize && is_known(analysis, typed, all) {
        all.retain(|item| item.filter.starts_with(typed));
        all.sort_by_key(|item| item.filter != typed);
        if all.iter().all(|item| item.insert == typed) {
            all.clear();
        }
    }
}

/// Whether a word is the name of a proposal, a loop, a number or a property of the model.
fn is_known(analysis: ScheduleAnalysis, word: &str, all: &[Completion]) -> bool {
    let prepared = analysis.prepared();
    all.iter().any(|item| item.filter == word)
        || prepared.is_taken(word)
        || prepared.numbers().iter().any(|number| number.name == word)
        || PROPERTIES.iter().any(|(name, _)| *name == word)
}
