//! Variations of a schedule: without some directives, or with another number. Measuring them shows the worth
//! of each part of a schedule.

use sched_grammar::ast::{ExprKind, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind};
use sched_grammar::{Parsed, parse};
use sched_nest::Nest;

use crate::check::Outcome;
use crate::diagnostics::{Diagnostic, Severity};
use crate::options::CheckOptions;
use crate::part::parts;
use crate::schedule::DirectiveText;
use crate::show::until::{blank, is_annotation};

/// The schedules of a text: the one outside of all blocks, then those in blocks in the order of the text.
pub struct Variations<'s> {
    source: &'s str,
    options: &'s CheckOptions,
    parsed: Parsed,
    outcome: Outcome,
}

/// A text that differs from another in one of its schedules.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// The text. Positions in it are those of the other text, unless a number has another length.
    pub text: String,
    /// Directives left out in addition to the requested ones, by position.
    pub left_out: Vec<usize>,
    /// The nest of the schedule, or its errors.
    pub nest: Result<Nest, Vec<Diagnostic>>,
}

/// A number of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberLiteral {
    /// Span.
    pub span: Span,
    /// The value of the number.
    pub value: i64,
}

impl<'s> Variations<'s> {
    /// The schedules of `source`.
    pub fn new(source: &'s str, options: &'s CheckOptions) -> Self {
        let parsed = parse(source);
        let outcome = Outcome::of(source, &parsed, options);
        Variations { source, options, parsed, outcome }
    }

    /// Number of schedules.
    pub fn schedule_count(&self) -> usize {
        self.outcome.variants().count()
    }

    /// Largest number of rows of a schedule's calls; `None` outside of blocks.
    pub fn max_rows(&self, schedule: usize) -> Option<u32> {
        self.outcome.variant(schedule).max_rows
    }

    /// The directives of a schedule, in their order.
    pub fn directives(&self, schedule: usize) -> Vec<DirectiveText> {
        self.outcome.lineage(self.source, &self.parsed.file, schedule).directives
    }

    /// The text itself.
    pub fn unchanged(&self, schedule: usize) -> Variation {
        self.leave_out(schedule, &[], &|_, _| false)
    }

    /// A schedule with its first directives. Annotations of loops that these do not make are left out.
    pub fn prefix(&self, schedule: usize, count: usize) -> Variation {
        let after: Vec<usize> = (count..self.statements(schedule).len()).collect();
        self.leave_out(schedule, &after, &|_, stmt| is_annotation(stmt))
    }

    /// A schedule without one directive and without those that then are illegal.
    pub fn without(&self, schedule: usize, at: usize) -> Variation {
        self.leave_out(schedule, &[at], &|_, _| true)
    }

    /// A text with another number at a position.
    pub fn with_number(&self, schedule: usize, number: NumberLiteral, value: i64) -> Variation {
        let mut text = self.source.to_owned();
        if text.get(number.span.range()).is_some() {
            text.replace_range(number.span.range(), &value.to_string());
        }
        let nest = check(&text, schedule, self.options);
        Variation { text, left_out: Vec::new(), nest }
    }

    /// A schedule whose param has another value.
    pub fn with_param(&self, schedule: usize, name: &str, value: i64) -> Variation {
        let mut options = self.options.clone();
        options.param_values.retain(|(other, _)| other != name);
        options.param_values.push((name.to_owned(), value));
        let nest = check(self.source, schedule, &options);
        Variation { text: self.source.to_owned(), left_out: Vec::new(), nest }
    }

    /// The number at `offset`, with its schedule.
    pub fn number_at(&self, offset: usize) -> Option<(usize, NumberLiteral)> {
        let number = number_at(&self.parsed.file, offset)?;
        let holds =
            |stmt: &&ScheduleStmt| stmt.span.start <= number.span.start && number.span.end <= stmt.span.end;
        let owner = (0..self.schedule_count()).find(|at| self.statements(*at).iter().any(holds));
        Some((owner.unwrap_or(0), number))
    }

    /// The text without some directives of a schedule. As long as others have errors, those of them for which
    /// `may_go` is true are left out too.
    fn leave_out(
        &self,
        schedule: usize,
        numbers: &[usize],
        may_go: &dyn Fn(usize, &ScheduleStmt) -> bool,
    ) -> Variation {
        let all = self.statements(schedule);
        let mut text = self.source.to_owned();
        let mut leave_out = |numbers: &[usize]| {
            let stmts = numbers.iter().filter_map(|at| all.get(*at));
            stmts.for_each(|stmt| blank(&mut text, stmt.span));
            text.clone()
        };
        let mut shown = leave_out(numbers);
        let mut left_out: Vec<usize> = Vec::new();
        loop {
            let errors = match check(&shown, schedule, self.options) {
                Ok(nest) => return Variation { text: shown, left_out, nest: Ok(nest) },
                Err(errors) => errors,
            };
            let is_wrong = |span: Span| {
                errors.iter().any(|found| span.start <= found.span().start && found.span().end <= span.end)
            };
            let stays = |at: &usize| !numbers.contains(at) && !left_out.contains(at);
            let goes = |at: usize, stmt: &ScheduleStmt| stays(&at) && is_wrong(stmt.span) && may_go(at, stmt);
            let wrong: Vec<usize> =
                all.iter().enumerate().filter(|(at, stmt)| goes(*at, stmt)).map(|(at, _)| at).collect();
            if wrong.is_empty() {
                return Variation { text: shown, left_out, nest: Err(errors) };
            }
            shown = leave_out(&wrong);
            left_out.extend(wrong);
            left_out.sort_unstable();
        }
    }

    fn statements(&self, schedule: usize) -> Vec<&ScheduleStmt> {
        let blocks = self.parsed.file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::When(_)));
        let stmts = match schedule.checked_sub(1) {
            None => self.parsed.file.stmts.iter(),
            Some(block) => blocks
                .take(parts(&self.parsed.file).len())
                .nth(block)
                .map_or(&[][..], ScheduleStmt::body)
                .iter(),
        };
        stmts.filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_))).collect()
    }
}

/// The nest of one of the schedules of a text, or its errors.
fn check(text: &str, schedule: usize, options: &CheckOptions) -> Result<Nest, Vec<Diagnostic>> {
    let outcome = Outcome::quick(text, &parse(text), options);
    if outcome.is_legal() {
        return Ok(outcome.variant(schedule).nest().clone());
    }
    let mut found = outcome.verdict.diagnostics;
    found.retain(|diagnostic| diagnostic.severity == Severity::Error);
    Err(found)
}

/// The number at `offset`: an argument of a directive, or the value of a param or a const.
pub fn number_at(file: &ScheduleFile, offset: usize) -> Option<NumberLiteral> {
    let holds = |span: Span| span.start as usize <= offset && offset <= span.end as usize;
    let values = file.all_stmts().filter(|stmt| holds(stmt.span)).flat_map(|stmt| match &stmt.kind {
        StmtKind::Directive(directive) => directive.args.as_slice(),
        StmtKind::Param { default: value, .. } | StmtKind::Const { value, .. } => std::slice::from_ref(value),
        _ => &[],
    });
    values.into_iter().find_map(|expr| number_in(expr, &holds))
}

/// The number among the parts of an expression for which `holds` is true.
fn number_in(expr: &ScheduleExpr, holds: &dyn Fn(Span) -> bool) -> Option<NumberLiteral> {
    if !holds(expr.span) {
        return None;
    }
    match &expr.kind {
        ExprKind::Int(value) => Some(NumberLiteral { span: expr.span, value: *value }),
        ExprKind::Neg(inner) => number_in(inner, holds),
        ExprKind::Binary(_, left, right) => number_in(left, holds).or_else(|| number_in(right, holds)),
        ExprKind::Call(_, args) => args.iter().find_map(|arg| number_in(arg, holds)),
        ExprKind::Path(_) | ExprKind::Error => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberLiteral, Variation, Variations};
    use crate::options::{CheckOptions, ModelInfo};
    use sched_nest::show::show_nest;
    use std::sync::Arc;

    const TEXT: &str = "param ROWS = 64\ncache(b0)\ntile(batch, b0, b1, ROWS)\nreorder(b0, tree, \
                        b1)\nvectorize(b1, 16)\n\
        when n_rows <= 8 {\n  tile(tree, t0, t1, 4)\n  unrollWalk(t1, 2)\n}\n";

    fn nest(variation: &Variation) -> String {
        match &variation.nest {
            Ok(nest) => show_nest(nest),
            Err(errors) => errors.first().map(|error| error.code.to_string()).unwrap_or_default(),
        }
    }

    fn with<T>(text: &str, run: impl FnOnce(&Variations) -> T) -> T {
        let model = ModelInfo {
            num_trees: 10,
            num_features: 4,
            depths: vec![3; 10].into_iter().collect(),
            ..ModelInfo::default()
        };
        let options = CheckOptions { model: Some(Arc::new(model)), ..CheckOptions::default() };
        run(&Variations::new(text, &options))
    }

    #[test]
    fn prefixes_leave_out_what_is_not_made_yet() {
        with(TEXT, |all| {
            assert_eq!((all.schedule_count(), all.max_rows(0), all.max_rows(1)), (2, None, Some(8)));
            let texts: Vec<String> = all.directives(0).into_iter().map(|directive| directive.text).collect();
            assert_eq!(texts.len(), 4);
            assert_eq!(texts[3], "vectorize(b1, 16)");
            let first = all.prefix(0, 1);
            assert_eq!((nest(&first), &first.left_out[..]), (nest(&all.prefix(0, 0)), &[0][..]));
            let second = all.prefix(0, 2);
            assert!(
                second.left_out.is_empty() && nest(&second).contains("for b1 in 0..64"),
                "{}",
                nest(&second)
            );
            assert_eq!(nest(&all.prefix(0, 4)), nest(&all.unchanged(0)));
            assert!(second.text.contains("when n_rows <= 8 {\n  tile"), "the other schedule stays");
        });
    }

    #[test]
    fn blocks_have_prefixes_of_their_own() {
        with(TEXT, |all| {
            let [none, one, two] = [0, 1, 2].map(|count| nest(&all.prefix(1, count)));
            assert!(!none.contains("t0") && one.contains("t0") && two.contains("unroll"), "{none}{one}{two}");
            assert_eq!(all.directives(1)[0].line, 7);
        });
    }

    #[test]
    fn without_a_directive_those_go_that_need_it() {
        with(TEXT, |all| {
            let tile = all.without(0, 1);
            assert_eq!(tile.left_out, [0, 2, 3]);
            assert_eq!(nest(&tile), nest(&all.prefix(0, 0)));
            let vectorize = all.without(0, 3);
            assert!(vectorize.left_out.is_empty() && !nest(&vectorize).contains("vector"));
        });
    }

    #[test]
    fn variations_with_errors_have_no_nest() {
        with("tile(batch, b0, b1, 0)\n", |all| {
            assert!(all.prefix(0, 1).nest.is_err());
            assert!(all.without(0, 0).nest.is_ok());
        });
        with(TEXT, |all| {
            let zero = all.with_param(0, "ROWS", 0);
            assert!(nest(&zero).starts_with('S'), "{}", nest(&zero));
        });
    }

    #[test]
    fn numbers_are_found_and_replaced() {
        with(TEXT, |all| {
            let at = |what: &str| TEXT.find(what).unwrap_or_default();
            let found = all.number_at(at("16)"));
            assert_eq!(found.map(|(schedule, number)| (schedule, number.value)), Some((0, 16)));
            let Some((schedule, number)) = found else { return };
            let eight = all.with_number(schedule, number, 8);
            assert!(eight.text.contains("vectorize(b1, 8)") && nest(&eight).contains('8'));
            assert_eq!(all.number_at(at("4)\n  unroll")).map(|(schedule, _)| schedule), Some(1));
            assert_eq!(all.number_at(at("64")).map(|(_, number)| number.value), Some(64));
            assert_eq!(all.number_at(at("reorder")), None);
            assert!(nest(&all.with_param(0, "ROWS", 128)).contains("0..128"));
            let nowhere =
                NumberLiteral { span: sched_grammar::ast::Span { start: 9999, end: 10_000 }, value: 1 };
            assert_eq!(all.with_number(0, nowhere, 2).text, TEXT);
        });
    }
}
