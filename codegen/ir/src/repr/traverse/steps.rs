//! Stepwise traversal of a group of walks from the roots to the leaves.

use super::speculate::{LevelOrder, NodeTest, speculate};
use super::{Lane, StepCounts, packed_rows};
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BuildStmts, Builder, Ty, Value, WalkSteps};
use crate::quantize::fetch::FetchStrategy;
use crate::repr::cursor::{Cursor, Step};
use crate::repr::representation::Representation;
use crate::repr::tree::Buffers;

/// A group of walks that take steps together.
pub struct WalkGroup<'a> {
    /// The layout.
    pub layout: &'a dyn Representation,
    /// The layout's nodes by level, if the first levels are speculated.
    pub top: Option<&'a dyn LevelOrder>,
    /// Buffers of the layout's tables.
    pub buffers: &'a Buffers,
    /// Number of steps of each kind.
    pub steps: StepCounts,
    /// Whether node numbers of vectors are bytes.
    pub bytes: bool,
    /// Whether one word with the bins of four rows passes the first levels at once.
    pub packed: bool,
    /// Fetch strategy of each level, if nodes are looked up in registers.
    pub fetch: &'a [FetchStrategy],
    /// Walks of the group.
    pub lanes: &'a [&'a Lane],
}

impl WalkGroup<'_> {
    /// Emits the walks of all lanes from the root to the leaf; returns the leaves' node numbers.
    pub fn to_leaves(&self, b: &mut Builder) -> Vec<Value> {
        let StepCounts { straight, speculated, masked, .. } = self.steps;
        let roots: Vec<Value> =
            self.lanes.iter().map(|lane| self.layout.root(b, lane.width, self.bytes)).collect();
        let mut cursors: Vec<Cursor> = roots.iter().copied().map(Cursor::of).collect();
        let mut taken = 0;
        if let Some(layout) = self.top {
            (cursors, taken) = match self.packed {
                true => self.packed_levels(b, layout, &roots),
                false => {
                    let lanes = self.lanes.iter().zip(&roots);
                    let ahead =
                        lanes.map(|(lane, root)| speculate(b, layout.test(), &lane.row, &lane.top, *root));
                    (ahead.collect(), speculated)
                }
            };
        }
        let complete = self.layout.complete_levels();
        for level in taken..=straight {
            if complete == Some(level) {
                cursors = self.enter_subtrees(b, &cursors);
            }
            if level < straight.saturating_sub(u32::from(seeded(Fault::WalkStopsEarly))) {
                let fetch = self.fetch.get(level as usize).copied();
                let reloads = self.fetch.contains(&FetchStrategy::ByColumn);
                cursors = self.step(b, &cursors, Step::Level { level, fetch, reloads });
            }
        }
        let nodes = cursors.into_iter().map(|cursor| cursor.node).collect();
        self.emit_masked(b, nodes, masked)
    }

    /// Emits steps with an early exit when every lane has arrived, then a loop if leaves may be deeper.
    fn emit_masked(&self, b: &mut Builder, nodes: Vec<Value>, steps: u32) -> Vec<Value> {
        let several = self.lanes.len() > 1 || self.lanes.iter().any(|lane| lane.width > 1);
        let step = if several { Step::Masked } else { Step::Unmasked };
        if steps == 0 && !self.steps.has_loop {
            return nodes;
        }
        if steps == 0 {
            return b.while_loop(
                WalkSteps {
                    steps_before: self.steps.straight + self.steps.masked,
                    levels_per_step: self.layout.levels_per_step(),
                },
                &nodes,
                |b, nodes| self.any_unfinished(b, nodes),
                |b, nodes| self.step_from_unknown_level(b, nodes, step),
            );
        }
        let go_on = self.any_unfinished(b, &nodes);
        let arrived = nodes.clone();
        b.if_else(
            go_on,
            |b| {
                let nodes = self.step_from_unknown_level(b, &nodes, step);
                self.emit_masked(b, nodes, steps - 1)
            },
            |_| arrived,
        )
    }

    /// Cursors after the levels that the rows of a word take together, and the number of these levels. It is
    /// 0 if the group has fewer rows than a word.
    fn packed_levels(&self, b: &mut Builder, layout: &dyn LevelOrder, roots: &[Value]) -> (Vec<Cursor>, u32) {
        let words = self.lanes.chunks_exact(packed_rows::ROWS_PER_WORD);
        let (Some(first), rest) = (self.lanes.first(), words.remainder()) else { return (Vec::new(), 0) };
        if rest.len() == self.lanes.len() {
            return (roots.iter().copied().map(Cursor::of).collect(), 0);
        }
        let nodes: Vec<NodeTest> = (1..1 << self.steps.speculated)
            .map(|number| layout.node(b, self.buffers, &first.state, number))
            .collect();
        let mut ahead: Vec<Cursor> = words.flat_map(|rows| packed_rows::descend(b, rows, &nodes)).collect();
        let rest = rest.iter().zip(roots);
        ahead.extend(rest.map(|(lane, root)| speculate(b, layout.test(), &lane.row, &nodes, *root)));
        (ahead, self.steps.speculated)
    }

    /// Cursors of all lanes below the complete levels.
    fn enter_subtrees(&self, b: &mut Builder, cursors: &[Cursor]) -> Vec<Cursor> {
        let lanes = self.lanes.iter().zip(cursors);
        let enter = |(lane, at): (&&Lane, &Cursor)| {
            Cursor::of(self.layout.enter_subtree(b, self.buffers, &lane.state, at.node))
        };
        lanes.map(enter).collect()
    }

    /// Emits one step of every lane.
    fn step(&self, b: &mut Builder, cursors: &[Cursor], step: Step) -> Vec<Cursor> {
        let lanes = self.lanes.iter().zip(cursors);
        lanes.map(|(lane, at)| self.layout.step(b, self.buffers, lane, at, step)).collect()
    }

    /// Emits one step of every lane from an unknown level.
    fn step_from_unknown_level(&self, b: &mut Builder, nodes: &[Value], step: Step) -> Vec<Value> {
        let cursors: Vec<Cursor> = nodes.iter().map(|node| Cursor::of(*node)).collect();
        self.step(b, &cursors, step).into_iter().map(|cursor| cursor.node).collect()
    }

    fn any_unfinished(&self, b: &mut Builder, nodes: &[Value]) -> Value {
        let mut all_done = None;
        for (lane, node) in self.lanes.iter().zip(nodes) {
            let done = self.layout.is_leaf(b, self.buffers, &lane.state, *node);
            all_done = Some(match all_done {
                None => done,
                Some(others) => b.bin(Bin::And, others, done),
            });
        }
        let all_done = all_done.unwrap_or_else(|| b.int_of(Ty::I1, 1));
        let one = b.int_of(b.ty(all_done), 1);
        let on_its_way = b.bin(Bin::Xor, all_done, one);
        b.any(on_its_way)
    }
}
