//! The outline of a schedule.

use std::collections::HashMap;

use sched_grammar::ast::{Directive, ScheduleStmt, Span, StmtKind};

use super::Analysis;
use super::names::{NameKind, Occurrence, TextNames};
use sched_lang::lineage::IndexRecord;
use sched_nest::Axis;
use sched_nest::show::range;

/// An entry of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name to search for; never empty.
    pub name: String,
    /// Details in a few words; may be empty.
    pub detail: String,
    /// The kind of entry.
    pub kind: SymbolKind,
    /// The whole construct.
    pub span: Span,
    /// Span of the name, within `span`.
    pub selection: Span,
    /// Entries inside this one, in the order of the text; their spans are within `span`.
    pub children: Vec<Symbol>,
}

/// The kind of an entry of the outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// The `model` line.
    Model,
    /// The `target` line.
    Target,
    /// A param.
    Param,
    /// A const.
    Const,
    /// A directive; its children are the loops that it makes.
    Directive,
    /// A block; its children are its directives.
    Block,
    /// A loop over rows.
    RowIndex,
    /// A loop over trees.
    TreeIndex,
}

/// The statements of a schedule in order, each directive with the loops that it makes and their ranges.
pub fn document_symbols(a: &Analysis) -> Vec<Symbol> {
    let ranges = ranges(&a.outside_blocks().lineage().indices);
    a.parsed().file.stmts.iter().filter_map(|stmt| symbol(a, stmt, &ranges)).collect()
}

fn symbol(a: &Analysis, stmt: &ScheduleStmt, ranges: &HashMap<&str, String>) -> Option<Symbol> {
    // Editors refuse an empty name, such as the path of `model ""`.
    let named = |name: &str| if name.is_empty() { one_line(a.text(stmt.span)) } else { name.to_owned() };
    let leaf = |name: &str, detail: String, kind, selection| Symbol {
        name: named(name),
        detail,
        kind,
        span: stmt.span.to(selection),
        selection,
        children: Vec::new(),
    };
    Some(match &stmt.kind {
        StmtKind::Model { path, .. } => leaf(&path.value, "model".to_owned(), SymbolKind::Model, path.span),
        StmtKind::Target { kind, .. } => {
            let given = Span { start: kind.span.start, end: stmt.span.end.max(kind.span.end) };
            leaf(&one_line(a.text(given)), "target".to_owned(), SymbolKind::Target, kind.span)
        }
        StmtKind::Param { name, .. } => {
            let rest = Span { start: name.span.end, end: stmt.span.end.max(name.span.end) };
            leaf(&name.text, one_line(a.text(rest)), SymbolKind::Param, name.span)
        }
        StmtKind::Const { name, .. } => {
            let rest = Span { start: name.span.end, end: stmt.span.end.max(name.span.end) };
            leaf(&name.text, one_line(a.text(rest)), SymbolKind::Const, name.span)
        }
        StmtKind::Directive(directive) => {
            let detail = one_line(a.text(directive.args_span));
            let symbol = leaf(&directive.name.text, detail, SymbolKind::Directive, directive.name.span);
            Symbol { children: loops(a.names(), directive, ranges), ..symbol }
        }
        StmtKind::When(when) => {
            let here = a.schedule_at(when.block.start as usize + 1);
            let ranges = self::ranges(&here.lineage().indices);
            let keyword = Span { start: stmt.span.start, end: stmt.span.start + "when".len() as u32 };
            let head = Span { start: stmt.span.start, end: when.block.start.max(stmt.span.start) };
            let symbol = leaf(&one_line(a.text(head)), String::new(), SymbolKind::Block, keyword);
            // Blocks do not nest, so this goes no deeper.
            let children = when.body.iter().filter_map(|stmt| self::symbol(a, stmt, &ranges)).collect();
            Symbol { children, ..symbol }
        }
        StmtKind::Edition(_) | StmtKind::Reserved(_) | StmtKind::Error => return None,
    })
}

/// The loops that a directive makes.
fn loops(names: &TextNames, directive: &Directive, ranges: &HashMap<&str, String>) -> Vec<Symbol> {
    let args = directive.args.iter().filter_map(|arg| names.at(arg.span.start as usize));
    let made = args.filter(|here| here.declares && names.meaning(here).kind == NameKind::Index);
    made.map(|here: &Occurrence| {
        let named = names.meaning(here);
        let kind = match named.axis {
            Some(Axis::Tree) => SymbolKind::TreeIndex,
            _ => SymbolKind::RowIndex,
        };
        let detail = ranges.get(named.name.as_str()).cloned().unwrap_or_default();
        let (name, span, children) = (named.name.clone(), here.span, Vec::new());
        Symbol { name, detail, kind, span, selection: span, children }
    })
    .collect()
}

/// The range of each name, or how many copies with different ranges there are.
fn ranges(indices: &[IndexRecord]) -> HashMap<&str, String> {
    let mut of: HashMap<&str, (String, usize)> = HashMap::new();
    for index in indices {
        let range = range(&index.start, &index.stop, &index.step);
        let known = of.entry(&index.name).or_insert_with(|| (range.clone(), 1));
        if known.0 != range {
            known.1 += 1;
        }
    }
    let words = |(range, count): (String, usize)| if count == 1 { range } else { format!("{range}, ...") };
    of.into_iter().map(|(name, known)| (name, words(known))).collect()
}

/// The text with every run of blanks and line ends as one blank, cut if it is long.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}
