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
//! Iterations own their slots, threads do not: results do not depend on how many threads there are. A loop with
//! `atomicReduce` adds to the outer target with atomic instructions instead, in whatever order threads come.

use super::window::{Bytes, window_of};
use super::{Affine, Fold, Loop, Mir, Mode, Place, Private, PrivateId, Stmt, Target, VarInfo};
use crate::error::{Budget, CompileError};
use sched_lang::nest::{Reduce, Sort};

/// Privatises every reduction that parallel tree loops make conflict. `row_bytes` is the size of one row of sums.
///
/// # Errors
///
/// When the private sums of a single row exceed the budget.
pub fn legalise(mir: Mir, row_bytes: u64, budget: &Budget) -> Result<Mir, CompileError> {
    let mut pass =
        Legalise { vars: &mir.vars, privates: 0, row_bytes, slots: 1, scratch: Bytes::new(budget) };
    let output = Target { place: Place::Output, atomic: false };
    let body = pass.block(mir.body, output, &Affine::default())?;
    let rows_per_run = [mir.rows_per_run, pass.scratch.rows_per_run()].into_iter().flatten().min();
    Ok(Mir { body, rows_per_run, vars: mir.vars })
}

struct Legalise<'a> {
    vars: &'a [VarInfo],
    privates: u32,
    row_bytes: u64,
    /// Slots of the private loops around, multiplied: how many inner buffers may exist at once.
    slots: u64,
    scratch: Bytes,
}

impl Legalise<'_> {
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
                    let fixed = row.fixed(var, value);
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

    fn nest_loop(&mut self, mut this: Loop, target: Target, row: &Affine) -> Result<Stmt, CompileError> {
        let var = this.iter.var;
        let info = &self.vars[var.0 as usize];
        let inner_row = if info.sort == Sort::Row { row.with(var) } else { row.clone() };
        let conflicts = info.sort == Sort::Tree && this.mode == Mode::Parallel;
        if !conflicts || this.reduce == Some(Reduce::Atomic) {
            let target = Target { atomic: target.atomic || conflicts, ..target };
            this.body = self.block(this.body, target, &inner_row)?;
            return Ok(Stmt::Loop(this));
        }
        let id = PrivateId(self.privates);
        self.privates += 1;
        let window = window_of(&this.body, row, self.vars);
        let trip = info.most.map_or(1, |most| (most - this.iter.start).max(0) / this.iter.step + 1) as u64;
        let outer = self.slots;
        self.slots = outer.saturating_mul(trip);
        self.scratch.add(&window, self.slots.saturating_mul(self.row_bytes))?;
        let slot = Target { place: Place::Slot(id, var), atomic: false };
        this.body = self.block(this.body, slot, &inner_row)?;
        self.slots = outer;
        this.body.insert(0, Stmt::Zero(id, var));
        let width = match this.reduce {
            Some(Reduce::Vector(width)) => width,
            _ => 1,
        };
        let slots = this.iter.clone();
        let body = vec![Stmt::Loop(this), Stmt::Fold(Fold { from: id, into: target, width })];
        Ok(Stmt::Private(Private { id, slots, window, body }))
    }
}
