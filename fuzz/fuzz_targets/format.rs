//! Formats any text. A text that parses keeps its syntax tree and its comments, and formatting the result
//! again changes nothing. For other texts, the formatter returns the parser's errors.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_grammar::ast::ScheduleFile;
use sched_grammar::{erase_spans, parse, parse_strict};
use sched_lang::format;

fn bare(mut file: ScheduleFile) -> ScheduleFile {
    erase_spans(&mut file);
    file
}

fn comments(source: &str) -> Vec<String> {
    parse(source).comments.into_iter().map(|comment| comment.text.trim_end().to_owned()).collect()
}

fuzz_target!(|source: &str| {
    let parsed = parse(source);
    match format(source) {
        Err(errors) => assert_eq!(errors, parsed.errors),
        Ok(text) => {
            assert!(parsed.errors.is_empty());
            assert_eq!(parse_strict(&text).map(bare), Ok(bare(parsed.file)), "{text}");
            assert_eq!(comments(&text), comments(source), "{text}");
            assert_eq!(format(&text).as_deref(), Ok(text.as_str()));
        }
    }
});
