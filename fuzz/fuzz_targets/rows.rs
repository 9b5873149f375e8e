//! Reads any bytes after the magic string of a format: the result is batches of rows, or an error. The
//! formats are Parquet, Arrow files and streams, archives, arrays and text. Options add feature names,
//! categories, columns beside the rows, and shards.
//!
//! The first byte chooses the format, the second one the options of the reader.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_categories::{Categories, Choices, Label, Names, NumbersAs, Unseen};
use schedc_data::{DataSource, Expect, FeatureValues, MissingNumber, Reading, RowStream, panics_are_errors};
use std::sync::Once;

/// Magic strings of the formats; empty for text.
const MAGIC: [&[u8]; 6] = [b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"PK\x03\x04", b"\x93NUMPY", b""];
/// Most rows of a batch.
const PIECE: usize = 3;

/// Random choices of categories: texts for the first feature, numbers for the second one. The third feature
/// has none, or is never read.
fn categories(choice: u8) -> Categories {
    let texts = ["red", "NA", "7", ""].map(String::from);
    let texts = match choice & 16 {
        0 => Names::listed(texts.map(Label::Text).to_vec()),
        _ => Names::spelled(texts),
    };
    let numbers = Names::listed(vec![Label::Integer(10), Label::Number(0.5)]);
    let unseen = [Unseen::Error, Unseen::Missing, Unseen::Other][usize::from(choice % 3)];
    let meaning = [None, Some(NumbersAs::Names), Some(NumbersAs::Codes)][usize::from(choice / 3 % 3)];
    let third = if choice & 32 == 0 { Names::default() } else { Names::unread() };
    Categories::new([texts, numbers, third], Choices { unseen: None, numbers: meaning }, unseen)
}

fuzz_target!(|input: &[u8]| {
    // Some crates panic on damaged files, inside a guard that turns panics into errors. The fuzzer's own
    // panic hook would abort the process first.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !panics_are_errors() {
                hook(info);
            }
        }));
    });
    let [format, choice, content @ ..] = input else { return };
    let magic = MAGIC[usize::from(*format) % MAGIC.len()];
    let bytes = [magic, content].concat();
    let names = ["a", "b", "c"].map(str::to_owned);
    let (categories, keep) = (categories(*choice), ["d".to_owned(), "c".to_owned()]);
    let mut expect = if choice & 1 != 0 { Expect::named(&names) } else { Expect::unnamed(names.len()) };
    if choice & 2 != 0 {
        expect = expect.with_categories(Some(&categories));
    }
    if choice & 4 != 0 {
        expect = expect.with_missing(Some(MissingNumber { value: 0.5, single: choice & 8 != 0 }));
    }
    let kept = usize::from(choice >> 4 & 3).min(keep.len());
    let reading = Reading {
        keep: &keep[..kept],
        beside: kept / 2,
        shard: (choice & 64 != 0).then(|| "1/3".parse().expect("a shard")),
        ..Reading::default()
    };
    let source = DataSource::Bytes { name: "input".to_owned(), bytes };
    let Ok(mut stream) = RowStream::open(&source, expect.by_position(choice & 128 != 0), reading) else {
        return;
    };
    while let Ok(Some(batch)) = stream.next(PIECE) {
        let length = match &batch.values {
            FeatureValues::F32(values) => values.len(),
            FeatureValues::F64(values) => values.len(),
        };
        assert!((1..=PIECE).contains(&batch.rows));
        assert_eq!(length, batch.rows * names.len());
        assert_eq!(batch.beside.len(), batch.rows * (kept / 2));
    }
});
