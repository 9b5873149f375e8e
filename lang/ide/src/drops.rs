//! Drag and drop in the picture of a nest: the directives that move and tile loops, and the edits that insert
//! them.

use sched_grammar::ast::{ScheduleStmt, Span, StmtKind};
use sched_lang::check::{InsertionPoint, WorkBudget};
use sched_lang::directives::{DirectiveOp, find};
use sched_lang::legal_next::{Operation, candidates};
use sched_lang::lineage::NestBuilder;
use sched_lang::part::block_at;
use sched_nest::LoopId;

use super::{Analysis, Edit};

/// Most work for one answer. Editors request it between keystrokes, so it must be fast.
const WORK: WorkBudget = WorkBudget { whole: 6_000, here: 1_600 };
/// Most loops of a chain for which moves are tried.
const MOST_LOOPS: usize = 12;

/// A loop that can be dropped on another one of its chain. Dropped on an outer loop, it moves directly around
/// that loop; dropped on an inner loop, directly inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The loop that moves.
    pub from: String,
    /// The loop on which it is dropped.
    pub onto: String,
    /// The directive that moves the loop.
    pub written: WrittenDirective,
}

/// A loop that can be tiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileableLoop {
    /// The loop.
    pub name: String,
    /// The possible sizes in ascending order, each with its directive.
    pub sizes: Vec<(i64, WrittenDirective)>,
}

/// A directive and the edit that writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenDirective {
    /// The directive.
    pub directive: String,
    /// The edit that inserts the directive as a line.
    pub edit: Edit,
}

/// The possible moves and tilings of the loops of a nest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The possible moves of loops.
    pub moves: Vec<Move>,
    /// The loops that can be tiled.
    pub tiles: Vec<TileableLoop>,
}

/// The possible changes to the nest after the directives up to `offset`, or after all directives outside of
/// blocks. Only changes that are legal with the whole schedule.
pub fn drops(analysis: &Analysis, offset: Option<usize>) -> Drops {
    let line = InsertedLine::find(analysis, offset);
    let here = analysis.schedule_at(line.inside);
    let prepared = here.prepared();
    let mut point = prepared.insertion_point(line.at, None);
    let mut work = WORK;
    let is_taken = |name: &str| prepared.is_taken(name);
    let moves = moves(&mut point, &line, &mut work);
    let tiles = tiles(&mut point, &line, &mut work, &is_taken);
    Drops { moves, tiles }
}

fn moves(point: &mut InsertionPoint, line: &InsertedLine, work: &mut WorkBudget) -> Vec<Move> {
    let mut all = Vec::new();
    for chain in chains(point.nest()) {
        for (from, moved) in chain.iter().enumerate() {
            for (onto, other) in chain.iter().enumerate().filter(|(onto, _)| *onto != from) {
                let mut order: Vec<LoopId> = chain[from.min(onto)..=from.max(onto)].to_vec();
                if onto < from {
                    order.rotate_right(1)
                } else {
                    order.rotate_left(1)
                }
                let order = order.iter().map(|id| point.nest().names().select_of(*id)).collect();
                let operation = Operation::Reorder(order);
                if point.fits(&operation, work) {
                    let name = |id: &LoopId| point.nest().names().select_of(*id).to_string();
                    let written = line.written(&operation);
                    all.push(Move { from: name(moved), onto: name(other), written });
                }
            }
        }
    }
    all
}

fn tiles(
    point: &mut InsertionPoint,
    line: &InsertedLine,
    work: &mut WorkBudget,
    is_taken: &dyn Fn(&str) -> bool,
) -> Vec<TileableLoop> {
    let mut all = Vec::new();
    for id in point.nest().tree().loops() {
        let v = point.nest().names().select_of(id);
        let forms = candidates::about(DirectiveOp::Tile, point.nest(), &v, id, is_taken);
        let mut sizes: Vec<(i64, WrittenDirective)> = Vec::new();
        for form in forms.into_iter().flatten() {
            let Operation::Tile(.., size) = &form else { continue };
            let Some(size) = size.as_int() else { continue };
            if point.fits(&form, work) {
                sizes.push((size, line.written(&form)));
            } else if sizes.is_empty() {
                // The loop is usually at fault.
                break;
            }
        }
        sizes.sort_by_key(|(size, _)| *size);
        if !sizes.is_empty() {
            all.push(TileableLoop { name: v.to_string(), sizes });
        }
    }
    all
}

/// The longest chains of perfectly nested loops.
fn chains(nest: &NestBuilder) -> Vec<Vec<LoopId>> {
    let only = |id: LoopId| nest.tree().inside(id).only();
    let is_first = |id: &LoopId| nest.tree().parent(*id).is_none_or(|parent| only(parent) != Some(*id));
    let heads = nest.tree().loops().into_iter().filter(is_first);
    let chain = |head: LoopId| std::iter::successors(Some(head), |id| only(*id)).take(MOST_LOOPS).collect();
    heads.map(chain).filter(|chain: &Vec<LoopId>| chain.len() > 1).collect()
}

/// The insertion point of a line for one more directive.
struct InsertedLine {
    /// An offset in the schedule to which the line belongs.
    inside: usize,
    /// The offset at which the line is inserted.
    at: usize,
    before: String,
    after: &'static str,
}

impl InsertedLine {
    /// Finds the line of a new modifier: after the last modifier up to `offset`, so that annotations stay
    /// below it. Without a modifier, the line of the first directive.
    fn find(analysis: &Analysis, offset: Option<usize>) -> InsertedLine {
        let source = analysis.source();
        let file = &analysis.parsed().file;
        let block = offset.and_then(|offset| block_at(source, file, offset));
        let stmts = block.as_ref().map_or(&file.stmts[..], |block| &block.block.when.body);
        let until = offset.map_or(usize::MAX, |offset| line_end(source, offset));
        let before = |stmt: &&ScheduleStmt| (stmt.span.start as usize) < until;
        let shaping = stmts.iter().filter(before).rfind(|stmt| is_modifier(stmt));
        if let Some(stmt) = shaping {
            let at = line_end(source, stmt.span.end as usize);
            return InsertedLine {
                inside: stmt.span.start as usize,
                at,
                before: format!("\n{}", indent(source, stmt.span)),
                after: "",
            };
        }
        let first = stmts.iter().find(|stmt| matches!(stmt.kind, StmtKind::Directive(_)));
        if let Some(stmt) = first {
            let at = stmt.span.start as usize;
            return InsertedLine { inside: at, at, before: String::new(), after: "\n" }
                .indented(source, stmt.span);
        }
        match block {
            Some(block) => {
                let start = block.block.when.block.start as usize + 1;
                InsertedLine { inside: start, at: start, before: "\n    ".to_owned(), after: "" }
            }
            None => InsertedLine::in_empty(source, stmts),
        }
    }

    /// The insertion point in a text without directives: after the header.
    fn in_empty(source: &str, stmts: &[ScheduleStmt]) -> InsertedLine {
        let header = stmts.iter().take_while(|stmt| !matches!(stmt.kind, StmtKind::When(_))).last();
        let at = header.map_or(source.len(), |stmt| line_end(source, stmt.span.end as usize));
        let is_fresh = source.get(..at).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
        let (before, after) = if is_fresh { ("", "\n") } else { ("\n\n", "") };
        InsertedLine { inside: at, at, before: before.to_owned(), after }
    }

    /// The insertion point before a statement, on a separate line.
    fn indented(mut self, source: &str, span: Span) -> InsertedLine {
        let start = source.get(..self.at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        // Other text on the statement's line stays before the new line.
        if source.get(start..self.at).is_some_and(|before| before.trim().is_empty()) {
            self.before = indent(source, span);
            self.at = start;
        }
        self
    }

    fn written(&self, operation: &Operation) -> WrittenDirective {
        let directive = operation.to_string();
        let text = format!("{}{directive}{}", self.before, self.after);
        WrittenDirective { directive, edit: Edit { span: Span::new(self.at, self.at), text } }
    }
}

/// Whether a statement is a modifier.
fn is_modifier(stmt: &ScheduleStmt) -> bool {
    let StmtKind::Directive(directive) = &stmt.kind else { return false };
    find(&directive.name.text).is_some_and(|signature| signature.is_modifier)
}

fn line_end(source: &str, from: usize) -> usize {
    let rest = source.get(from..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    from.min(source.len()) + line.trim_end_matches('\r').len()
}

/// The indentation of a statement's line.
fn indent(source: &str, span: Span) -> String {
    let before = source.get(..span.start as usize).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| c.is_whitespace()).collect()
}
