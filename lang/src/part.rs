//! The schedules of a text: the one outside of all blocks, and one in each block.

use std::borrow::Cow;

use sched_grammar::ast::{ScheduleFile, ScheduleStmt, Span, StmtKind, When};

use crate::options::CheckOptions;

/// Largest number of blocks of a text.
pub const MOST_BLOCKS: usize = 16;

/// One of the schedules of a text.
#[derive(Debug)]
pub struct SchedulePart<'f> {
    /// The header of the text with the directives of this schedule only.
    pub file: Cow<'f, ScheduleFile>,
    /// The block of this schedule.
    pub block: Option<WhenBlock<'f>>,
}

/// A block of a text.
#[derive(Clone, Copy, Debug)]
pub struct WhenBlock<'f> {
    /// The written block.
    pub when: &'f When,
    /// Span, head included.
    pub span: Span,
}

impl<'f> WhenBlock<'f> {
    /// The block of a statement, if it is one.
    pub fn of(stmt: &'f ScheduleStmt) -> Option<Self> {
        match &stmt.kind {
            StmtKind::When(when) => Some(WhenBlock { when, span: stmt.span }),
            _ => None,
        }
    }
}

/// The schedule outside of blocks, then those of blocks in the order of the text, up to the largest number.
/// Each block starts from the plain nest, with the header of the text.
pub fn parts(file: &ScheduleFile) -> Vec<SchedulePart<'_>> {
    let blocks = file.stmts.iter().filter_map(WhenBlock::of).take(MOST_BLOCKS);
    let outside = SchedulePart { file: Cow::Borrowed(file), block: None };
    std::iter::once(outside).chain(blocks.map(|block| part(file, block))).collect()
}

fn part<'f>(file: &'f ScheduleFile, block: WhenBlock<'f>) -> SchedulePart<'f> {
    let is_directive = |stmt: &&ScheduleStmt| matches!(stmt.kind, StmtKind::Directive(_));
    let header = file.stmts.iter().filter(|stmt| is_header(stmt));
    let stmts = header.chain(block.when.body.iter().filter(is_directive)).cloned().collect();
    SchedulePart { file: Cow::Owned(ScheduleFile { stmts }), block: Some(block) }
}

/// Whether a statement is a line of the header.
pub(crate) fn is_header(stmt: &ScheduleStmt) -> bool {
    match stmt.kind {
        StmtKind::Edition(_)
        | StmtKind::Model { .. }
        | StmtKind::Target { .. }
        | StmtKind::Param { .. }
        | StmtKind::Const { .. } => true,
        StmtKind::Directive(_) | StmtKind::When(_) | StmtKind::Reserved(_) | StmtKind::Error => false,
    }
}

/// Position inside a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockPosition<'f> {
    /// Index of the block's part.
    pub part: usize,
    /// The block.
    pub block: WhenBlock<'f>,
    /// End of the block: before its brace, or where the next statement begins if it has none yet.
    pub end: usize,
}

/// The block whose braces enclose `offset`.
pub fn block_at<'f>(source: &str, file: &'f ScheduleFile, offset: usize) -> Option<BlockPosition<'f>> {
    let after = file.stmts.partition_point(|stmt| stmt.span.start as usize <= offset);
    let at = after.checked_sub(1)?;
    let block = WhenBlock::of(file.stmts.get(at)?)?;
    let place = block.when.block;
    let text = source.get(place.range()).unwrap_or_default();
    let is_closed = text.len() > 1 && text.ends_with('}');
    let end = match (is_closed, file.stmts.get(after)) {
        (true, _) => place.end as usize - 1,
        (false, Some(next)) => next.span.start as usize,
        (false, None) => source.len(),
    };
    let before = file.stmts.iter().take(at).filter_map(WhenBlock::of).count();
    // Without a brace, the head may go on to the end of its line.
    let start = match text.starts_with('{') {
        true => place.start as usize,
        false => place.end.min(place.start.saturating_add(text.find('\n').map_or(u32::MAX, |at| at as u32)))
            as usize,
    };
    let is_inside = start < offset && offset <= end && !text.is_empty();
    is_inside.then_some(BlockPosition { part: before + 1, block, end })
}

/// Index of the part at `offset`: that of a block between its braces.
pub fn part_at(source: &str, file: &ScheduleFile, offset: usize) -> usize {
    block_at(source, file, offset).map_or(0, |inside| inside.part).min(MOST_BLOCKS)
}

/// Options for the check of a part: a run of its nest has at most `max_rows` rows.
pub(crate) fn options_within(options: &CheckOptions, max_rows: Option<u32>) -> Cow<'_, CheckOptions> {
    let Some(max_rows) = max_rows.map(u64::from) else { return Cow::Borrowed(options) };
    let batch_size = Some(options.batch_size.map_or(max_rows, |given| given.min(max_rows)));
    Cow::Owned(CheckOptions { batch_size, ..options.clone() })
}
