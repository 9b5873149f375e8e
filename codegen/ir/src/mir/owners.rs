//! Checks which threads of a launch add to a row's sums. There is no barrier between leaf loops, so
//! leaf loops that add to the same sums must run in the same threads. A block waits before and after it
//! folds its slots, so a fold only needs the same blocks as other additions to its target.

use super::window::difference_range;
use super::{Accumulator, Affine, Guard, LoopMode, MirStmt, Private, SumDestination, Var, VarInfo, Window};
use crate::error::CompileError;
use sched_nest::{Axis, GpuDimension, GpuLevel};

/// Assignment of a leaf loop's iterations to the blocks or threads of a dimension.
#[derive(Clone, PartialEq)]
enum Owner {
    /// One iteration per block or thread. The loop's variable goes from `start` in steps of `step`, to `most`
    /// if that is known.
    Each { dimension: GpuDimension, start: i64, step: i64, most: Option<i64> },
    /// Only the first block or thread.
    First(GpuDimension),
}

impl Owner {
    fn dimension(&self) -> GpuDimension {
        match self {
            Owner::Each { dimension, .. } | Owner::First(dimension) => *dimension,
        }
    }
}

/// A statement that adds to sums: a leaf loop, or a fold of slots that a block shares.
struct Adder<'m> {
    name: &'m str,
    target: SumDestination,
    /// Rows whose sums are added to: those from `base + low` to `base + high`.
    base: &'m Affine,
    low: i64,
    high: Option<i64>,
    owners: Vec<Owner>,
    /// Whether all threads of a block run the statement together, as folds of shared slots.
    is_cooperative: bool,
}

/// Checks that no two leaf loops or folds in different threads add to the same sums of the same rows. The
/// schedule's checker refuses nests that do.
pub(super) fn check_conflicts(stmts: &[MirStmt], vars: &[VarInfo]) -> Result<(), CompileError> {
    let mut find = AdderCollector {
        vars,
        owners: Vec::new(),
        blocks: Vec::new(),
        adders: Vec::new(),
        overlapping: None,
    };
    find.all(stmts);
    if let Some(name) = find.overlapping {
        let message = format!("blocks that share the slots of `{name}` have rows between those of others");
        return Err(CompileError::ill_formed(message));
    }
    let adders = find.adders;
    for (at, one) in adders.iter().enumerate() {
        let conflict = adders[at + 1..].iter().find(|other| one.conflicts_with(other, vars));
        if let Some(other) = conflict {
            let message =
                format!("`{}` and `{}` add to the same rows in different threads", one.name, other.name);
            return Err(CompileError::ill_formed(message));
        }
    }
    Ok(())
}

struct AdderCollector<'m> {
    vars: &'m [VarInfo],
    /// Owners of the enclosing mapped loops.
    owners: Vec<Owner>,
    /// Variables of the enclosing row loops whose iterations are blocks.
    blocks: Vec<Var>,
    adders: Vec<Adder<'m>>,
    /// Name of the first tree loop found whose slots are folded into rows that several blocks add to.
    overlapping: Option<&'m str>,
}

impl<'m> AdderCollector<'m> {
    fn all(&mut self, stmts: &'m [MirStmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'m MirStmt) {
        let (before, blocks) = (self.owners.len(), self.blocks.len());
        match stmt {
            MirStmt::Walks(walks) => self.adders.push(Adder {
                name: &self.vars[walks.iter.var.0 as usize].name,
                target: walks.target,
                base: &walks.row,
                low: 0,
                high: Some(0),
                owners: self.owners.clone(),
                is_cooperative: false,
            }),
            MirStmt::Loop(this) => {
                if let LoopMode::Mapped(mapping) = this.mode {
                    let (start, step) = (this.iter.start, this.iter.step);
                    let VarInfo { axis, most, .. } = self.vars[this.iter.var.0 as usize];
                    self.owners.push(Owner::Each { dimension: mapping.dimension, start, step, most });
                    if axis == Axis::Row && mapping.dimension.level == GpuLevel::Grid {
                        self.blocks.push(this.iter.var);
                    }
                }
                self.all(&this.body);
            }
            MirStmt::When(guards, body) => {
                let first = |guard: &Guard| match guard {
                    Guard::First(dimension) => Some(Owner::First(*dimension)),
                    Guard::Exists(_) | Guard::Is(..) => None,
                };
                self.owners.extend(guards.iter().filter_map(first));
                self.all(body);
            }
            MirStmt::Case(_, arms) => arms.iter().for_each(|(_, body)| self.all(body)),
            MirStmt::CacheRows(copy) => self.all(&copy.body),
            MirStmt::ShareTrees(copy) => self.all(&copy.body),
            MirStmt::ThreadSums(sums) => self.all(&sums.body),
            MirStmt::Private(private) => self.private(private),
            MirStmt::Base(_)
            | MirStmt::Launch(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => {}
        }
        self.owners.truncate(before);
        self.blocks.truncate(blocks);
    }

    /// Adds the fold of a private buffer, and the leaf loops inside.
    fn private(&mut self, private: &'m Private) {
        let Window { base, low, high } = &private.window;
        let name = private.slots.first().map_or("", |slot| &self.vars[slot.var.0 as usize].name);
        for stmt in &private.body {
            let MirStmt::Fold(fold) = stmt else { continue };
            if !fold.into.atomic && self.overlaps(&private.window) {
                self.overlapping.get_or_insert(name);
            }
            self.adders.push(Adder {
                name,
                target: fold.into,
                base,
                low: *low,
                high: high.map(|high| high - 1),
                owners: self.owners.clone(),
                is_cooperative: true,
            });
        }
        self.all(&private.body);
    }

    /// Whether rows of the window may belong to another block: the block's inner loops and the window
    /// together reach below the block's first row, or further than the step between blocks.
    fn overlaps(&self, window: &Window) -> bool {
        self.blocks.iter().any(|block| {
            let inside = window.base.vars.iter().skip_while(|var| *var != block).skip(1).copied().collect();
            let inside = Affine { vars: inside, ..Affine::default() };
            let (low, high) = difference_range(&inside, &Affine::default(), self.vars);
            let end = high.zip(window.high).map(|(most, high)| most + high);
            low + window.low < 0 || end.is_none_or(|end| end > self.vars[block.0 as usize].step)
        })
    }
}

impl Adder<'_> {
    /// Whether two additions may write one sum at the same time.
    fn conflicts_with(&self, other: &Adder, vars: &[VarInfo]) -> bool {
        let (one, two) = (self.target, other.target);
        // Slots of different loops can be of one buffer: an outer loop addresses the first slot that it
        // shares with inner loops.
        let same_buffer = match (one.accumulator, two.accumulator) {
            (Accumulator::Slot(id, _), Accumulator::Slot(other, _)) => id == other,
            (one, two) => one == two,
        };
        let same_sums = same_buffer && !(one.atomic && two.atomic);
        let blocks_only = self.is_cooperative || other.is_cooperative;
        let owners = |adder: &Adder| -> Vec<Owner> {
            let counts = |owner: &&Owner| !blocks_only || owner.dimension().level == GpuLevel::Grid;
            adder.owners.iter().filter(counts).cloned().collect()
        };
        same_sums && !same_owners(&owners(self), &owners(other)) && self.shares_rows(other, vars)
    }

    /// Whether two additions have rows in common.
    fn shares_rows(&self, other: &Adder, vars: &[VarInfo]) -> bool {
        let common = self.base.vars.iter().copied().filter(|var| other.base.vars.contains(var)).collect();
        let common = Affine { vars: common, ..Affine::default() };
        let rows = |adder: &Adder| {
            let (low, high) = difference_range(adder.base, &common, vars);
            (low + adder.low, high.zip(adder.high).map(|(a, b)| a + b))
        };
        let ((low, high), (other_low, other_high)) = (rows(self), rows(other));
        let before = |high: Option<i64>, low| high.is_some_and(|high| high < low);
        !before(high, other_low) && !before(other_high, low)
    }
}

/// Whether the owners are equal, in any order: then the same threads run both statements.
fn same_owners(one: &[Owner], other: &[Owner]) -> bool {
    one.len() == other.len() && one.iter().all(|owner| other.contains(owner))
}
