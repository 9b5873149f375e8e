//! Legalises reductions: below parallel tree loops, sums go to private slots that are folded after the loop.
//!
//! ```text
//! parallel t0 { .. result[row] += v .. }
//!   -->
//! private p[t0][rows] {
//!   parallel t0 { zero p[t0]; .. p[t0][row] += v .. }
//!   result[rows] += p[..][rows], in the order of t0
//! }
//! ```
//!
//! Slots belong to iterations, not to threads, so results do not depend on the number of threads. A
//! loop with `atomicReduce` instead adds to the outer target with atomic instructions, in the order in
//! which threads arrive.

use super::mapped::any_mapped;
use super::window::{ScratchBytes, window_of};
use super::{
    Accumulator, Affine, Bound, Fold, GpuMapping, Iter, LeafUse, LeafUses, LoopMode, Minuend, Mir, MirLoop,
    MirStmt, Private, PrivateId, SlotMargins, SumDestination, SumStart, Var, VarInfo, Window,
};
use crate::budget::Budget;
use crate::error::CompileError;
use sched_nest::{Axis, GpuLevel, Reduce, margins_of_slot};
use std::collections::BTreeMap;

/// Privatises every reduction in which parallel tree loops would conflict.
///
/// # Errors
///
/// If the private sums of a single row exceed the budget, or a GPU's loops cannot share sums as
/// requested.
pub fn legalise(mir: Mir, sums: RowSums, budget: &Budget) -> Result<Mir, CompileError> {
    let mut pass = Legaliser {
        vars: &mir.vars,
        uses: &mir.uses,
        privates: 0,
        sums,
        slots: 1,
        scratch: ScratchBytes::new(budget),
        in_launch: false,
        in_block: false,
        hoisted: BTreeMap::new(),
    };
    let output = SumDestination { accumulator: Accumulator::Output, atomic: false };
    let mut body = mir.body;
    if any_mapped(&body) {
        make_serial(&mut body);
    }
    let body = pass.block(body, output, &Affine::default())?;
    let rows_per_run = [mir.rows_per_run, pass.scratch.rows_per_run()].into_iter().flatten().min();
    Ok(Mir { body, rows_per_run, vars: mir.vars, uses: mir.uses })
}

/// The sums of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowSums {
    /// Number of margins.
    pub margins: u64,
    /// Bytes of a sum.
    pub bytes: u64,
    /// Whether trees add to several margins in turn: tree `i` to margin `i` modulo their number.
    pub are_in_turn: bool,
}

impl RowSums {
    /// Bytes of a row's sums in a slot.
    fn bytes_of_slot(self, margins: SlotMargins) -> u64 {
        match margins {
            SlotMargins::All => self.margins.saturating_mul(self.bytes),
            SlotMargins::InTurn => self.bytes,
        }
    }
}

struct Legaliser<'a> {
    vars: &'a [VarInfo],
    uses: &'a LeafUses,
    privates: u32,
    sums: RowSums,
    /// Product of the enclosing private loops' slots: the number of inner buffers that may exist at
    /// once.
    slots: u64,
    scratch: ScratchBytes,
    in_launch: bool,
    /// Whether a loop over the threads of a block encloses the statements.
    in_block: bool,
    /// Buffers that were made before their tree loop was reached, around an enclosing loop, by the tree
    /// loop's variable.
    hoisted: BTreeMap<Var, PrivateId>,
}

impl Legaliser<'_> {
    fn block(
        &mut self,
        stmts: Vec<MirStmt>,
        target: SumDestination,
        row: &Affine,
    ) -> Result<Vec<MirStmt>, CompileError> {
        stmts.into_iter().map(|stmt| self.stmt(stmt, target, row)).collect()
    }

    fn stmt(&mut self, stmt: MirStmt, target: SumDestination, row: &Affine) -> Result<MirStmt, CompileError> {
        Ok(match stmt {
            MirStmt::Loop(this) => self.nest_loop(this, target, row)?,
            MirStmt::Walks(mut walks) => {
                walks.target = target;
                MirStmt::Walks(walks)
            }
            MirStmt::Case(var, arms) => {
                let mut legal = Vec::new();
                for (value, body) in arms {
                    let fixed = row.with_value(var, value);
                    legal.push((value, self.block(body, target, &fixed)?));
                }
                MirStmt::Case(var, legal)
            }
            MirStmt::CacheRows(mut cache) => {
                cache.body = self.block(cache.body, target, row)?;
                MirStmt::CacheRows(cache)
            }
            other => other,
        })
    }

    fn nest_loop(
        &mut self,
        this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirStmt, CompileError> {
        let axis = self.vars[this.iter.var.0 as usize].axis;
        let mapped = matches!(this.mode, LoopMode::Mapped(_));
        if mapped && !self.in_launch {
            self.in_launch = true;
            let stmt = self.launch(this, target, row);
            self.in_launch = false;
            return stmt;
        }
        if is_on_block(&this) && !self.in_block {
            self.in_block = true;
            let stmt = self.threads(this, target, row);
            self.in_block = false;
            return stmt;
        }
        match (axis, this.mode, this.reduce) {
            (Axis::Tree, LoopMode::Mapped(_) | LoopMode::Parallel, Some(Reduce::Atomic))
                if !self.hoisted.contains_key(&this.iter.var) =>
            {
                self.legalise_body(this, SumDestination { atomic: true, ..target }, row).map(MirStmt::Loop)
            }
            (Axis::Tree, LoopMode::Mapped(_) | LoopMode::Parallel, _) => self.private_loop(this, target, row),
            (Axis::Row, LoopMode::Parallel, _) => self.row_loop(this, target, row),
            _ => self.legalise_body(this, target, row).map(MirStmt::Loop),
        }
    }

    /// Legalises the body of a loop.
    fn legalise_body(
        &mut self,
        mut this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirLoop, CompileError> {
        let var = this.iter.var;
        let counts_rows = self.vars[var.0 as usize].axis == Axis::Row;
        let inner = if counts_rows { row.with(var) } else { row.clone() };
        this.body = self.block(this.body, target, &inner)?;
        Ok(this)
    }

    /// Legalises a parallel tree loop: each iteration adds to its own slot.
    fn private_loop(
        &mut self,
        this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirStmt, CompileError> {
        let var = this.iter.var;
        if let Some(id) = self.hoisted.get(&var).copied() {
            // In a launch, iterations of an enclosing loop with `atomicReduce` share this loop's slots.
            let atomic = self.in_launch && target.atomic;
            let slot = SumDestination { accumulator: Accumulator::Slot(id, var), atomic };
            return self.legalise_body(this, slot, row).map(MirStmt::Loop);
        }
        let (id, slots, width) = (self.new_private_id(), vec![this.iter.clone()], fold_width(&this));
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        let outer = self.slots;
        self.reserve(&this, &window)?;
        let slot = SumDestination { accumulator: Accumulator::Slot(id, var), atomic: false };
        let mut inside = self.legalise_body(this, slot, row)?;
        self.slots = outer;
        inside.body.insert(0, MirStmt::Zero(id, var));
        let fold = Fold { from: id, into: target, start: SumStart::Memory, width };
        let body = vec![MirStmt::Loop(inside), MirStmt::Fold(fold)];
        let margins = SlotMargins::All;
        Ok(MirStmt::Private(Private { id, slots, filled_slots: None, margins, window, shared: false, body }))
    }

    /// Legalises the outermost loop that runs as blocks or threads. The mapped tree loops inside get slots in
    /// a buffer outside the launch, which is folded after the launch, when all threads are done.
    /// [`Legaliser::threads`] handles those whose slots a block folds in shared memory.
    fn launch(
        &mut self,
        this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirStmt, CompileError> {
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        let outer = self.slots;
        let mut wraps = Vec::new();
        for chain in slot_chains(&this, self.vars)? {
            let shared = is_shared(&chain);
            let chain: Vec<&MirLoop> =
                chain.into_iter().filter(|inner| !(shared && is_on_block(inner))).collect();
            if chain.is_empty() {
                continue;
            }
            let id = self.new_private_id();
            // Blocks fold sums of all margins to these slots.
            let margins = if shared { SlotMargins::All } else { self.slot_margins(&chain) };
            for inner in &chain {
                self.slots = self.slots.saturating_mul(self.most_trips(inner) as u64);
                self.hoisted.insert(inner.iter.var, id);
            }
            self.scratch.add(&window, self.slots.saturating_mul(self.sums.bytes_of_slot(margins)))?;
            self.slots = outer;
            wraps.push(self.slots_of(id, &chain, margins));
        }
        // If some threads add atomically, all threads of the launch must.
        let atomic = target.atomic || adds_atomically(&this, self.vars);
        let stmt = self.nest_loop(this, SumDestination { atomic, ..target }, row)?;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, false))
    }

    /// Legalises the outermost loop over the threads of a block. Buffers of the tree loops inside with slots
    /// in shared memory are put around this loop.
    fn threads(
        &mut self,
        this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirStmt, CompileError> {
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        let mut wraps = Vec::new();
        for chain in slot_chains(&this, self.vars)?.into_iter().filter(|chain| is_shared(chain)) {
            if window.high.is_none() {
                let name = &self.vars[this.iter.var.0 as usize].name;
                let message = format!("the threads of `{name}` share the sums of unlimited rows");
                return Err(CompileError::ill_formed(message));
            }
            let id = self.new_private_id();
            self.hoisted.extend(chain.iter().map(|inner| (inner.iter.var, id)));
            wraps.push(self.slots_of(id, &chain, self.slot_margins(&chain)));
        }
        let stmt = self.nest_loop(this, target, row)?;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, true))
    }

    fn slots_of(&self, id: PrivateId, chain: &[&MirLoop], margins: SlotMargins) -> Slots {
        let loops = chain.iter().map(|inner| self.all_slots(inner)).collect();
        Slots { id, loops, margins, fold_width: chain.last().map_or(1, |inner| fold_width(inner)) }
    }

    /// Margins of the slots of a chain of loops over trees.
    fn slot_margins(&self, chain: &[&MirLoop]) -> SlotMargins {
        let RowSums { margins, are_in_turn, .. } = self.sums;
        let Some(outermost) = chain.first().filter(|_| are_in_turn) else { return SlotMargins::All };
        let trips = |inner: &&MirLoop| Some((self.step(inner.iter.var)?, self.most_trips(inner) as u64));
        let slots: Option<Vec<_>> = chain.iter().map(trips).collect();
        let has_slot = |var: &Var| chain.iter().any(|inner| inner.iter.var == *var);
        let varies = |var: &Var| {
            let info = &self.vars[var.0 as usize];
            info.most != Some(info.least) || info.least % margins.max(1) as i64 != 0
        };
        let is_in_turn = |leaf: &LeafUse| {
            let (of_slots, others): (Vec<Var>, Vec<Var>) =
                leaf.tree.vars.iter().partition(|var| has_slot(var));
            let others: Option<Vec<u64>> =
                others.into_iter().filter(varies).map(|var| self.step(var)).collect();
            let is_one = |(slots, others): (&Vec<_>, Vec<_>)| margins_of_slot(margins, slots, &others) == 1;
            of_slots.len() == chain.len()
                && leaf.tree.plus % margins.max(1) as i64 == 0
                && slots.as_ref().zip(others).is_some_and(is_one)
        };
        let are_all = self.uses.of(&outermost.walks).iter().all(is_in_turn);
        if are_all { SlotMargins::InTurn } else { SlotMargins::All }
    }

    /// Distance between the values of a variable whose first value is a multiple of the number of margins.
    fn step(&self, var: Var) -> Option<u64> {
        let info = &self.vars[var.0 as usize];
        u64::try_from(info.step).ok().filter(|_| info.least % self.sums.margins.max(1) as i64 == 0)
    }

    /// Wraps a statement in buffers whose slots are set to zero before the statement and folded after it.
    fn with_folded_slots(
        &self,
        mut stmt: MirStmt,
        wraps: Vec<Slots>,
        window: &Window,
        target: SumDestination,
        shared: bool,
    ) -> MirStmt {
        for Slots { id, loops, margins, fold_width: width } in wraps.into_iter().rev() {
            let fold = MirStmt::Fold(Fold { from: id, into: target, start: SumStart::Memory, width });
            let body = vec![MirStmt::ZeroAll(id), stmt, fold];
            stmt = MirStmt::Private(Private {
                id,
                slots: loops,
                filled_slots: None,
                margins,
                window: window.clone(),
                shared,
                body,
            });
        }
        stmt
    }

    /// Legalises a parallel row loop. If its iterations interleave their rows, a fold inside would
    /// touch rows of other iterations. Then the buffers of the tree loops inside are made and folded
    /// around this loop.
    fn row_loop(
        &mut self,
        this: MirLoop,
        target: SumDestination,
        row: &Affine,
    ) -> Result<MirStmt, CompileError> {
        let mine = window_of(self.uses.of(&this.walks), &row.with(this.iter.var), self.vars);
        let apart = mine.high.is_some_and(|high| high - mine.low <= this.iter.step);
        let mut conflicting = Vec::new();
        if !apart {
            collect_conflicting_loops(&this.body, self.vars, &mut conflicting);
            conflicting.retain(|inner| !self.hoisted.contains_key(&inner.iter.var));
        }
        let mut wraps = Vec::new();
        let outer = self.slots;
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        for inner in conflicting {
            let id = self.new_private_id();
            self.reserve(inner, &window)?;
            self.hoisted.insert(inner.iter.var, id);
            wraps.push(self.slots_of(id, &[inner], SlotMargins::All));
        }
        let stmt = MirStmt::Loop(self.legalise_body(this, target, row)?);
        self.slots = outer;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, false))
    }

    fn new_private_id(&mut self) -> PrivateId {
        self.privates += 1;
        PrivateId(self.privates - 1)
    }

    /// Largest number of iterations of a tree loop.
    fn most_trips(&self, this: &MirLoop) -> i64 {
        let most = self.vars[this.iter.var.0 as usize].most;
        most.map_or(1, |most| (most - this.iter.start).max(0) / this.iter.step + 1)
    }

    /// One slot for each iteration that the loop can have, independent of enclosing loops.
    fn all_slots(&self, this: &MirLoop) -> Iter {
        let stop = this.iter.start + self.most_trips(this) * this.iter.step;
        let stops = vec![Bound { limit: Minuend::Const(stop), less: Affine::default() }];
        Iter { stops, ..this.iter.clone() }
    }

    fn reserve(&mut self, this: &MirLoop, window: &Window) -> Result<(), CompileError> {
        self.slots = self.slots.saturating_mul(self.most_trips(this) as u64);
        self.scratch.add(window, self.slots.saturating_mul(self.sums.bytes_of_slot(SlotMargins::All)))
    }
}

/// A buffer of slots.
struct Slots {
    id: PrivateId,
    /// The loops that have slots.
    loops: Vec<Iter>,
    margins: SlotMargins,
    /// Sums that one instruction folds.
    fold_width: u32,
}

/// Makes parallel loops serial in a nest with mapped loops: launches, and iterations of one thread, run
/// one after the other.
fn make_serial(stmts: &mut [MirStmt]) {
    for stmt in stmts {
        match stmt {
            MirStmt::Loop(this) => {
                if this.mode == LoopMode::Parallel {
                    this.mode = LoopMode::Serial;
                }
                make_serial(&mut this.body);
            }
            MirStmt::Case(_, arms) => arms.iter_mut().for_each(|(_, body)| make_serial(body)),
            MirStmt::CacheRows(copy) => make_serial(&mut copy.body),
            _ => {}
        }
    }
}

/// Whether a loop runs as threads of a block.
fn is_on_block(this: &MirLoop) -> bool {
    matches!(this.mode, LoopMode::Mapped(GpuMapping { dimension, .. }) if dimension.level == GpuLevel::Block)
}

/// Whether the threads of a block fold the slots of a chain, which holds if one of its loops requests
/// it.
fn is_shared(chain: &[&MirLoop]) -> bool {
    chain.iter().any(|inner| inner.reduce == Some(Reduce::Shared))
}

fn fold_width(this: &MirLoop) -> u32 {
    match this.reduce {
        Some(Reduce::Vector(width)) => width,
        _ => 1,
    }
}

/// Chains of tree loops in a loop, itself included, that run as blocks or threads and need slots. A
/// chain is a tree loop with the mapped tree loops inside it.
fn slot_chains<'m>(this: &'m MirLoop, vars: &[VarInfo]) -> Result<Vec<Vec<&'m MirLoop>>, CompileError> {
    let mut below = Vec::new();
    for stmt in &this.body {
        collect_slot_chains(stmt, vars, &mut below)?;
    }
    let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
    // A loop with `atomicReduce` needs slots only if loops inside it have slots, which its iterations would
    // share.
    let atomic = this.reduce == Some(Reduce::Atomic) && below.is_empty();
    if !trees || !matches!(this.mode, LoopMode::Mapped(_)) || atomic {
        return Ok(below);
    }
    if below.len() > 1 {
        let name = &vars[this.iter.var.0 as usize].name;
        return Err(CompileError::ill_formed(format!("several loops over trees in `{name}` are mapped")));
    }
    let mut chain = vec![this];
    chain.extend(below.pop().unwrap_or_default());
    Ok(vec![chain])
}

/// Whether some mapped tree loop, in the loop or the loop itself, adds atomically.
fn adds_atomically(this: &MirLoop, vars: &[VarInfo]) -> bool {
    fn any(stmts: &[MirStmt], vars: &[VarInfo]) -> bool {
        stmts.iter().any(|stmt| match stmt {
            MirStmt::Loop(this) => adds_atomically(this, vars),
            MirStmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body, vars)),
            MirStmt::CacheRows(copy) => any(&copy.body, vars),
            _ => false,
        })
    }
    let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
    let mapped = matches!(this.mode, LoopMode::Mapped(_));
    trees && mapped && this.reduce == Some(Reduce::Atomic) || any(&this.body, vars)
}

fn collect_slot_chains<'m>(
    stmt: &'m MirStmt,
    vars: &[VarInfo],
    into: &mut Vec<Vec<&'m MirLoop>>,
) -> Result<(), CompileError> {
    match stmt {
        MirStmt::Loop(this) => into.extend(slot_chains(this, vars)?),
        MirStmt::Case(_, arms) => {
            let all = arms.iter().flat_map(|(_, body)| body);
            all.into_iter().try_for_each(|stmt| collect_slot_chains(stmt, vars, into))?;
        }
        MirStmt::CacheRows(cache) => {
            cache.body.iter().try_for_each(|stmt| collect_slot_chains(stmt, vars, into))?
        }
        _ => {}
    }
    Ok(())
}

/// Collects the outermost parallel tree loops that need slots.
fn collect_conflicting_loops<'m>(stmts: &'m [MirStmt], vars: &[VarInfo], into: &mut Vec<&'m MirLoop>) {
    for stmt in stmts {
        match stmt {
            MirStmt::Loop(this) => {
                let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
                if trees && this.mode == LoopMode::Parallel && this.reduce != Some(Reduce::Atomic) {
                    into.push(this);
                } else {
                    collect_conflicting_loops(&this.body, vars, into);
                }
            }
            MirStmt::Case(_, arms) => {
                arms.iter().for_each(|(_, body)| collect_conflicting_loops(body, vars, into))
            }
            MirStmt::CacheRows(cache) => collect_conflicting_loops(&cache.body, vars, into),
            _ => {}
        }
    }
}
