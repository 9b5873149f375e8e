//! Variations of a schedule: other forms of each directive, and further directives. All are legal;
//! measurements show which are fast.

use sched_lang::Options;
use sched_lang::directives::find;
use sched_lang::legal_next::{self, Next};
use sched_lang::schedule::Event;
use sched_lang::variations::{Variation, Variations};

/// Most variations to propose.
const MOST: usize = 48;
/// Most forms of a directive: in place of a directive of the schedule, and as a new directive.
const FORMS: [usize; 2] = [6, 3];
/// New directives to propose first, since they help most often.
const FIRST: [&str; 7] =
    ["representation", "vectorize", "interleave", "unrollAndJam", "cache", "tile", "reorder"];

/// Variations of a schedule, each with a sentence that describes the change.
pub fn proposals(
    (source, options): (&str, &Options),
    schedule: usize,
    events: &[Event],
) -> Vec<(String, Variation)> {
    let mut all: Vec<(String, String)> =
        events.iter().flat_map(|event| instead(source, options, event)).collect();
    all.extend(after(source, options, events));
    all.truncate(MOST);
    let checked = |(what, text): (String, String)| {
        let variation = Variations::new(&text, options).whole(schedule);
        variation.nest.is_ok().then_some((what, variation))
    };
    all.into_iter().filter_map(checked).collect()
}

/// Forms of a proposed directive: the most likely one, then others.
fn forms(next: Next, most: usize) -> impl Iterator<Item = String> {
    std::iter::once(next.operation).chain(next.others).take(most).map(|operation| operation.to_string())
}

/// Proposals that replace a directive by another form of it.
fn instead(source: &str, options: &Options, event: &Event) -> Vec<(String, String)> {
    let (start, end) = (event.span.start as usize, event.span.end as usize);
    let own = source.get(start..end).unwrap_or_default();
    let name: String = own.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let Some(signature) = find(&name) else { return Vec::new() };
    let all = legal_next::at(source, start + 1, options, Some(signature.op));
    let line = event.line;
    let other = |form: String| {
        let text = format!("{}{form}{}", source.get(..start)?, source.get(end..)?);
        (form != own).then(|| (format!("line {line}: `{form}` in place of `{own}`"), text))
    };
    all.into_iter().flat_map(|next| forms(next, FORMS[0])).filter_map(other).take(FORMS[0]).collect()
}

/// Proposals that add a directive after the last one.
fn after(source: &str, options: &Options, events: &[Event]) -> Vec<(String, String)> {
    let end = events.last().map_or(source.len(), |last| last.span.end as usize);
    let (Some(before), Some(rest)) = (source.get(..end), source.get(end..)) else { return Vec::new() };
    let gap = format!("{before}\n\n{rest}");
    let mut all = legal_next::at(&gap, end + 1, options, None);
    let name = |next: &Next| next.operation.signature().map_or("", |signature| signature.name);
    all.sort_by_key(|next| FIRST.iter().position(|first| *first == name(next)).unwrap_or(FIRST.len()));
    let added = |form: String| (format!("add `{form}`"), format!("{before}\n{form}\n{rest}"));
    all.into_iter().flat_map(|next| forms(next, FORMS[1])).map(added).collect()
}

#[cfg(test)]
mod tests {
    use super::proposals;
    use sched_lang::variations::Variations;
    use sched_lang::{ModelInfo, Options};
    use std::sync::Arc;

    #[test]
    fn proposals_are_other_forms_and_more_directives_and_all_legal() {
        let depths = vec![3; 10].into_iter().collect();
        let model = ModelInfo { num_trees: 10, num_features: 4, depths, ..ModelInfo::default() };
        let options = Options { model: Some(Arc::new(model)), ..Options::default() };
        let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(array)\n// end";
        let events = Variations::new(text, &options).directives(0);
        let all = proposals((text, &options), 0, &events);
        let names: Vec<&str> = all.iter().map(|(what, _)| what.as_str()).collect();
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        assert!(has("line 3: `representation(") && has("line 1: `tile(batch, b0, b1, "), "{names:?}");
        assert!(has("add `interleave(") || has("add `vectorize("), "{names:?}");
        assert!(names.len() <= super::MOST && all.iter().all(|(_, variation)| variation.nest.is_ok()));
        assert!(all.iter().all(|(_, variation)| variation.text.ends_with("// end")));
    }
}
