//! Parses any text: all spans of the syntax tree lie in the text. If the text has no errors, the printed tree
//! parses to the same tree.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_grammar::ast::{ScheduleFile, Span};
use sched_grammar::{each_span, erase_spans, parse, parse_strict, print_file};

fn assert_inside(source: &str, span: Span) {
    assert!(source.get(span.range()).is_some(), "{span:?} is no part of the text");
}

fn bare(mut file: ScheduleFile) -> ScheduleFile {
    erase_spans(&mut file);
    file
}

fuzz_target!(|source: &str| {
    let mut parsed = parse(source);
    for error in &parsed.errors {
        assert_inside(source, error.span);
        assert!(!error.message().is_empty());
        error.related().into_iter().for_each(|(span, _)| assert_inside(source, span));
        error.fixes().iter().for_each(|fix| assert_inside(source, fix.span));
    }
    parsed.comments.iter().for_each(|comment| assert_inside(source, comment.span));
    each_span(&mut parsed.file, &mut |span| assert_inside(source, *span));
    if parsed.errors.is_empty() {
        let printed = print_file(&parsed.file);
        assert_eq!(parse_strict(&printed).map(bare), Ok(bare(parsed.file)), "{printed}");
    }
});
