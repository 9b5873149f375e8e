//! Variations of a schedule: other forms of each directive, and further directives. All are legal;
//! measurements show which are fast.

use sched_lang::CheckOptions;
use sched_lang::directives::{Role, find};
use sched_lang::legal_next::{self, NextStep};
use sched_lang::schedule::DirectiveText;
use sched_lang::variations::{Variation, Variations};
use sched_nest::{Body, LoopId, Nest};
use std::collections::BTreeSet;

/// Most variations to propose.
const MAX_PROPOSALS: usize = 48;
/// Most forms of a directive: in place of a directive of the schedule, and as a new directive.
const MAX_FORMS: [usize; 2] = [6, 3];
/// New directives to propose first, since they help most often.
const FIRST_DIRECTIVES: [&str; 7] =
    ["representation", "vectorize", "interleave", "unrollAndJam", "cache", "tile", "reorder"];

/// A variation of a schedule.
pub struct Proposal {
    /// A sentence that describes the change.
    pub text: String,
    /// The change without its numbers. Of proposals with the same text here, only the fastest is shown.
    pub idea: String,
    /// The varied schedule.
    pub variation: Variation,
}

/// A change of a schedule's text.
struct TextChange {
    text: String,
    idea: String,
    /// The new directive.
    form: String,
    /// The whole changed text.
    new_source: String,
}

/// Variations of a schedule.
pub fn proposals(
    (source, options): (&str, &CheckOptions),
    schedule: usize,
    events: &[DirectiveText],
) -> Vec<Proposal> {
    let whole = Variations::new(source, options).unchanged(schedule).nest;
    let around = whole.map_or_else(|_| BTreeSet::new(), |nest| loops_around_all_walks(&nest));
    let idea = |place: &str, form: &str| idea(place, form, &around);
    let mut all: Vec<TextChange> =
        events.iter().flat_map(|event| replacements(source, options, event, &idea)).collect();
    all.extend(shortest_of_each_effect(insertions(source, options, events, &idea), &around));
    all.truncate(MAX_PROPOSALS);
    let checked = |TextChange { text, idea, new_source, .. }: TextChange| {
        let variation = Variations::new(&new_source, options).unchanged(schedule);
        variation.nest.is_ok().then_some(Proposal { text, idea, variation })
    };
    all.into_iter().filter_map(checked).collect()
}

/// The names of loops whose copies together contain all walks of a nest.
fn loops_around_all_walks(nest: &Nest) -> BTreeSet<String> {
    let mut common: Option<BTreeSet<String>> = None;
    let mut stack: Vec<(LoopId, Vec<&str>)> = nest.roots.iter().map(|root| (*root, Vec::new())).collect();
    while let Some((id, mut names)) = stack.pop() {
        let this = nest.get(id);
        names.push(this.name.rsplit('.').next().unwrap_or(&this.name));
        stack.extend(this.body.loops().into_iter().map(|inside| (inside, names.clone())));
        if matches!(this.body, Body::Walk) {
            let is_around = |name: &&str| common.as_ref().is_none_or(|common| common.contains(*name));
            common = Some(names.into_iter().filter(is_around).map(str::to_string).collect());
        }
    }
    common.unwrap_or_default()
}

/// A directive without its loop, if it is a layout of a loop in `around`. Then it lays out all trees, as it
/// does without a loop.
fn layout_of_all(form: &str, around: &BTreeSet<String>) -> Option<String> {
    let arguments = form.strip_prefix("representation(")?;
    match arguments.split_once(',') {
        None => Some(form.to_string()),
        Some((name, layout)) if around.contains(name) => Some(format!("representation({}", layout.trim())),
        Some(_) => None,
    }
}

/// The text of [`Proposal::idea`]: the place and the directive, with its loops and keywords, but without
/// numbers and names of new loops. A layout of all trees means the same with each loop in `around` and at
/// each place.
fn idea(place: &str, form: &str, around: &BTreeSet<String>) -> String {
    let layout = layout_of_all(form, around);
    let (place, form) = layout.as_deref().map_or((place, form), |layout| ("", layout));
    let Some((name, arguments)) = form.split_once('(') else { return format!("{place} {form}") };
    let arguments: Vec<&str> = arguments.trim_end_matches(')').split(',').map(str::trim).collect();
    let parameters = find(name).map_or(&[][..], |signature| signature.parameters);
    let is_part = |at: usize, argument: &str| {
        let is_new = parameters.get(at).is_some_and(|parameter| parameter.role == Role::NewIndex);
        !is_new && argument.parse::<i64>().is_err()
    };
    let parts = arguments.iter().enumerate().filter(|(at, argument)| is_part(*at, argument));
    let parts: Vec<&str> = parts.map(|(_, argument)| *argument).collect();
    format!("{place} {name} {}", parts.join(" "))
}

/// The changes, each effect once. Of several layouts of all trees with the same effect, the one with the
/// shortest text.
fn shortest_of_each_effect(all: Vec<TextChange>, around: &BTreeSet<String>) -> Vec<TextChange> {
    let mut kept: Vec<(Option<String>, TextChange)> = Vec::new();
    for change in all {
        let effect = layout_of_all(&change.form, around);
        match kept.iter_mut().find(|(other, _)| effect.is_some() && *other == effect) {
            Some((_, other)) if change.form.len() < other.form.len() => *other = change,
            Some(_) => {}
            None => kept.push((effect, change)),
        }
    }
    kept.into_iter().map(|(_, change)| change).collect()
}

/// The texts of a proposed directive with different arguments, at most `most`, the most promising first.
fn forms(next: NextStep, most: usize) -> impl Iterator<Item = String> {
    std::iter::once(next.operation)
        .chain(next.with_other_numbers)
        .take(most)
        .map(|operation| operation.to_string())
}

/// Proposals that replace a directive by another form of it.
fn replacements(
    source: &str,
    options: &CheckOptions,
    event: &DirectiveText,
    idea: &dyn Fn(&str, &str) -> String,
) -> Vec<TextChange> {
    let (start, end) = (event.span.start as usize, event.span.end as usize);
    let own = source.get(start..end).unwrap_or_default();
    let name: String = own.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let Some(signature) = find(&name) else { return Vec::new() };
    let all = legal_next::at(source, start + 1, options, Some(signature.op));
    let line = event.line;
    let other = |form: String| {
        let new_source = format!("{}{form}{}", source.get(..start)?, source.get(end..)?);
        let text = format!("line {line}: `{form}` in place of `{own}`");
        (form != own).then(|| TextChange {
            text,
            idea: idea(&format!("line {line}:"), &form),
            form,
            new_source,
        })
    };
    all.into_iter().flat_map(|next| forms(next, MAX_FORMS[0])).filter_map(other).take(MAX_FORMS[0]).collect()
}

/// Changes that add a directive after the last one.
fn insertions(
    source: &str,
    options: &CheckOptions,
    events: &[DirectiveText],
    idea: &dyn Fn(&str, &str) -> String,
) -> Vec<TextChange> {
    let end = events.last().map_or(source.len(), |last| last.span.end as usize);
    let (Some(before), Some(rest)) = (source.get(..end), source.get(end..)) else { return Vec::new() };
    let gap = format!("{before}\n\n{rest}");
    let mut all = legal_next::at(&gap, end + 1, options, None);
    let name = |next: &NextStep| next.operation.signature().map_or("", |signature| signature.name);
    all.sort_by_key(|next| {
        FIRST_DIRECTIVES.iter().position(|first| *first == name(next)).unwrap_or(FIRST_DIRECTIVES.len())
    });
    let added = |form: String| TextChange {
        text: format!("add `{form}`"),
        idea: idea("add", &form),
        new_source: format!("{before}\n{form}\n{rest}"),
        form,
    };
    all.into_iter().flat_map(|next| forms(next, MAX_FORMS[1])).map(added).collect()
}

#[cfg(test)]
mod tests {
    use super::{idea, loops_around_all_walks, proposals};
    use sched_lang::variations::Variations;
    use sched_lang::{CheckOptions, ModelInfo};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    #[test]
    fn an_idea_has_no_numbers() {
        let around = BTreeSet::from(["tree".to_string()]);
        let add = |form| idea("add", form, &around);
        assert_eq!(add("tile(batch, b0, b1, 64)"), "add tile batch");
        assert_eq!(add("tile(batch, b0, b1, 64)"), add("tile(batch, r0, r1, 128)"));
        assert_eq!(add("representation(tree, quantized)"), add("representation(quantized)"));
        assert_eq!(add("representation(small, quantized)"), "add representation small quantized");
        assert_ne!(add("cache(b0)"), add("cache(b1)"));
    }

    #[test]
    fn layouts_of_all_walks_are_one_idea() {
        let around = BTreeSet::from(["b0".to_string()]);
        let layout = |place| idea(place, "representation(b0, preorder)", &around);
        assert_eq!(layout("add"), idea("line 3:", "representation(preorder)", &around));
        assert_ne!(idea("add", "cache(b0)", &around), idea("line 3:", "cache(b0)", &around));
    }

    #[test]
    fn a_layout_of_all_walks_is_proposed_once() {
        let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nsplit(tree, e, l, 5)\n";
        let options = CheckOptions { model: Some(Arc::new(model())), ..CheckOptions::default() };
        let variations = Variations::new(text, &options);
        let nest = variations.unchanged(0).nest.expect("a legal schedule");
        let around = loops_around_all_walks(&nest);
        assert_eq!(around, BTreeSet::from(["b0", "b1"].map(str::to_string)));
        let all = proposals((text, &options), 0, &variations.directives(0));
        let layouts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
        assert!(layouts.contains(&"add `representation(quantized)`"), "{layouts:?}");
        let is_same = |text: &&&str| ["b0", "b1"].iter().any(|name| text.contains(&format!("n({name}, ")));
        assert_eq!(layouts.iter().filter(is_same).count(), 0, "{layouts:?}");
    }

    fn model() -> ModelInfo {
        let depths = vec![3; 10].into_iter().collect();
        ModelInfo { num_trees: 10, num_features: 4, depths, ..ModelInfo::default() }
    }

    #[test]
    fn proposals_are_legal_variations() {
        let options = CheckOptions { model: Some(Arc::new(model())), ..CheckOptions::default() };
        let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nrepresentation(array)\n// end";
        let events = Variations::new(text, &options).directives(0);
        let all = proposals((text, &options), 0, &events);
        let names: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        assert!(has("line 3: `representation(") && has("line 1: `tile(batch, b0, b1, "), "{names:?}");
        assert!(has("add `interleave(") || has("add `vectorize("), "{names:?}");
        assert!(names.len() <= super::MAX_PROPOSALS && all.iter().all(|one| one.variation.nest.is_ok()));
        assert!(all.iter().all(|one| one.variation.text.ends_with("// end")));
    }
}
