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
    Accumulator, Affine, Bound, Fold, Iter, Limit, Loop, Mapping, Mir, Mode, Private, PrivateId, Stmt,
    SumStart, Target, Uses, Var, VarInfo, Window,
};
use crate::budget::Budget;
use crate::error::CompileError;
use sched_nest::{Axis, GpuLevel, Reduce};
use std::collections::BTreeMap;

/// Privatises every reduction in which parallel tree loops would conflict. `row_bytes` is the size of
/// one row of sums in bytes.
///
/// # Errors
///
/// If the private sums of a single row exceed the budget, or a GPU's loops cannot share sums as
/// requested.
pub fn legalise(mir: Mir, row_bytes: u64, budget: &Budget) -> Result<Mir, CompileError> {
    let mut pass = Legaliser {
        vars: &mir.vars,
        uses: &mir.uses,
        privates: 0,
        row_bytes,
        slots: 1,
        scratch: ScratchBytes::new(budget),
        in_launch: false,
        in_block: false,
        hoisted: BTreeMap::new(),
    };
    let output = Target { accumulator: Accumulator::Output, atomic: false };
    let mut body = mir.body;
    if any_mapped(&body) {
        make_serial(&mut body);
    }
    let body = pass.block(body, output, &Affine::default())?;
    let rows_per_run = [mir.rows_per_run, pass.scratch.rows_per_run()].into_iter().flatten().min();
    Ok(Mir { body, rows_per_run, vars: mir.vars, uses: mir.uses })
}

struct Legaliser<'a> {
    vars: &'a [VarInfo],
    uses: &'a Uses,
    privates: u32,
    row_bytes: u64,
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
    fn block(&mut self, stmts: Vec<Stmt>, target: Target, row: &Affine) -> Result<Vec<Stmt>, CompileError> {
        stmts.into_iter().map(|stmt| self.stmt(stmt, target, row)).collect()
    }

    fn stmt(&mut self, stmt: Stmt, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
        Ok(match stmt {
            Stmt::Loop(this) => self.nest_loop(this, target, row)?,
            Stmt::Walks(mut walks) => {
                walks.target = target;
                Stmt::Walks(walks)
            }
            Stmt::Case(var, arms) => {
                let mut legal = Vec::new();
                for (value, body) in arms {
                    let fixed = row.with_value(var, value);
                    legal.push((value, self.block(body, target, &fixed)?));
                }
                Stmt::Case(var, legal)
            }
            Stmt::CacheRows(mut cache) => {
                cache.body = self.block(cache.body, target, row)?;
                Stmt::CacheRows(cache)
            }
            other => other,
        })
    }

    fn nest_loop(&mut self, this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
        let axis = self.vars[this.iter.var.0 as usize].axis;
        let mapped = matches!(this.mode, Mode::Mapped(_));
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
            (Axis::Tree, Mode::Mapped(_) | Mode::Parallel, Some(Reduce::Atomic))
                if !self.hoisted.contains_key(&this.iter.var) =>
            {
                self.legalise_body(this, Target { atomic: true, ..target }, row).map(Stmt::Loop)
            }
            (Axis::Tree, Mode::Mapped(_) | Mode::Parallel, _) => self.private_loop(this, target, row),
            (Axis::Row, Mode::Parallel, _) => self.row_loop(this, target, row),
            _ => self.legalise_body(this, target, row).map(Stmt::Loop),
        }
    }

    /// Legalises the body of a loop.
    fn legalise_body(&mut self, mut this: Loop, target: Target, row: &Affine) -> Result<Loop, CompileError> {
        let var = this.iter.var;
        let counts_rows = self.vars[var.0 as usize].axis == Axis::Row;
        let inner = if counts_rows { row.with(var) } else { row.clone() };
        this.body = self.block(this.body, target, &inner)?;
        Ok(this)
    }

    /// Legalises a parallel tree loop: each iteration adds to its own slot.
    fn private_loop(&mut self, this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
        let var = this.iter.var;
        if let Some(id) = self.hoisted.get(&var).copied() {
            // In a launch, iterations of an enclosing loop with `atomicReduce` share this loop's slots.
            let atomic = self.in_launch && target.atomic;
            let slot = Target { accumulator: Accumulator::Slot(id, var), atomic };
            return self.legalise_body(this, slot, row).map(Stmt::Loop);
        }
        let (id, slots, width) = (self.new_private_id(), vec![this.iter.clone()], fold_width(&this));
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        let outer = self.slots;
        self.reserve(&this, &window)?;
        let slot = Target { accumulator: Accumulator::Slot(id, var), atomic: false };
        let mut inside = self.legalise_body(this, slot, row)?;
        self.slots = outer;
        inside.body.insert(0, Stmt::Zero(id, var));
        let fold = Fold { from: id, into: target, start: SumStart::Memory, width };
        let body = vec![Stmt::Loop(inside), Stmt::Fold(fold)];
        Ok(Stmt::Private(Private { id, slots, filled_slots: None, window, shared: false, body }))
    }

    /// Legalises the outermost loop that runs as blocks or threads. The mapped tree loops inside get slots in
    /// a buffer outside the launch, which is folded after the launch, when all threads are done.
    /// [`Legaliser::threads`] handles those whose slots a block folds in shared memory.
    fn launch(&mut self, this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
        let window = window_of(self.uses.of(&this.walks), row, self.vars);
        let outer = self.slots;
        let mut wraps = Vec::new();
        for chain in slot_chains(&this, self.vars)? {
            let shared = is_shared(&chain);
            let chain: Vec<&Loop> =
                chain.into_iter().filter(|inner| !(shared && is_on_block(inner))).collect();
            if chain.is_empty() {
                continue;
            }
            let id = self.new_private_id();
            for inner in &chain {
                self.slots = self.slots.saturating_mul(self.most_trips(inner) as u64);
                self.hoisted.insert(inner.iter.var, id);
            }
            self.scratch.add(&window, self.slots.saturating_mul(self.row_bytes))?;
            self.slots = outer;
            wraps.push(self.slots_of(id, &chain));
        }
        // If some threads add atomically, all threads of the launch must.
        let atomic = target.atomic || adds_atomically(&this, self.vars);
        let stmt = self.nest_loop(this, Target { atomic, ..target }, row)?;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, false))
    }

    /// Legalises the outermost loop over the threads of a block. Buffers of the tree loops inside with slots
    /// in shared memory are put around this loop.
    fn threads(&mut self, this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
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
            wraps.push(self.slots_of(id, &chain));
        }
        let stmt = self.nest_loop(this, target, row)?;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, true))
    }

    fn slots_of(&self, id: PrivateId, chain: &[&Loop]) -> Slots {
        let slots = chain.iter().map(|inner| self.all_slots(inner)).collect();
        (id, slots, chain.last().map_or(1, |inner| fold_width(inner)))
    }

    /// Wraps a statement in buffers whose slots are set to zero before the statement and folded after it.
    fn with_folded_slots(
        &self,
        mut stmt: Stmt,
        wraps: Vec<Slots>,
        window: &Window,
        target: Target,
        shared: bool,
    ) -> Stmt {
        for (id, slots, width) in wraps.into_iter().rev() {
            let fold = Stmt::Fold(Fold { from: id, into: target, start: SumStart::Memory, width });
            let body = vec![Stmt::ZeroAll(id), stmt, fold];
            stmt = Stmt::Private(Private {
                id,
                slots,
                filled_slots: None,
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
    fn row_loop(&mut self, this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
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
            wraps.push((id, vec![self.all_slots(inner)], fold_width(inner)));
        }
        let stmt = Stmt::Loop(self.legalise_body(this, target, row)?);
        self.slots = outer;
        Ok(self.with_folded_slots(stmt, wraps, &window, target, false))
    }

    fn new_private_id(&mut self) -> PrivateId {
        self.privates += 1;
        PrivateId(self.privates - 1)
    }

    /// Largest number of iterations of a tree loop.
    fn most_trips(&self, this: &Loop) -> i64 {
        let most = self.vars[this.iter.var.0 as usize].most;
        most.map_or(1, |most| (most - this.iter.start).max(0) / this.iter.step + 1)
    }

    /// One slot for each iteration that the loop can have, independent of enclosing loops.
    fn all_slots(&self, this: &Loop) -> Iter {
        let stop = this.iter.start + self.most_trips(this) * this.iter.step;
        let stops = vec![Bound { limit: Limit::Const(stop), less: Affine::default() }];
        Iter { stops, ..this.iter.clone() }
    }

    fn reserve(&mut self, this: &Loop, window: &Window) -> Result<(), CompileError> {
        self.slots = self.slots.saturating_mul(self.most_trips(this) as u64);
        self.scratch.add(window, self.slots.saturating_mul(self.row_bytes))
    }
}

/// A buffer of slots: its name, the loops that have slots, and the number of sums that one instruction
/// folds.
type Slots = (PrivateId, Vec<Iter>, u32);

/// Makes parallel loops serial in a nest with mapped loops: launches, and iterations of one thread, run
/// one after the other.
fn make_serial(stmts: &mut [Stmt]) {
    for stmt in stmts {
        match stmt {
            Stmt::Loop(this) => {
                if this.mode == Mode::Parallel {
                    this.mode = Mode::Serial;
                }
                make_serial(&mut this.body);
            }
            Stmt::Case(_, arms) => arms.iter_mut().for_each(|(_, body)| make_serial(body)),
            Stmt::CacheRows(copy) => make_serial(&mut copy.body),
            _ => {}
        }
    }
}

/// Whether a loop runs as threads of a block.
fn is_on_block(this: &Loop) -> bool {
    matches!(this.mode, Mode::Mapped(Mapping { dimension, .. }) if dimension.level == GpuLevel::Block)
}

/// Whether the threads of a block fold the slots of a chain, which holds if one of its loops requests
/// it.
fn is_shared(chain: &[&Loop]) -> bool {
    chain.iter().any(|inner| inner.reduce == Some(Reduce::Shared))
}

fn fold_width(this: &Loop) -> u32 {
    match this.reduce {
        Some(Reduce::Vector(width)) => width,
        _ => 1,
    }
}

/// Chains of tree loops in a loop, itself included, that run as blocks or threads and need slots. A
/// chain is a tree loop with the mapped tree loops inside it.
fn slot_chains<'m>(this: &'m Loop, vars: &[VarInfo]) -> Result<Vec<Vec<&'m Loop>>, CompileError> {
    let mut below = Vec::new();
    for stmt in &this.body {
        collect_slot_chains(stmt, vars, &mut below)?;
    }
    let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
    // A loop with `atomicReduce` needs slots only if loops inside it have slots, which its iterations would
    // share.
    let atomic = this.reduce == Some(Reduce::Atomic) && below.is_empty();
    if !trees || !matches!(this.mode, Mode::Mapped(_)) || atomic {
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
fn adds_atomically(this: &Loop, vars: &[VarInfo]) -> bool {
    fn any(stmts: &[Stmt], vars: &[VarInfo]) -> bool {
        stmts.iter().any(|stmt| match stmt {
            Stmt::Loop(this) => adds_atomically(this, vars),
            Stmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body, vars)),
            Stmt::CacheRows(copy) => any(&copy.body, vars),
            _ => false,
        })
    }
    let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
    let mapped = matches!(this.mode, Mode::Mapped(_));
    trees && mapped && this.reduce == Some(Reduce::Atomic) || any(&this.body, vars)
}

fn collect_slot_chains<'m>(
    stmt: &'m Stmt,
    vars: &[VarInfo],
    into: &mut Vec<Vec<&'m Loop>>,
) -> Result<(), CompileError> {
    match stmt {
        Stmt::Loop(this) => into.extend(slot_chains(this, vars)?),
        Stmt::Case(_, arms) => {
            let all = arms.iter().flat_map(|(_, body)| body);
            all.into_iter().try_for_each(|stmt| collect_slot_chains(stmt, vars, into))?;
        }
        Stmt::CacheRows(cache) => {
            cache.body.iter().try_for_each(|stmt| collect_slot_chains(stmt, vars, into))?
        }
        _ => {}
    }
    Ok(())
}

/// Collects the outermost parallel tree loops that need slots.
fn collect_conflicting_loops<'m>(stmts: &'m [Stmt], vars: &[VarInfo], into: &mut Vec<&'m Loop>) {
    for stmt in stmts {
        match stmt {
            Stmt::Loop(this) => {
                let trees = vars[this.iter.var.0 as usize].axis == Axis::Tree;
                if trees && this.mode == Mode::Parallel && this.reduce != Some(Reduce::Atomic) {
                    into.push(this);
                } else {
                    collect_conflicting_loops(&this.body, vars, into);
                }
            }
            Stmt::Case(_, arms) => {
                arms.iter().for_each(|(_, body)| collect_conflicting_loops(body, vars, into))
            }
            Stmt::CacheRows(cache) => collect_conflicting_loops(&cache.body, vars, into),
            _ => {}
        }
    }
}
