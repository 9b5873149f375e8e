//! The start of a statement: directives that are legal here, and header lines.

use sched_grammar::ast::StmtKind;

use super::item::{Completion, CompletionKind, WORK};
use super::order::{LegalForm, Rank, Ranker};
use super::template;
use crate::ScheduleAnalysis;
use crate::cursor::Typed;
use crate::hover::header_meaning;
use sched_lang::check::{InsertionPoint, WorkBudget};
use sched_lang::directives::{DirectiveOp, Signature, of as signature_of};
use sched_lang::legal_next::candidates::{self, Forms, NamedLoop};
use sched_lang::legal_next::{Argument, candidate_ops};
use sched_nest::Layout;

/// Most forms of one directive that are proposed.
const MAX_FORMS: usize = 3;
/// Most forms of `reorder`, where each is another order.
const MAX_REORDER_FORMS: usize = 5;
/// Most forms of `representation`, where each is another layout.
const MAX_LAYOUT_FORMS: usize = Layout::ALL.len();
/// Most numbers that are tried for one loop. If the checker refuses them all, the loop is usually at fault,
/// not the number.
const MAX_TRIED_NUMBERS: usize = 2;
/// Maximum loops for which directives are proposed. In larger nests the limit of work ends the search earlier
/// anyway.
const MAX_PROPOSED_LOOPS: usize = 32;

pub(super) fn complete(analysis: ScheduleAnalysis, offset: usize, typed: Typed) -> Vec<Completion> {
    let prepared = analysis.prepared();
    let own = typed.stmt.and_then(|stmt| prepared.step_at(stmt.span));
    let at = typed.stmt.map_or(offset, |stmt| stmt.span.start as usize);
    let mut point = prepared.insertion_point(at, own);
    let is_taken =
        |name: &str| prepared.is_taken(name) && !own.is_some_and(|own| prepared.makes_loop(own, name));
    let ranker = Ranker::new(analysis);
    let found = legal_forms(&mut point, &is_taken, &ranker);
    let is_call = analysis.source().get(typed.span.end as usize..).is_some_and(|rest| rest.starts_with('('));
    let nest = point.nest();
    let mut ranked: Vec<(Rank, Completion)> = Vec::new();
    for (op, forms) in &found {
        let Some(signature) = signature_of(*op) else { continue };
        let forms = forms.iter().map(|form| {
            let rank = ranker.rank(form, nest);
            (rank, Completion { is_next: rank.is_next(), ..item(signature, form, typed) })
        });
        if is_call {
            // The text already has the arguments.
            let bare = |item| Completion {
                label: signature.name.to_owned(),
                insert: signature.name.to_owned(),
                ..item
            };
            ranked.extend(forms.take(1).map(|(rank, item)| (rank, bare(item))));
        } else {
            ranked.extend(forms);
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut all: Vec<Completion> = ranked.into_iter().map(|(_, item)| item).collect();
    if !is_call && !analysis.is_in_block() {
        all.push(block(typed));
        all.extend(header_lines(analysis, typed));
        all.extend(template::directives(analysis, typed));
        empty_text_menu(analysis, typed, &mut all);
    }
    all
}

/// Finds legal forms of each directive. The first round looks for one form of each directive. Later rounds
/// look for one more each, up to the directive's limit or until the work is used up.
fn legal_forms(
    point: &mut InsertionPoint,
    is_taken: &dyn Fn(&str) -> bool,
    ranker: &Ranker,
) -> Vec<(DirectiveOp, Vec<LegalForm>)> {
    let ops = candidate_ops(None);
    let mut work = WORK;
    let mut names = candidates::live_names(point.nest());
    names.truncate(MAX_PROPOSED_LOOPS);
    let mut searches: Vec<FormSearch> =
        ops.into_iter().map(|op| FormSearch::new(op, point, &names, is_taken, ranker)).collect();
    // Annotations are quick to try. They come first, and leave their remaining work to modifiers.
    let is_quick =
        |search: &FormSearch| !signature_of(search.op).is_some_and(|signature| signature.is_modifier);
    let (mut quick, mut slow): (Vec<&mut FormSearch>, Vec<&mut FormSearch>) =
        searches.iter_mut().partition(|search| is_quick(search));
    for round in 0..MAX_LAYOUT_FORMS.max(MAX_REORDER_FORMS) {
        let mut rest = quick.len() + slow.len();
        let goes_on = |search: &&mut &mut FormSearch| match search.op {
            DirectiveOp::Reorder => round < MAX_REORDER_FORMS,
            DirectiveOp::Representation => round < MAX_LAYOUT_FORMS,
            _ => round < MAX_FORMS,
        };
        for search in quick.iter_mut().chain(&mut slow).filter(goes_on) {
            let share = if round == 0 { work.share(rest) } else { work };
            let mut left = share;
            search.next(point, &mut left);
            work = work.after(share, left);
            rest -= 1;
        }
    }
    searches.retain(|search| !search.found.is_empty());
    searches.into_iter().map(|search| (search.op, search.found)).collect()
}

/// A search for legal forms of one directive.
struct FormSearch {
    op: DirectiveOp,
    /// The untried forms, in reverse.
    rest: Vec<Forms>,
    found: Vec<LegalForm>,
}

impl FormSearch {
    fn new(
        op: DirectiveOp,
        point: &InsertionPoint,
        names: &[NamedLoop],
        is_taken: &dyn Fn(&str) -> bool,
        ranker: &Ranker,
    ) -> Self {
        let mut rest = candidates::candidates_among(op, point.nest(), names, is_taken);
        rest.iter_mut().for_each(|forms| ranker.order(forms, point.nest()));
        rest.reverse();
        FormSearch { op, rest, found: Vec::new() }
    }

    /// Looks for one more form, with at most this much work.
    fn next(&mut self, point: &mut InsertionPoint, work: &mut WorkBudget) {
        while let Some(forms) = self.rest.pop() {
            for form in forms.into_iter().take(MAX_TRIED_NUMBERS) {
                if work.is_done() {
                    return;
                }
                if point.fits(&form, work) {
                    // Further forms for this loop differ in their arguments alone.
                    let v = form.arguments().into_iter().next();
                    let is_same = |other: &Forms| {
                        let other = other.first().and_then(|form| form.arguments().into_iter().next());
                        matches!(other, Some(Argument::Loop(_))) && other == v
                    };
                    if self.op != DirectiveOp::Reorder {
                        self.rest.retain(|other| !is_same(other));
                    }
                    let reassociates = point.reassociates(&form);
                    self.found.push(LegalForm { operation: form, reassociates });
                    return;
                }
            }
        }
    }
}

fn item(signature: &Signature, form: &LegalForm, typed: Typed) -> Completion {
    let LegalForm { operation, reassociates } = form;
    let on_gpu = matches!(signature.op, DirectiveOp::GpuDimension | DirectiveOp::SharedReduce);
    let detail = match (on_gpu, reassociates, signature.is_modifier) {
        (true, ..) => "for GPUs only",
        (false, true, _) => "accumulation no longer exact",
        (false, false, true) => "changes the nest",
        (false, false, false) => "annotates the nest",
    };
    let caution = if on_gpu { " The schedule is for a GPU then." } else { "" };
    let documentation = format!(
        "```sched\n{}\n```\n{}\n\nWith these arguments it is legal here.{caution}",
        signature.usage(),
        signature.summary
    );
    // Plain text: an argument selected as a placeholder would be lost at the next Enter.
    let item = Completion::new(CompletionKind::Directive, operation.to_string(), typed.span)
        .detail(detail)
        .documentation(documentation);
    Completion { filter: signature.name.to_owned(), reassociates: *reassociates, ..item }
}

/// The menu of an empty text: the model, the target and an example come first. `all` has all other proposals.
fn empty_text_menu(analysis: ScheduleAnalysis, typed: Typed, all: &mut Vec<Completion>) {
    if template::has_other(analysis, typed, |_| true) {
        return;
    }
    let is_first = |item: &Completion| {
        item.kind == CompletionKind::Keyword && ["model", "target"].contains(&item.label.as_str())
    };
    let (mut menu, rest): (Vec<_>, Vec<_>) = std::mem::take(all).into_iter().partition(is_first);
    menu.sort_by_key(|item| item.label != "model");
    menu.push(template::example(typed));
    menu.extend(rest);
    menu.push(template::header(typed));
    *all = menu;
}

/// Completion of a `when` block: a separate schedule for small calls.
fn block(typed: Typed) -> Completion {
    Completion::new(CompletionKind::Keyword, "when n_rows <= 8 { }", typed.span)
        .detail("small calls")
        .documentation(header_meaning("when").unwrap_or_default())
        .filter("when")
        .snippet("when n_rows <= 8 {\n    $0\n\\}")
}

/// Lines of the header that the file may still have.
fn header_lines(analysis: ScheduleAnalysis, typed: Typed) -> Vec<Completion> {
    let has = |wanted| template::has_other(analysis, typed, wanted);
    let lines = [
        ("param", "param ${1:SIZE} = ${2:64} in {${3:16, 32, 64, 128}}", false),
        ("const", "const ${1:HALF} = ${2:num_trees / 2}", false),
        ("model", "model \"${1:model.json}\"", has(|kind| matches!(kind, StmtKind::Model { .. }))),
        ("target", "target ${1|cpu,gpu|}", has(|kind| matches!(kind, StmtKind::Target { .. }))),
        ("sched", "sched 1", has(|kind| matches!(kind, StmtKind::Edition(_)))),
    ];
    let lines = lines.into_iter().filter(|(.., is_there)| !is_there);
    lines
        .map(|(word, insert, _)| {
            let about = header_meaning(word).unwrap_or_default();
            Completion::new(CompletionKind::Keyword, word, typed.span)
                .detail("header")
                .documentation(about)
                .snippet(insert)
        })
        .collect()
}
