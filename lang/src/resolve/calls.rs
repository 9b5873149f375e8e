//! Directives as typed calls with resolved arguments.

use sched_grammar::ast::{Directive, ExprKind, Path, ScheduleExpr, ScheduleFile, Segment, Span, StmtKind};

use super::scope::{NameScope, quoted_list};
use crate::diagnostics::{Applicability, Diagnostic, codes, nearest};
use crate::directives::{DirectiveOp, Parameter, Role, SIGNATURES, Signature, find};
use crate::lineage::{DirectiveIndex, LoopSelector, Qualifier};
use crate::report::Report;
use sched_nest::sym::Sym;

/// An argument of a known directive.
#[derive(Clone, Debug)]
pub enum Arg {
    /// Existing loops.
    Index(LoopSelector),
    /// A new loop.
    New(String),
    /// A number.
    Number(Sym),
    /// One of the directive's words.
    Word(&'static str),
    /// An invalid argument, already reported.
    Bad,
}

/// A known directive.
#[derive(Clone, Debug)]
pub struct DirectiveCall {
    /// Position of the directive among all directives of the schedule.
    pub step: DirectiveIndex,
    /// The directive.
    pub op: DirectiveOp,
    /// Whether the directive is a modifier. Otherwise it annotates loops of the final nest.
    pub is_modifier: bool,
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// Whether the number of arguments is wrong, so that they have no meaning.
    pub has_wrong_count: bool,
}

impl DirectiveCall {
    /// Names of the loops that the directive would make.
    pub fn new_names(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(|arg| match arg {
            Arg::New(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Loops that the directive names, each with the position of its argument.
    pub fn selects(&self) -> impl Iterator<Item = (usize, &LoopSelector)> {
        self.args.iter().enumerate().filter_map(|(at, arg)| match arg {
            Arg::Index(select) => Some((at, select)),
            _ => None,
        })
    }

    /// The number that is argument `at`, if it has a value.
    pub fn number(&self, at: usize) -> Option<&Sym> {
        match self.args.get(at) {
            Some(Arg::Number(sym)) => Some(sym),
            _ => None,
        }
    }

    /// Whether any argument was reported.
    pub fn is_bad(&self) -> bool {
        self.has_wrong_count || self.args.iter().any(|arg| matches!(arg, Arg::Bad))
    }
}

/// All known directives of a file in order. Indices count all directives.
pub(crate) fn calls(file: &ScheduleFile, scope: &NameScope, report: &mut Report) -> Vec<DirectiveCall> {
    let mut calls = Vec::new();
    let mut step = 0;
    for stmt in &file.stmts {
        let StmtKind::Directive(directive) = &stmt.kind else { continue };
        calls.extend(call(DirectiveIndex(step), directive, stmt.span, scope, report));
        step += 1;
    }
    calls
}

fn call(
    step: DirectiveIndex,
    directive: &Directive,
    span: Span,
    scope: &NameScope,
    report: &mut Report,
) -> Option<DirectiveCall> {
    let Some(signature) = find(&directive.name.text) else {
        let diagnostic = if directive.name.text == "allow" {
            misplaced_allow(directive, span, report)
        } else {
            unknown_directive(directive)
        };
        report.push(diagnostic);
        return None;
    };
    let (op, is_modifier) = (signature.op, signature.is_modifier);
    let parameters = parameters(signature, directive.args.len());
    let given = directive.args.len();
    let most = if signature.repeats { usize::MAX } else { signature.parameters.len() };
    let has_wrong_count = given < signature.required || given > most;
    // If an argument did not parse, the count has no meaning, and the parser has reported it.
    let parsed = directive.args.iter().all(|arg| !matches!(arg.kind, ExprKind::Error));
    if has_wrong_count && parsed {
        report.push(wrong_count(signature, directive));
    }
    let misplaced = misplaced_number(signature, &directive.args, scope).filter(|_| !has_wrong_count);
    if let Some(at) = misplaced {
        report_misplaced_size(signature, directive, at, report);
    }
    let mut args = Vec::new();
    for (at, expr) in in_order(&directive.args, misplaced).enumerate() {
        let Some(parameter) = parameters.get(at.min(parameters.len().saturating_sub(1))) else { break };
        // Arguments of a broken call only show which loops it concerns.
        if has_wrong_count && !matches!(parameter.role, Role::Index | Role::NewIndex) {
            continue;
        }
        args.push(argument(expr, parameter, signature, scope, has_wrong_count, report));
    }
    Some(DirectiveCall { step, op, is_modifier, args, has_wrong_count })
}

/// Parameters of a call. `representation(name)` leaves out its first parameter, all others their last.
pub fn parameters(signature: &'static Signature, given: usize) -> &'static [Parameter] {
    match signature.op {
        DirectiveOp::Representation if given == 1 => &signature.parameters[1..],
        _ => signature.parameters,
    }
}

fn unknown_directive(directive: &Directive) -> Diagnostic {
    let name = &directive.name;
    let diagnostic =
        Diagnostic::new(codes::UNKNOWN_DIRECTIVE, name.span, format!("unknown directive `{}`", name.text))
            .label("not a directive");
    match nearest(&name.text, SIGNATURES.iter().map(|signature| signature.name)) {
        Some(near) => diagnostic.help(format!("Did you mean `{near}`?")).fix(
            format!("write `{near}`"),
            name.span,
            near,
            Applicability::Unsure,
        ),
        None => {
            let names: Vec<&str> = SIGNATURES.iter().map(|signature| signature.name).collect();
            diagnostic.help(format!("The directives are {}.", quoted_list(&names)))
        }
    }
}

/// The diagnostic for an `allow(...)` outside of a comment.
fn misplaced_allow(directive: &Directive, span: Span, report: &Report) -> Diagnostic {
    let text = report.source_text(directive.name.span.to(directive.args_span));
    let comment = if directive.args.is_empty() { "// allow(S0095)".to_owned() } else { format!("// {text}") };
    let message = "`allow` is not a directive: write it in a comment";
    let diagnostic = Diagnostic::new(codes::UNKNOWN_DIRECTIVE, directive.name.span, message)
        .label("not a directive")
        .help(format!(
            "Write `{comment}`. Such a comment silences a warning or hint, wherever in the file \
                       it is."
        ));
    // A comment extends to the end of its line.
    let is_last = report.rest_of_line(span).is_empty() && !text.contains('\n');
    if directive.args.is_empty() || !is_last {
        return diagnostic;
    }
    diagnostic.fix(format!("write `{comment}`"), span, &comment, Applicability::Safe)
}

fn wrong_count(signature: &Signature, directive: &Directive) -> Diagnostic {
    let (least, most) = (signature.required, signature.parameters.len());
    let wanted = match (signature.repeats, least == most) {
        (true, _) => format!("at least {least}"),
        (false, true) => least.to_string(),
        (false, false) => format!("{least} or {most}"),
    };
    let arguments = if wanted == "1" { "argument" } else { "arguments" };
    let message = format!("`{}` takes {wanted} {arguments}, not {}", signature.name, directive.args.len());
    let diagnostic = Diagnostic::new(codes::ARGUMENT_COUNT, directive.args_span, message)
        .label(format!("{} given", directive.args.len()))
        .help(format!("Call it as `{}`.", signature.usage()));
    if signature.op != DirectiveOp::Unroll || directive.args.len() != 2 {
        return diagnostic;
    }
    let help = format!(
        "Call it as `{}`. To unroll steps of the walks below a loop, use `unrollWalk`.",
        signature.usage()
    );
    diagnostic.help(help).fix("write `unrollWalk`", directive.name.span, "unrollWalk", Applicability::Unsure)
}

/// Position of a number among new names, if the last argument is a name instead. The arguments are in the
/// wrong order, which is a single mistake.
fn misplaced_number(signature: &Signature, args: &[ScheduleExpr], scope: &NameScope) -> Option<usize> {
    let is_name = |expr: &ScheduleExpr| match &expr.kind {
        ExprKind::Path(path) => path.as_ident().is_some_and(|name| !scope.is_number(&name.text)),
        _ => false,
    };
    let last = args.len().checked_sub(1).filter(|last| *last + 1 == signature.parameters.len())?;
    let is_new = |at: &usize| signature.parameters[*at].role == Role::NewIndex;
    let mut wrong = (0..last).filter(is_new).filter(|at| !is_name(&args[*at]));
    let at =
        wrong.next().filter(|_| signature.parameters[last].role == Role::Number && is_name(&args[last]))?;
    wrong.next().is_none().then_some(at)
}

/// The arguments, the one at `misplaced` last.
fn in_order(args: &[ScheduleExpr], misplaced: Option<usize>) -> impl Iterator<Item = &ScheduleExpr> {
    let rest = args.iter().enumerate().filter(move |(at, _)| Some(*at) != misplaced).map(|(_, expr)| expr);
    rest.chain(misplaced.and_then(|at| args.get(at)))
}

/// The diagnostic for an argument of another kind than its parameter.
fn wrong_kind(
    expr: &ScheduleExpr,
    parameter: &Parameter,
    signature: &Signature,
    expected: &str,
) -> Diagnostic {
    let message = format!("`{}` of `{}` must be {expected}", parameter.name, signature.name);
    Diagnostic::new(codes::ARGUMENT_KIND, expr.span, message)
        .label(format!("not {expected}"))
        .help(format!("Call it as `{}`.", signature.usage()))
}

/// The diagnostic for a new name with the name of a stage or loop before it.
fn qualified_name(path: &Path, span: Span, parameter: &Parameter, signature: &Signature) -> Diagnostic {
    let message =
        format!("`{}` of `{}` must be a new name, without a stage before it", parameter.name, signature.name);
    let diagnostic = Diagnostic::new(codes::ARGUMENT_KIND, span, message).label("has a name before it");
    let Some(last) = path.segments.last().filter(|last| last.index.is_none()) else { return diagnostic };
    let name = &last.name.text;
    diagnostic
        .help(format!("Write `{name}`. A new loop belongs to the stage of the loop that it replaces."))
        .fix(format!("write `{name}`"), span, name.as_str(), Applicability::Unsure)
}

fn report_misplaced_size(signature: &Signature, directive: &Directive, at: usize, report: &mut Report) {
    let place = directive.args[at].span;
    let mut texts = report.texts(&directive.args);
    let number = texts.remove(at);
    texts.push(number);
    let text = format!("({})", texts.join(", "));
    let name = signature.parameters.last().map_or("number", |parameter| parameter.name);
    let diagnostic = Diagnostic::new(
        codes::ARGUMENT_KIND,
        place,
        format!("the {name} of `{}` comes last", signature.name),
    )
    .label("not a new name")
    .help(format!("Call it as `{}`.", signature.usage()))
    .fix(format!("write `{}{text}`", signature.name), directive.args_span, &text, Applicability::Unsure);
    report.push(diagnostic);
}

fn argument(
    expr: &ScheduleExpr,
    parameter: &Parameter,
    signature: &Signature,
    scope: &NameScope,
    quiet: bool,
    report: &mut Report,
) -> Arg {
    if matches!(expr.kind, ExprKind::Error) {
        return Arg::Bad;
    }
    let wrong = |expected: &str, report: &mut Report| {
        if !quiet {
            report.push(wrong_kind(expr, parameter, signature, expected));
        }
        Arg::Bad
    };
    match parameter.role {
        Role::Index => match &expr.kind {
            ExprKind::Path(path) => {
                if path.as_ident().is_some_and(|name| scope.is_number(&name.text)) {
                    return wrong("a loop", report);
                }
                select(path, scope, report).map_or(Arg::Bad, Arg::Index)
            }
            _ => wrong("a loop", report),
        },
        Role::NewIndex => match &expr.kind {
            ExprKind::Path(path) => match path.as_ident() {
                Some(name) if !quiet && scope.taken(name, report) => Arg::Bad,
                Some(name) => Arg::New(name.text.clone()),
                None if !quiet && path.segments.len() > 1 => {
                    report.push(qualified_name(path, expr.span, parameter, signature));
                    Arg::Bad
                }
                None => wrong("a new name", report),
            },
            _ => wrong("a new name", report),
        },
        Role::Number => scope.eval(expr, report).map_or(Arg::Bad, Arg::Number),
        Role::Keyword(words) => match &expr.kind {
            ExprKind::Path(path) => match path_text(path).and_then(|text| find_word(&text, words)) {
                Some(word) => Arg::Word(word),
                None => {
                    report.push(unknown_word(path, parameter, signature, words));
                    Arg::Bad
                }
            },
            _ => wrong(&format!("one of {}", quoted_list(words)), report),
        },
    }
}

fn find_word(text: &str, words: &'static [&'static str]) -> Option<&'static str> {
    words.iter().find(|word| **word == text).copied()
}

/// Text of a path without brackets, such as `grid.x`; `None` for other paths.
pub fn path_text(path: &Path) -> Option<String> {
    let names: Option<Vec<&str>> = path
        .segments
        .iter()
        .map(|segment| segment.index.is_none().then_some(segment.name.text.as_str()))
        .collect();
    Some(names?.join("."))
}

/// The diagnostic for a word that a parameter does not have.
fn unknown_word(
    path: &Path,
    parameter: &Parameter,
    signature: &Signature,
    words: &'static [&'static str],
) -> Diagnostic {
    let text = path_text(path).unwrap_or_default();
    let message = format!("`{}` of `{}` cannot be `{text}`", parameter.name, signature.name);
    let diagnostic = Diagnostic::new(codes::UNKNOWN_WORD, path.span, message)
        .label(format!("expected one of {}", words.join(", ")));
    match nearest(&text, words.iter().copied()) {
        Some(near) => diagnostic.help(format!("Did you mean `{near}`?")).fix(
            format!("write `{near}`"),
            path.span,
            near,
            Applicability::Unsure,
        ),
        None => diagnostic.help(format!("Write one of {}.", quoted_list(words))),
    }
}

/// The copies that a path means; `None` if a number in brackets has no value, which was reported.
fn select(path: &Path, scope: &NameScope, report: &mut Report) -> Option<LoopSelector> {
    let (last, rest) = path.segments.split_last()?;
    let mut number = |segment: &Segment| -> Option<Option<u32>> {
        let Some(index) = &segment.index else { return Some(None) };
        let value = scope.eval(index, report)?;
        match value.as_int().map(u32::try_from) {
            Some(Ok(number)) => Some(Some(number)),
            _ => {
                let message = "the number of a copy must be known and not negative";
                let diagnostic = Diagnostic::new(codes::ARGUMENT_KIND, index.span, message)
                    .label(format!("is {value}"))
                    .help("Copies are numbered from 0.");
                report.push(diagnostic);
                None
            }
        }
    };
    let mut qualifiers = Vec::new();
    for segment in rest {
        qualifiers.push(Qualifier { name: segment.name.text.as_str().into(), number: number(segment)? });
    }
    Some(LoopSelector { scope: qualifiers, name: last.name.text.clone(), number: number(last)? })
}
