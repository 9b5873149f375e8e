//! The meaning of each name of a text, and so its declaration.
//!
//! The syntax tree alone decides, so that half-written and illegal schedules have meanings too. Loops,
//! params, consts and model properties share one set of names, in which a name means one thing in a whole
//! schedule: a consumed loop keeps its name. Each block is a schedule with separate loops; all blocks share
//! the params, consts and model properties of the file. Names of directives, of functions and of the words
//! that directives take are separate sets.

use std::collections::HashMap;

use sched_grammar::ast::{
    Directive, ExprKind, Ident, Path, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind,
};
use sched_grammar::{Lexeme, LexemeKind, Parsed, is_reserved, lexemes};

use sched_lang::directives::{DirectiveOp, Parameter, Role, Signature, find};
use sched_lang::part::{WhenBlock, part_at};
use sched_lang::resolve::{FUNCTIONS, PROPERTIES, parameters, path_text};
use sched_nest::Axis;

/// The kind of a name's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NameKind {
    /// `batch` or `tree`.
    Root,
    /// A loop that a directive makes.
    Index,
    Param,
    Const,
    /// A number that the language names: `num_trees`.
    Property,
    /// A function, or an unknown name that is called like one.
    Function,
    /// A directive, or an unknown name in the place of one.
    Directive,
    /// A keyword of a directive or of the target line: `sparse`, `grid.x`, `avx512`.
    Word,
    /// An undeclared name in the place of a loop or a number.
    Undeclared,
}

/// A name and its meaning.
#[derive(Clone, Debug)]
pub(crate) struct NameMeaning {
    pub name: String,
    pub kind: NameKind,
    /// The axis of a loop, if it is known.
    pub axis: Option<Axis>,
    /// The declarations: one, unless the text has a mistake.
    pub declarations: Vec<Span>,
    /// The first directive that makes numbered copies of it: `splitByDepth(v)` or `specialize(v)`.
    pub copied: Option<Span>,
}

/// An occurrence of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub span: Span,
    /// The index of the name's meaning in [`TextNames`].
    id: usize,
    /// Whether this occurrence declares the name.
    pub declares: bool,
    /// Whether a number in brackets follows: `v[3]`.
    pub numbered: bool,
}

/// All names of a text.
#[derive(Debug, Default)]
pub(crate) struct TextNames {
    named: Vec<NameMeaning>,
    /// All occurrences, in the order of the text.
    occurrences: Vec<Occurrence>,
    known: HashMap<(Namespace, String), usize>,
    /// The schedule that is being read: 0 outside of blocks, then the blocks in order.
    part: usize,
}

/// A set of names. Equal names in different sets are unrelated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Namespace {
    /// Numbers, and the two loops that every schedule has.
    Value,
    /// Loops of one of the schedules.
    Loop(usize),
    Function,
    Directive,
    Word,
}

impl TextNames {
    pub fn new(source: &str, parsed: &Parsed) -> Self {
        let mut names = TextNames::default();
        for root in ["batch", "tree"] {
            names.id(Namespace::Value, root);
        }
        // Numbers first: they are visible in the whole file, and a loop cannot have their names.
        parsed.file.all_stmts().for_each(|stmt| names.declare_number(stmt));
        names.read_schedule(&parsed.file.stmts);
        for block in parsed.file.stmts.iter().filter_map(WhenBlock::of) {
            names.part += 1;
            names.read_schedule(&block.when.body);
        }
        names.occurrences.sort_by_key(|occurrence| occurrence.span);
        if !parsed.errors.is_empty() {
            names.unparsed(source, &parsed.file);
        }
        names
    }

    /// Reads the names of one of the schedules.
    fn read_schedule(&mut self, stmts: &[ScheduleStmt]) {
        stmts.iter().for_each(|stmt| self.declare_loops(stmt));
        stmts.iter().for_each(|stmt| self.statement(stmt));
    }

    /// The name at `offset`, or the one that ends there.
    pub fn at(&self, offset: usize) -> Option<&Occurrence> {
        let after = self.occurrences.partition_point(|occurrence| occurrence.span.start as usize <= offset);
        let occurrence = self.occurrences.get(after.checked_sub(1)?)?;
        (offset <= occurrence.span.end as usize).then_some(occurrence)
    }

    /// The meaning of an occurrence of this text.
    pub fn meaning(&self, occurrence: &Occurrence) -> &NameMeaning {
        &self.named[occurrence.id]
    }

    /// All names in the order of the text.
    pub fn all(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// All occurrences of the same meaning, in the order of the text.
    pub fn with_same_meaning(&self, occurrence: &Occurrence) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter().filter(|other| other.id == occurrence.id)
    }

    /// The meaning of a name in any schedule of the text: a loop, a param, a const, a property, or an
    /// undeclared name.
    pub fn find(&self, name: &str) -> Option<&NameMeaning> {
        self.places(name).next().map(|id| &self.named[id])
    }

    /// The meaning that `name` has in the scope of `like`: the whole file for a number, its own schedule for
    /// a loop.
    pub fn find_beside(&self, like: &Occurrence, name: &str) -> Option<&NameMeaning> {
        let spaces = self.known.iter().filter(|(_, id)| **id == like.id).map(|((space, _), _)| *space);
        match spaces.last() {
            Some(Namespace::Loop(part)) => self.value(part, name).map(|id| &self.named[id]),
            _ => self.find(name),
        }
    }

    /// The first occurrence of a loop or number.
    pub fn first(&self, named: &NameMeaning) -> Option<&Occurrence> {
        self.occurrences.iter().find(|occurrence| std::ptr::eq(&raw const self.named[occurrence.id], named))
    }

    /// A loop or number in one of the schedules.
    fn value(&self, part: usize, name: &str) -> Option<usize> {
        let at = |space| self.known.get(&(space, name.to_owned())).copied();
        at(Namespace::Value).or_else(|| at(Namespace::Loop(part)))
    }

    /// All loops and numbers of a name.
    fn places(&self, name: &str) -> impl Iterator<Item = usize> {
        let spaces = std::iter::once(Namespace::Value).chain((0..=self.part).map(Namespace::Loop));
        spaces.filter_map(move |space| self.known.get(&(space, name.to_owned())).copied())
    }

    /// The index of the meaning of a loop's or number's name in the schedule that is being read.
    fn value_id(&mut self, name: &str) -> usize {
        let is_general =
            self.known.contains_key(&(Namespace::Value, name.to_owned())) || built_in(name).is_some();
        self.id(if is_general { Namespace::Value } else { Namespace::Loop(self.part) }, name)
    }

    /// The index of the meaning of a name in `space`. Adds an undeclared meaning if the name is new.
    fn id(&mut self, space: Namespace, name: &str) -> usize {
        let next = self.named.len();
        let id = *self.known.entry((space, name.to_owned())).or_insert(next);
        if id == next {
            let (kind, axis) = match space {
                Namespace::Function => (NameKind::Function, None),
                Namespace::Directive => (NameKind::Directive, None),
                Namespace::Word => (NameKind::Word, None),
                Namespace::Value | Namespace::Loop(_) => {
                    built_in(name).unwrap_or((NameKind::Undeclared, None))
                }
            };
            let name = name.to_owned();
            self.named.push(NameMeaning { name, kind, axis, declarations: Vec::new(), copied: None });
        }
        id
    }

    /// Declares a name. A repeated declaration is added to the first one.
    fn declare(&mut self, name: &Ident, kind: NameKind, axis: Option<Axis>) {
        let id = match kind {
            NameKind::Param | NameKind::Const => self.id(Namespace::Value, &name.text),
            _ => self.value_id(&name.text),
        };
        let named = &mut self.named[id];
        if named.kind == NameKind::Undeclared && !is_reserved(&name.text) {
            (named.kind, named.axis) = (kind, axis);
        }
        if named.kind.is_declared() {
            named.declarations.push(name.span);
        }
    }

    fn declare_number(&mut self, stmt: &ScheduleStmt) {
        match &stmt.kind {
            StmtKind::Param { name, .. } => self.declare(name, NameKind::Param, None),
            StmtKind::Const { name, .. } => self.declare(name, NameKind::Const, None),
            _ => {}
        }
    }

    fn declare_loops(&mut self, stmt: &ScheduleStmt) {
        let StmtKind::Directive(directive) = &stmt.kind else { return };
        let Some(signature) = find(&directive.name.text) else { return };
        let subject = directive.args.first().and_then(path).and_then(|path| path.segments.last());
        let subject = subject.map(|segment| (self.value_id(&segment.name.text), segment.name.span));
        let axis = subject.and_then(|(id, _)| self.named[id].axis);
        for (parameter, arg) in signature.parameters.iter().zip(&directive.args) {
            if parameter.role == Role::NewIndex
                && let Some(name) = path(arg).and_then(Path::as_ident)
            {
                self.declare(name, NameKind::Index, axis);
            }
        }
        if matches!(signature.op, DirectiveOp::SplitByDepth | DirectiveOp::Specialize)
            && let Some((id, span)) = subject
        {
            self.named[id].copied.get_or_insert(span);
        }
    }

    fn statement(&mut self, stmt: &ScheduleStmt) {
        match &stmt.kind {
            StmtKind::Edition(expr) => self.expr(expr),
            StmtKind::Target { kind, options } => {
                self.word(&kind.text, kind.span);
                options.iter().for_each(|option| self.word(&option.text, option.span));
            }
            StmtKind::Param { name, default, choices } => {
                self.declaration(name);
                self.expr(default);
                choices.iter().for_each(|choice| self.expr(choice));
            }
            StmtKind::Const { name, value } => {
                self.declaration(name);
                self.expr(value);
            }
            StmtKind::Directive(directive) => self.directive(directive),
            StmtKind::When(when) => {
                self.expr(&when.left);
                self.expr(&when.right);
            }
            StmtKind::Model { .. } | StmtKind::Reserved(_) | StmtKind::Error => {}
        }
    }

    fn directive(&mut self, directive: &Directive) {
        let id = self.id(Namespace::Directive, &directive.name.text);
        self.add(id, directive.name.span, false);
        let signature = find(&directive.name.text);
        for (at, arg) in directive.args.iter().enumerate() {
            let role = signature.and_then(|signature| parameter_at(signature, directive.args.len(), at));
            match (role.map(|parameter| parameter.role), path(arg)) {
                (Some(Role::Keyword(words)), Some(path)) if self.is_word(path, words) => {
                    self.word(&path_text(path).unwrap_or_default(), path.span);
                }
                (Some(Role::NewIndex), Some(path)) => match path.as_ident() {
                    Some(name) => self.declaration(name),
                    None => self.path(path),
                },
                _ => self.expr(arg),
            }
        }
    }

    /// Whether a path in the place of a keyword is one. Half-written directives may have a loop's name there.
    fn is_word(&self, path: &Path, words: &[&str]) -> bool {
        let Some(text) = path_text(path) else { return false };
        let is_declared =
            |name: &Ident| self.value(self.part, &name.text).is_some_and(|id| self.named[id].kind.is_value());
        words.contains(&text.as_str()) || !path.as_ident().is_some_and(is_declared)
    }

    fn word(&mut self, text: &str, span: Span) {
        let id = self.id(Namespace::Word, text);
        self.add(id, span, false);
    }

    fn declaration(&mut self, name: &Ident) {
        let id = self.value_id(&name.text);
        let declares = self.named[id].kind.is_declared();
        self.add(id, name.span, declares);
    }

    fn add(&mut self, id: usize, span: Span, declares: bool) {
        self.occurrences.push(Occurrence { span, id, declares, numbered: false });
    }

    fn expr(&mut self, expr: &ScheduleExpr) {
        // The parser bounds the depth of expressions, so recursion is bounded too.
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Error => {}
            ExprKind::Path(path) => self.path(path),
            ExprKind::Neg(inner) => self.expr(inner),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Call(function, args) => {
                let id = self.id(Namespace::Function, &function.text);
                self.add(id, function.span, false);
                args.iter().for_each(|arg| self.expr(arg));
            }
        }
    }

    fn path(&mut self, path: &Path) {
        for segment in &path.segments {
            let id = self.value_id(&segment.name.text);
            let numbered = segment.index.is_some();
            self.occurrences.push(Occurrence { span: segment.name.span, id, declares: false, numbered });
            segment.index.iter().for_each(|index| self.expr(index));
        }
    }

    /// Finds the meanings of names in text with syntax errors, from the declarations in the rest of the text.
    fn unparsed(&mut self, source: &str, file: &ScheduleFile) {
        let lexemes = lexemes(source);
        let mut covered = self.occurrences.iter().map(|occurrence| occurrence.span).peekable();
        let mut found = Vec::new();
        for (at, lexeme) in lexemes.iter().enumerate() {
            while covered.next_if(|span| span.end <= lexeme.span.start).is_some() {}
            let is_covered = covered.peek().is_some_and(|span| span.start <= lexeme.span.start);
            if lexeme.kind == LexemeKind::Name && !is_covered {
                let part = part_at(source, file, lexeme.span.start as usize);
                found.extend(self.unparsed_name(source, part, *lexeme, lexemes.get(at + 1)));
            }
        }
        self.occurrences.extend(found);
        self.occurrences.sort_by_key(|occurrence| occurrence.span);
    }

    fn unparsed_name(
        &self,
        source: &str,
        part: usize,
        lexeme: Lexeme,
        next: Option<&Lexeme>,
    ) -> Option<Occurrence> {
        let text = source.get(lexeme.span.range())?;
        let follows = next.and_then(|next| source.get(next.span.range()));
        let is_call = follows == Some("(") && find(text).is_some();
        let id = match is_call {
            true => self.known.get(&(Namespace::Directive, text.to_owned())).copied()?,
            false => self.value(part, text)?,
        };
        let is_known = is_call || self.named[id].kind.is_value();
        let (span, numbered) = (lexeme.span, follows == Some("["));
        is_known.then_some(Occurrence { span, id, declares: false, numbered })
    }
}

impl NameKind {
    /// Whether names of this kind have declarations in the text.
    pub fn is_declared(self) -> bool {
        matches!(self, NameKind::Index | NameKind::Param | NameKind::Const)
    }

    /// Whether the name means a loop or a number.
    fn is_value(self) -> bool {
        self.is_declared() || matches!(self, NameKind::Root | NameKind::Property)
    }
}

/// The parameter of a directive for its argument at a position.
pub(crate) fn parameter_at(
    signature: &'static Signature,
    given: usize,
    at: usize,
) -> Option<&'static Parameter> {
    let parameters = parameters(signature, given);
    let at = if signature.repeats { at.min(parameters.len().saturating_sub(1)) } else { at };
    parameters.get(at)
}

/// The meaning of a name that the language defines.
fn built_in(name: &str) -> Option<(NameKind, Option<Axis>)> {
    match name {
        "batch" => Some((NameKind::Root, Some(Axis::Row))),
        "tree" => Some((NameKind::Root, Some(Axis::Tree))),
        "n_rows" => Some((NameKind::Property, None)),
        _ if PROPERTIES.iter().any(|(property, _)| *property == name) => Some((NameKind::Property, None)),
        _ if FUNCTIONS.contains(&name) => Some((NameKind::Function, None)),
        _ => None,
    }
}

fn path(expr: &ScheduleExpr) -> Option<&Path> {
    match &expr.kind {
        ExprKind::Path(path) => Some(path),
        _ => None,
    }
}
