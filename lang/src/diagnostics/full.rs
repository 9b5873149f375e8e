//! Diagnostics for people, with the source text around each place.

use std::cmp::Reverse;

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind, Source};
use sched_grammar::ast::Span;

use super::{Diagnostic, Severity};
use sched_diagnostics::Place;

/// Renders diagnostics as text for people. A diagnostic placed in the source shows the lines around it.
pub fn render(path: &str, source: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let mut cache = (path, Source::from(source));
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        if !matches!(diagnostic.place, Place::Text(_)) {
            out.extend_from_slice(plain(path, diagnostic, color).as_bytes());
            continue;
        }
        let report = report(path, source, diagnostic, color);
        // Writing to memory fails only if the formatting itself does; the rest is still worth showing.
        if report.write(&mut cache, &mut out).is_err() {
            out.extend_from_slice(format!("{}: {}\n", diagnostic.code, diagnostic.message).as_bytes());
        }
    }
    let text = String::from_utf8_lossy(&out);
    // ariadne colours the headline of a custom kind regardless of the configuration.
    let text = if color { text.into_owned() } else { without_escapes(&text) };
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A diagnostic without a text around its place:
/// `error: M0003: model.json, byte 120: the file ends too early`.
pub fn plain(path: &str, diagnostic: &Diagnostic, color: bool) -> String {
    let (word, paint) = match diagnostic.severity {
        Severity::Error if diagnostic.code.is_internal() => ("internal error", "\x1b[1;31m"),
        Severity::Error => ("error", "\x1b[1;31m"),
        Severity::Warning => ("warning", "\x1b[1;33m"),
        Severity::Hint => ("hint", "\x1b[1;36m"),
    };
    let (paint, off) = if color { (paint, "\x1b[0m") } else { ("", "") };
    let owned = (diagnostic.file.is_none() && !path.is_empty()).then(|| diagnostic.clone().file(path));
    format!("{paint}{word}{off}: {}\n", owned.as_ref().unwrap_or(diagnostic))
}

fn report<'a>(
    path: &'a str,
    source: &str,
    diagnostic: &Diagnostic,
    color: bool,
) -> Report<'static, (&'a str, std::ops::Range<usize>)> {
    let (kind, main) = match diagnostic.severity {
        Severity::Error => ("Error", Color::Red),
        Severity::Warning => ("Warning", Color::Yellow),
        Severity::Hint => ("Hint", Color::Cyan),
    };
    let at = clamp(source, diagnostic.span());
    let config =
        Config::default().with_color(color).with_index_type(IndexType::Byte).with_char_set(CharSet::Unicode);
    let mut labels = vec![Label::new((path, at.clone())).with_message(&diagnostic.label).with_color(main)];
    for label in &diagnostic.labels {
        let place = (path, clamp(source, label.span));
        labels.push(Label::new(place).with_message(&label.message).with_color(Color::Blue));
    }
    // Lines in the order of the text share an excerpt. Below a line, the note of its last place comes first,
    // so that the arrows of notes do not cross.
    let spans = std::iter::once(diagnostic.span()).chain(diagnostic.labels.iter().map(|label| label.span));
    let mut placed: Vec<_> = spans.zip(labels).collect();
    placed.sort_by_key(|(span, _)| {
        let range = clamp(source, *span);
        let line = source.get(..range.end).map_or(0, |before| before.matches('\n').count());
        (line, Reverse((range.start, range.end)))
    });
    let placed = (0..).zip(placed).map(|(at, (_, label))| label.with_order(at));
    let mut builder = Report::build(ReportKind::Custom(kind, main), (path, at))
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_labels(placed);
    for note in &diagnostic.notes {
        builder = builder.with_note(note);
    }
    if let Some(help) = &diagnostic.help {
        builder = builder.with_help(help);
    }
    builder.finish()
}

/// The text without colours.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    out
}

/// The span clamped to the text, on character boundaries and without a line end at its end.
fn clamp(source: &str, span: Span) -> std::ops::Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start as usize);
    let end = floor(span.end as usize).max(start);
    let text = source.get(start..end).unwrap_or_default();
    start..start + text.trim_end().len()
}
