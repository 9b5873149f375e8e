//! Broken and hostile texts cause no panic and no overflow, and every span is inside the text.

use sched_grammar::ast::{ExprKind, ScheduleStmt, Span, StmtKind};
use sched_grammar::{Parsed, each_span, parse, parse_edited};

fn check_span(source: &str, span: Span, outer: Span) {
    assert!(source.get(span.range()).is_some(), "{span:?} of {source:?}");
    assert!(outer.start <= span.start && span.end <= outer.end, "{span:?} in {outer:?} of {source:?}");
}

/// Statements are in order and do not overlap.
fn check_order(source: &str, stmts: &[ScheduleStmt], is_sound: bool) {
    let mut end = 0;
    for stmt in stmts {
        assert!(end <= stmt.span.start && stmt.span.start < stmt.span.end, "{:?} of {source:?}", stmt.span);
        end = stmt.span.end;
        let text = source.get(stmt.span.range()).unwrap_or_default();
        let unclosed = text.contains('"') && !is_sound;
        assert!(text.trim() == text || unclosed, "{text:?} of {source:?}");
    }
}

fn check(source: &str) -> Parsed {
    let parsed = parse(source);
    let whole = Span::new(0, source.len());
    for error in &parsed.errors {
        check_span(source, error.span, whole);
        error.related().into_iter().for_each(|(span, _)| check_span(source, span, whole));
        error.fixes().iter().for_each(|fix| check_span(source, fix.span, whole));
        assert!(!error.message().is_empty());
        assert_eq!(error.code, error.kind.code());
    }
    for comment in &parsed.comments {
        assert_eq!(source.get(comment.span.range()), Some(comment.text.as_str()));
    }
    check_order(source, &parsed.file.stmts, parsed.errors.is_empty());
    for stmt in &parsed.file.stmts {
        if let StmtKind::When(when) = &stmt.kind {
            check_span(source, when.block, stmt.span);
            when.body.iter().for_each(|inner| check_span(source, inner.span, when.block));
            check_order(source, &when.body, parsed.errors.is_empty());
        }
    }
    let mut file = parsed.file.clone();
    let spans: Vec<Span> = file.stmts.iter().map(|stmt| stmt.span).collect();
    let mut at = 0;
    each_span(&mut file, &mut |span| {
        if spans.get(at + 1) == Some(span) {
            at += 1;
        }
        check_span(source, *span, spans[at]);
    });
    if parsed.errors.is_empty() {
        assert!(!format!("{parsed:?}").contains("kind: Error"), "{source:?}");
    }
    parsed
}

/// Reusing statements after an edit gives the result of a new parse, in both directions.
fn check_edit(before: &str, after: &str, parsed: &Parsed) {
    let old = parse(before);
    assert_eq!(parse_edited(after, before, &old), *parsed, "{before:?} became {after:?}");
    assert_eq!(parse_edited(before, after, parsed), old, "{after:?} became {before:?}");
}

const SAMPLES: [&str; 8] = [
    include_str!("pass/header.sched"),
    include_str!("pass/lines.sched"),
    include_str!("pass/crlf_bom.sched"),
    include_str!("pass/when.sched"),
    "a(b)\nwhen n <= 8 {\n  c(d)\n  e(f,\n    g); h(i)\n}\nj(k)\nwhen n <= 4 { l(m); n(o) }\np(q)\n",
    "when n <= 8 {\n  when m <= 3 {\n    a(b)\n  }\n  c(d)\nwhen n\n  e(f)\n}\nwhen k <= 2 { g(h }\n \
     i(j})\n} l(m)",
    "sched 1 // a\n\n  tile(a, b, c, 4) # b\nreorder(a,\n  b); f(x); g(y)\ntile(in, d)\nh(in)\n  i(z)\nuse \
     j\nk()",
    "tile(a, v[3].b, -min(x, (y + 1) * 2)); model \"é\\u{e9}\"\nparam ö = 6_4 in {1,\n 2} // é\nuse {x}; a \
     = “b”",
];

#[test]
fn every_prefix() {
    for sample in SAMPLES {
        for (at, _) in sample.char_indices() {
            check(&sample[..at]);
        }
    }
}

#[test]
fn every_suffix() {
    for sample in SAMPLES {
        for (at, _) in sample.char_indices() {
            check(&sample[at..]);
        }
    }
}

#[test]
fn every_deletion_of_a_byte() {
    for sample in SAMPLES {
        for at in 0..sample.len() {
            let mut bytes = sample.as_bytes().to_vec();
            bytes.remove(at);
            let edited = String::from_utf8_lossy(&bytes);
            check_edit(sample, &edited, &check(&edited));
        }
    }
}

#[test]
fn every_exchange_of_a_character() {
    for sample in SAMPLES {
        for (at, c) in sample.char_indices() {
            for other in [
                "(", ")", "[", "]", "{", "}", "\"", ",", "\n", ";", "é", "7", "x", "in", "#", "when ", "\\",
                "“",
            ] {
                let edited = format!("{}{other}{}", &sample[..at], &sample[at + c.len_utf8()..]);
                check_edit(sample, &edited, &check(&edited));
            }
        }
    }
}

#[test]
fn one_missing_bracket_is_one_error_and_costs_at_most_one_statement() {
    let source = "tile(batch, b0, b1, 64)\nreorder(b0, tree)\nparam X = min(1, 2) in {1, \
                  2}\nparallel(v[3].t)\nlast(x)\n";
    for (at, c) in source.char_indices().filter(|(_, c)| "()[]{}".contains(*c)) {
        let broken = format!("{}{}", &source[..at], &source[at + 1..]);
        let parsed = check(&broken);
        assert_eq!(parsed.errors.len(), 1, "without the {c} at {at}: {:?}", parsed.errors);
        assert_eq!(parsed.file.stmts.len(), 5, "without the {c} at {at}");
    }
}

#[test]
fn deep_nesting() {
    let n = 10_000;
    let many = |text: &str| text.repeat(n);
    let texts = [
        format!("const A = {}1{}", many("("), many(")")),
        format!("const A = {}1", many("(")),
        format!("const A = {}1", many("-")),
        format!("const A = {}1", many("-(")),
        format!("const A = {}1{}", many("- - ("), many(")")),
        format!("const A = 1{}", many(" + 1")),
        format!("const A = 1{}", many(" * -1")),
        format!("const A = 1{}", many(" - (1")),
        format!("tile({}{})", many("f("), many(")")),
        format!("tile({}{})", many("v["), many("]")),
        format!("tile({}{}", many("{"), many("])")),
        format!("{}{}", many("([{"), many("}])")),
        format!("param X = 1 in {{{}", many("1,{")),
        format!("const A = {}", many("(\n")),
        format!("when {}n <= 8 {{ a(b) }}", many("(")),
        format!("when n <= 8 {{ {} }}", many("when n <= 8 {").replace("when n <= 8 {", "when{}")),
        format!("{}{}", many("when n <= 8 { "), many("}")),
    ];
    for text in texts {
        let parsed = check(&format!("{text}\nparallel(b0)"));
        let last = parsed.file.stmts.last().map(|stmt| &stmt.kind);
        assert!(matches!(last, Some(StmtKind::Directive(_))), "{:.40}", text);
        assert!(!parsed.errors.is_empty() && parsed.errors.len() < 3, "{:.40}: {:?}", text, parsed.errors);
    }
}

#[test]
fn long_but_shallow() {
    let n = 10_000;
    for text in [
        format!("tile({})", "a, ".repeat(n)),
        format!("tile(v{})", ".v".repeat(n)),
        format!("tile(v{})", ".v[1]".repeat(n)),
        format!("target cpu(x{})", "-y".repeat(n)),
        format!("tile({})", vec!["(((a)))"; n].join(", ")),
        "tile(a)\n".repeat(n),
        ";\n".repeat(n),
        "when n <= 8 {\na(b)\n}\n".repeat(n),
        format!("when n <= 8 {{{}}}", "\na(b)".repeat(n)),
    ] {
        assert_eq!(check(&text).errors, []);
    }
    for (text, errors) in [
        ("@ ", n),
        ("(", 1),
        (")", n),
        ("\"\n", n),
        ("a b ", 1),
        ("= ", 1),
        ("in ", 1),
        ("'", 0),
        ("when\n", n),
        ("when {\n", 2),
    ] {
        let parsed = check(&text.repeat(n));
        assert!(parsed.errors.len() >= errors, "{text}");
    }
    check(&format!("tile({})", "a ".repeat(n)));
    check(&format!("tile({})", ", ".repeat(n)));
    check(&format!("tile({})", "a = ".repeat(n)));
    check(&format!("tile({}", "(]".repeat(n)));
}

#[test]
fn names_survive_a_mistake_beside_them() {
    let parsed = check("tile(batch, b0, , 64 +)\n");
    let StmtKind::Directive(directive) = &parsed.file.stmts[0].kind else { panic!("{parsed:?}") };
    let known: Vec<_> = directive
        .args
        .iter()
        .filter_map(|arg| match &arg.kind {
            ExprKind::Path(path) => path.as_ident().map(|name| name.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(known, ["batch", "b0"]);
    assert_eq!((directive.args.len(), parsed.errors.len()), (4, 1));
}
