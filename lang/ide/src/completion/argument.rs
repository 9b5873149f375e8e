//! Arguments of a directive: loops, new names, numbers and words with which it is legal here.

use sched_grammar::ast::Span;
use sched_nest::{Axis, Layout, LoopId};

use super::item::{Completion, CompletionKind, WORK};
use super::number::{functions, is_general, names};
use super::stage;
use crate::ScheduleAnalysis;
use crate::cursor::{CallAt, is_name, is_path, word};
use crate::hover::word_meaning;
use sched_lang::check::{InsertionPoint, WorkBudget};
use sched_lang::directives::{DirectiveOp, Parameter, Role, Signature, TILINGS, find};
use sched_lang::legal_next::candidates::{self, Forms, NamedLoop};
use sched_lang::legal_next::{Argument, Operation};
use sched_lang::lineage::{Annotation, DirectiveIndex, IndexRecord, LoopSelector};
use sched_nest::show::range;
use sched_nest::sym::Sym;

/// Most numbers that are tried for one loop. If the checker refuses them all, the loop is usually at fault,
/// not the number.
const MAX_TRIED_NUMBERS: usize = 2;
/// The completions of the argument at the cursor.
pub(super) fn complete(analysis: ScheduleAnalysis, offset: usize, call: &CallAt) -> Vec<Completion> {
    let Some(signature) = find(call.name) else { return Vec::new() };
    let mut at = ArgumentPlace::new(analysis, offset, call, signature);
    if call.function.is_some() {
        return at.in_expression();
    }
    let last = signature.parameters.len().saturating_sub(1);
    let parameter = if signature.repeats { call.at.min(last) } else { call.at };
    match signature.parameters.get(parameter).map(|parameter| parameter.role) {
        Some(Role::Index) if signature.op == DirectiveOp::Reorder => {
            let mut all = at.reorder_loops();
            all.extend(at.loops_of_stages());
            all
        }
        Some(Role::Index) if signature.op == DirectiveOp::Representation => {
            let mut all = at.words();
            all.extend(at.loops());
            all
        }
        Some(Role::Index) => {
            let mut all = at.loops();
            all.extend(at.loops_of_stages());
            all
        }
        Some(Role::NewIndex) => at.new_names(),
        Some(Role::Number) => at.numbers(),
        Some(Role::Keyword(_)) => at.words(),
        None => Vec::new(),
    }
}

/// The argument at the cursor, and the call around it.
struct ArgumentPlace<'a> {
    analysis: ScheduleAnalysis<'a>,
    call: &'a CallAt<'a>,
    op: DirectiveOp,
    signature: &'static Signature,
    point: InsertionPoint<'a>,
    own: Option<DirectiveIndex>,
    offset: usize,
    work: WorkBudget,
}

impl<'a> ArgumentPlace<'a> {
    fn new(
        analysis: ScheduleAnalysis<'a>,
        offset: usize,
        call: &'a CallAt<'a>,
        signature: &'static Signature,
    ) -> Self {
        let prepared = analysis.prepared();
        let own = prepared.step_at(call.stmt.span);
        let point = prepared.insertion_point(call.stmt.span.start as usize, own);
        ArgumentPlace { analysis, call, op: signature.op, signature, point, own, offset, work: WORK }
    }

    /// Text of the argument at position `at`, unless it is the one at the cursor.
    fn argument_text(&self, at: usize) -> Option<&'a str> {
        let span = self.call.arguments.get(at).filter(|_| at != self.call.at)?;
        Some(self.analysis.text(*span)).filter(|text| !text.is_empty())
    }

    fn is_taken(&self, name: &str) -> bool {
        let prepared = self.analysis.prepared();
        prepared.is_taken(name) && !self.own.is_some_and(|own| prepared.makes_loop(own, name))
    }

    /// Whether an operation is legal here. Always false after the budget of work is spent.
    fn fits(&mut self, operation: &Operation) -> bool {
        self.point.fits(operation, &mut self.work)
    }

    /// Returns the directive's candidates for loop `v`, keeping the names, number and keyword already
    /// written.
    fn forms(&self, v: &NamedLoop) -> Vec<Operation> {
        let is_taken = |name: &str| self.is_taken(name);
        let forms = candidates::about(self.op, self.point.nest(), &v.0, v.1, &is_taken);
        let mut all: Vec<Operation> = Vec::new();
        for form in forms.into_iter().flatten() {
            if let Some(form) = self.as_written(form)
                && !all.contains(&form)
            {
                all.push(form);
            }
        }
        all
    }

    /// Whether the first argument is a loop.
    fn is_about_a_loop(&self) -> bool {
        self.signature.parameters.first().is_some_and(|parameter| parameter.role == Role::Index)
    }

    /// Candidates of a directive whose first argument is not a loop.
    fn all_forms(&self) -> Forms {
        candidates::of(self.op, self.point.nest(), &|_| false).into_iter().flatten().collect()
    }

    fn as_written(&self, form: Operation) -> Option<Operation> {
        let name = |at: usize| {
            let text = self.argument_text(at)?;
            text.chars().all(is_name).then(|| text.to_owned())
        };
        let parameters = self.signature.parameters.iter().enumerate();
        let is_new = |(at, parameter): (usize, &Parameter)| (parameter.role == Role::NewIndex).then_some(at);
        let mut new = parameters.filter_map(is_new).map(name);
        let form = form.with_names([new.next().flatten(), new.next().flatten()]);
        for (at, parameter) in self.signature.parameters.iter().enumerate() {
            match parameter.role {
                Role::Number => {
                    let Some(number) = self.number(at) else { continue };
                    return form.with_number(&number);
                }
                Role::Keyword(_) => {
                    let Some(text) = self.argument_text(at) else { continue };
                    let fits = form.arguments().iter().any(|a| matches!(a, Argument::Word(w) if w == text));
                    return fits.then_some(form);
                }
                Role::Index | Role::NewIndex => {}
            }
        }
        Some(form)
    }

    /// The value of another argument, if that is a number with a value.
    fn number(&self, at: usize) -> Option<Sym> {
        let text = self.argument_text(at)?;
        if let Ok(number) = text.parse() {
            return Some(Sym::Int(number));
        }
        let known = self.analysis.prepared().numbers().iter().find(|number| number.name == text);
        if let Some(known) = known {
            return known.value.clone();
        }
        let call = self.analysis.prepared().call(self.own?)?;
        call.number(at).filter(|_| !call.has_wrong_count).cloned()
    }

    /// The name under the cursor, qualifiers included.
    fn path(&self) -> Span {
        word(self.analysis.source(), self.offset, is_path)
    }

    fn loops(&mut self) -> Vec<Completion> {
        let replace = self.path();
        let mut names: Vec<(usize, NamedLoop)> =
            candidates::live_names(self.point.nest()).into_iter().enumerate().collect();
        // The newest loops are tried first, while there is work left: they are the likeliest, and mostly
        // small.
        names.sort_by_key(|(_, named)| std::cmp::Reverse(named.1.0));
        let mut all = Vec::new();
        for (place, named) in names {
            if self.work.is_done() {
                break;
            }
            let forms = self.forms(&named);
            if let Some(form) = forms.into_iter().take(MAX_TRIED_NUMBERS).find(|form| self.fits(form)) {
                all.push((place, self.loop_item(&named, &form, replace)));
            }
        }
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, item)| item).collect()
    }

    /// Loops of stages of columns with which the directive is legal.
    fn loops_of_stages(&self) -> Vec<Completion> {
        stage::loops(self.analysis, self.op, self.path(), &|name| self.is_taken(name))
    }

    fn loop_item(&self, (select, id): &NamedLoop, form: &Operation, replace: Span) -> Completion {
        let node = self.point.nest().node(*id);
        let sort = if node.axis == Axis::Row { "rows" } else { "trees" };
        let range = range(&node.start, &node.stop, &node.step);
        Completion::new(CompletionKind::Index, select.to_string(), replace)
            .detail(format!("{sort} {range}"))
            .documentation(format!("Legal here, for example:\n```sched\n{form}\n```"))
    }

    /// Loops that, with those already written, form a chain of perfectly nested loops.
    fn reorder_loops(&mut self) -> Vec<Completion> {
        let replace = self.path();
        let count = self.call.arguments.len();
        let given: Vec<LoopSelector> =
            (0..count).filter_map(|at| self.argument_text(at)).filter_map(LoopSelector::parse).collect();
        let mut all = Vec::new();
        for named in candidates::live_names(self.point.nest()) {
            if given.contains(&named.0) {
                continue;
            }
            let order =
                if given.is_empty() { self.order_beginning_with(&named) } else { self.chain(&given, &named) };
            let Some(order) = order else { continue };
            let form = Operation::Reorder(order);
            if self.fits(&form) {
                all.push(self.loop_item(&named, &form, replace));
            }
        }
        all
    }

    /// An order that begins with the loop. The loop directly around it follows, if that contains nothing
    /// else; otherwise the only loop inside.
    fn order_beginning_with(&self, (select, id): &NamedLoop) -> Option<Vec<LoopSelector>> {
        let nest = self.point.nest();
        let only = |id: LoopId| nest.tree().inside(id).only();
        let outer = nest.tree().parent(*id).filter(|parent| only(*parent) == Some(*id));
        let other = outer.or_else(|| only(*id))?;
        Some(vec![select.clone(), self.select_in_style_of(select, other)])
    }

    /// The name of a loop in the style of a neighbouring name: for all copies together, or for each copy.
    fn select_in_style_of(&self, select: &LoopSelector, id: LoopId) -> LoopSelector {
        let nest = self.point.nest();
        if select.scope.is_empty() && select.number.is_none() {
            LoopSelector::all(&nest.node(id).name)
        } else {
            nest.names().select_of(id)
        }
    }

    /// The loops in the text, this one, and all loops between them.
    fn chain(&self, given: &[LoopSelector], (select, id): &NamedLoop) -> Option<Vec<LoopSelector>> {
        let nest = self.point.nest();
        let mut ids = vec![*id];
        for select in given {
            let on_path = |other: &LoopId| {
                nest.tree().path(*id).contains(other) || nest.tree().path(*other).contains(id)
            };
            ids.push(nest.select(DirectiveIndex(0), 0, select).ok()?.into_iter().find(on_path)?);
        }
        let innermost = ids.iter().copied().max_by_key(|id| nest.tree().path(*id).len())?;
        let path = nest.tree().path(innermost);
        let from = path.iter().position(|on| ids.contains(on))?;
        let mut order = given.to_vec();
        order.push(select.clone());
        let between = path.get(from..)?.iter().filter(|on| !ids.contains(on));
        order.extend(between.map(|on| self.select_in_style_of(select, *on)));
        Some(order)
    }

    /// Unused names for new loops.
    fn new_names(&mut self) -> Vec<Completion> {
        let replace = word(self.analysis.source(), self.offset, is_name);
        let nest = self.point.nest();
        let source = self.argument_text(0).and_then(LoopSelector::parse);
        let named = |index: &&IndexRecord| source.as_ref().is_some_and(|source| index.name == source.name);
        let sort = self.analysis.lineage().indices.iter().find(named).map_or(Axis::Row, |index| index.axis);
        let other = self.argument_text(if self.call.at == 1 { 2 } else { 1 });
        let is_taken = |name: &str| self.is_taken(name) || other == Some(name);
        let (first, second) = candidates::fresh_names(nest, sort, &is_taken);
        let parameter = self.signature.parameters.get(self.call.at).map_or("", |parameter| parameter.name);
        // If the other name is in the text, the first unused name continues its numbers.
        let name = if self.call.at == 1 || other.is_some() { first } else { second };
        vec![
            Completion::new(CompletionKind::Index, name, replace)
                .detail(format!("a new name: {parameter}"))
                .documentation("A name for a loop that this directive makes; any free name will do."),
        ]
    }

    /// Numbers with which the directive is legal, and the names and functions to write others.
    fn numbers(&mut self) -> Vec<Completion> {
        let replace = word(self.analysis.source(), self.offset, is_name);
        let own = self.call.arguments.get(self.call.at).copied().unwrap_or(replace);
        if own != replace && own.start < own.end {
            return self.in_expression();
        }
        let forms: Forms = if self.is_about_a_loop() {
            let Some(named) = self.first_loop() else { return self.in_expression() };
            self.forms(&named)
        } else {
            self.all_forms()
        };
        let mut all = Vec::new();
        let Some(model) = forms.first().cloned() else { return Vec::new() };
        for number in names(self.analysis, self.call.stmt.span.start as usize, replace) {
            let Some(value) = number.value.filter(is_general) else { continue };
            let form = model.clone().with_number(&value);
            if form.is_some_and(|form| self.fits(&form)) {
                all.push(number.item);
            }
        }
        let declared = all.iter().filter(|item| item.kind != CompletionKind::Property).count();
        let model = all.split_off(declared);
        for form in forms {
            if let Some(Argument::Number(text)) = form.arguments().pop()
                && self.fits(&form)
            {
                let item = Completion::new(CompletionKind::Word, text, replace);
                all.push(item.documentation(format!("Legal here:\n```sched\n{form}\n```")));
            }
        }
        all.extend(model);
        if !all.is_empty() {
            all.extend(functions(replace));
        }
        all
    }

    /// The loop that the first argument names.
    fn first_loop(&self) -> Option<NamedLoop> {
        let select = self.argument_text(0).and_then(LoopSelector::parse)?;
        let ids = self.point.nest().select(DirectiveIndex(0), 0, &select).ok()?;
        Some((select, *ids.first()?))
    }

    /// Names and functions inside a longer expression, where no number can be tried for legality.
    fn in_expression(&self) -> Vec<Completion> {
        let replace = word(self.analysis.source(), self.offset, is_name);
        let before = self.call.stmt.span.start as usize;
        let known = names(self.analysis, before, replace).into_iter();
        known
            .filter(|number| number.value.is_some())
            .map(|number| number.item)
            .chain(functions(replace))
            .collect()
    }

    /// Words with which the directive is legal.
    fn words(&mut self) -> Vec<Completion> {
        let replace = word(self.analysis.source(), self.offset, is_path);
        let forms: Forms = match (self.op, self.call.at) {
            (DirectiveOp::Representation, 0) => {
                Layout::ALL.iter().map(|layout| Operation::Layout(*layout)).collect()
            }
            (DirectiveOp::Representation, _) => {
                let Some((v, _)) = self.first_loop() else { return Vec::new() };
                Layout::ALL
                    .iter()
                    .map(|layout| Operation::Annotate(v.clone(), Annotation::Layout(*layout)))
                    .collect()
            }
            (DirectiveOp::TileTrees, _) => return self.tilings(replace),
            _ if !self.is_about_a_loop() => self.all_forms(),
            _ => {
                let Some(named) = self.first_loop() else { return Vec::new() };
                self.forms(&named)
            }
        };
        let mut all = Vec::new();
        for form in forms {
            if let Some(Argument::Word(text)) = form.arguments().pop()
                && self.fits(&form)
            {
                all.push(word_item(text, replace));
            }
        }
        all
    }

    /// Words for the tiling of trees. Without a profile of the leaves only one is legal.
    fn tilings(&self, replace: Span) -> Vec<Completion> {
        let has_profile = self.analysis.options().model.as_ref().is_some_and(|model| model.has_profile);
        let ways = TILINGS.iter().filter(|way| has_profile || **way != "probability");
        ways.map(|way| word_item((*way).to_owned(), replace)).collect()
    }
}

fn word_item(text: String, replace: Span) -> Completion {
    let about = word_meaning(&text);
    Completion::new(CompletionKind::Word, text, replace).documentation(about)
}
