//! Each tree prints as a text that reads back as the same tree.

use proptest::prelude::*;
use sched_grammar::ast::{
    BinOp, Directive, ExprKind, Ident, Path, Relation, ScheduleExpr, ScheduleFile, ScheduleStmt, Segment,
    Span, StmtKind, Str, When,
};
use sched_grammar::{erase_spans, is_reserved, is_reserved_for_later, parse, parse_strict, print_file};

fn name() -> impl Strategy<Value = Ident> {
    "[A-Za-z_][A-Za-z0-9_]{0,6}"
        .prop_filter("a free name", |text| !is_reserved(text))
        .prop_map(|text| Ident { text, span: Span::default() })
}

fn string() -> impl Strategy<Value = Str> {
    prop_oneof![any::<String>(), "[a-z/.\\\\\"\n\r\t]{0,12}"]
        .prop_map(|value| Str { value, span: Span::default() })
}

fn plain(kind: ExprKind) -> ScheduleExpr {
    ScheduleExpr { kind, span: Span::default() }
}

fn operator() -> impl Strategy<Value = BinOp> {
    prop::sample::select(vec![BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div, BinOp::Rem])
}

fn path(index: impl Strategy<Value = ScheduleExpr>) -> impl Strategy<Value = ScheduleExpr> {
    let segment = (name(), prop::option::of(index.prop_map(Box::new)))
        .prop_map(|(name, index)| Segment { name, index });
    prop::collection::vec(segment, 1..4)
        .prop_map(|segments| plain(ExprKind::Path(Path { segments, span: Span::default() })))
}

fn expr() -> impl Strategy<Value = ScheduleExpr> {
    let leaf = prop_oneof![
        prop_oneof![0..300i64, 0..=i64::MAX].prop_map(|value| plain(ExprKind::Int(value))),
        path(Just(plain(ExprKind::Int(0)))),
    ];
    leaf.prop_recursive(8, 40, 4, |inner| {
        prop_oneof![
            3 => (operator(), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| plain(ExprKind::Binary(op, Box::new(a), Box::new(b)))),
            1 => inner.clone().prop_map(|operand| plain(ExprKind::Neg(Box::new(operand)))),
            1 => (name(), prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(name, args)| plain(ExprKind::Call(name, args))),
            1 => path(inner),
        ]
    })
}

fn exprs() -> impl Strategy<Value = Vec<ScheduleExpr>> {
    prop::collection::vec(expr(), 0..5)
}

fn word() -> impl Strategy<Value = Ident> {
    "[a-z][a-z0-9_]{0,5}(-[a-z0-9]{1,3}){0,2}"
        // A part that begins with a digit is a number, so it has only digits.
        .prop_filter("a processor name", |text| {
            let is_part = |part: &str| !part.starts_with(|c: char| c.is_ascii_digit()) || part.len() < 2;
            text.split('-').all(is_part)
        })
        .prop_map(|text| Ident { text, span: Span::default() })
}

fn stmt() -> impl Strategy<Value = ScheduleStmt> {
    let comparison = prop::sample::select(vec![
        Relation::Less,
        Relation::AtMost,
        Relation::Greater,
        Relation::AtLeast,
        Relation::Equal,
    ]);
    let block = (expr(), comparison, expr(), prop::collection::vec(simple(), 0..4));
    let block = block.prop_map(|(left, comparison, right, body)| {
        let when = When { left, comparison, right, body, block: Span::default() };
        ScheduleStmt { kind: StmtKind::When(when), span: Span::default() }
    });
    prop_oneof![8 => simple(), 1 => block]
}

/// A statement other than a block.
fn simple() -> impl Strategy<Value = ScheduleStmt> {
    let reserved = prop::sample::select(vec!["use", "def", "require", "tune"]);
    prop_oneof![
        1 => expr().prop_map(StmtKind::Edition),
        1 => (string(), prop::option::of(string()))
            .prop_map(|(path, fingerprint)| StmtKind::Model { path, fingerprint }),
        1 => (name(), prop::collection::vec(word(), 0..3))
            .prop_map(|(kind, options)| StmtKind::Target { kind, options }),
        2 => (name(), expr(), exprs())
            .prop_map(|(name, default, choices)| StmtKind::Param { name, default, choices }),
        2 => (name(), expr()).prop_map(|(name, value)| StmtKind::Const { name, value }),
        5 => (name(), exprs()).prop_map(|(name, args)| {
            StmtKind::Directive(Directive { name, args, args_span: Span::default() })
        }),
        1 => reserved
            .prop_map(|text| StmtKind::Reserved(Ident { text: text.to_owned(), span: Span::default() })),
    ]
    .prop_map(|kind| ScheduleStmt { kind, span: Span::default() })
}

fn bare(mut file: ScheduleFile) -> ScheduleFile {
    erase_spans(&mut file);
    file
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn print_then_parse(stmts in prop::collection::vec(stmt(), 0..6)) {
        let file = ScheduleFile { stmts };
        let text = print_file(&file);
        let parsed = parse(&text);
        prop_assert!(parsed.errors.iter().all(|error| error.code == "S0008"), "{text}\n{:?}", parsed.errors);
        let blocks = file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::When(_))).count();
        prop_assert_eq!(text.lines().count(), file.all_stmts().count() + blocks);
        prop_assert_eq!(print_file(&parsed.file), text);
        prop_assert_eq!(bare(parsed.file), file);
    }

    #[test]
    fn any_text_parses(text in "([a-c(){}\\[\\],;.=+\\-*/%\n \"'#é1]|param |in|model |use |when |<=){0,60}") {
        let parsed = parse(&text);
        if parsed.errors.is_empty() {
            let printed = print_file(&parsed.file);
            prop_assert_eq!(parse_strict(&printed).map(bare), Ok(bare(parsed.file)), "{}", printed);
        }
    }
}

/// Literals are never negative in a parsed tree, but a builder may make one.
#[test]
fn negative_integers_print_as_expressions_of_the_same_value() {
    for (value, text) in [(-5, "a - -5"), (i64::MIN, "a - (-9223372036854775807 - 1)")] {
        let a = Path {
            segments: vec![Segment {
                name: Ident { text: "a".to_owned(), span: Span::default() },
                index: None,
            }],
            span: Span::default(),
        };
        let (a, b) = (plain(ExprKind::Path(a)), plain(ExprKind::Int(value)));
        let difference = plain(ExprKind::Binary(BinOp::Sub, Box::new(a), Box::new(b)));
        assert_eq!(difference.to_string(), text);
        assert_eq!(parse(&format!("const X = {text}")).errors, []);
    }
}

#[test]
fn reserved_words() {
    assert!(["use", "def", "require", "tune"].into_iter().all(is_reserved_for_later));
    assert!(["sched", "model", "target", "param", "const", "in", "use", "when"].into_iter().all(is_reserved));
    assert!(!is_reserved("tile") && !is_reserved_for_later("param"));
}
