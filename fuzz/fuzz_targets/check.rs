//! Checks any text, with a model and without. Nothing may panic, and all spans must lie in the text. There
//! must be a nest exactly if there are no errors, and every renderer must handle all diagnostics.
//!
//! A hash of the input selects one of three sets of options and one of four renderers, so each run is cheap
//! and all combinations occur.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_lang::diagnostics::apply::apply;
use sched_lang::diagnostics::{Diagnostic, concise, full, github, json};
use sched_lang::{CheckOptions, CheckPurpose, ModelInfo, check};
use sched_nest::show::show_nest;

fn options() -> [CheckOptions; 3] {
    let depths = vec![3, 1, 2, 2, 3, 1, 6];
    let model = ModelInfo {
        num_trees: 7,
        num_features: 4,
        num_classes: 3,
        depths: depths.into(),
        ..ModelInfo::default()
    };
    [
        CheckOptions::default(),
        CheckOptions { model: Some(model.clone().into()), ..CheckOptions::default() },
        CheckOptions {
            model: Some(model.into()),
            batch_size: Some(100),
            strict: true,
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        },
    ]
}

/// A hash of the input.
fn choice(source: &str) -> usize {
    source.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)))
}

fn render(with: usize, source: &str, diagnostics: &[Diagnostic]) {
    let text = match with {
        0 => full::render("x.sched", source, diagnostics, false),
        1 => concise::render("x.sched", source, diagnostics),
        2 => json::render("x.sched", source, diagnostics),
        _ => github::render("x.sched", source, diagnostics),
    };
    assert!(with != 0 || !text.contains('\u{1b}'));
}

fuzz_target!(|source: &str| {
    let choice = choice(source);
    let options = options();
    let checked = check(source, &options[choice % options.len()]);
    assert_eq!(checked.nests.is_none(), checked.has_errors());
    for diagnostic in &checked.diagnostics {
        let spans = diagnostic.labels.iter().map(|label| label.span).chain([diagnostic.span()]);
        spans.for_each(|span| assert!(source.get(span.range()).is_some(), "{span:?} of {}", diagnostic.code));
        for fix in &diagnostic.fixes {
            assert!(apply(source, &fix.edits).is_some(), "{} does not fit", fix.title);
        }
    }
    render(choice / options.len() % 4, source, &checked.diagnostics);
    for (_, nest) in checked.nests.iter().flat_map(|nests| nests.iter()) {
        let _ = show_nest(nest);
    }
});
