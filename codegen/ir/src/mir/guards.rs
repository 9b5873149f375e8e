//! Places guards in a launch such that all threads of a block reach its barriers.
//!
//! Every thread of a block must reach a cooperative copy. Guards for missing iterations are therefore
//! sunk below the copy, onto the statements before and after it. A serial loop around the copy whose end
//! differs between threads runs to the largest end. If threads take different cases of a specialised loop,
//! every thread passes through every case; guards let it run only the statements of its own case.

use super::{GpuMapping, Guard, Iter, LoopMode, MirLoop, MirStmt, Var, VarInfo};
use sched_nest::GpuLevel;

/// Places the guards in the statements of a launch.
pub(super) fn place_guards(stmts: Vec<MirStmt>, vars: &[VarInfo]) -> Vec<MirStmt> {
    GuardPlacement { vars, threads: Vec::new(), sunk_guards: Vec::new() }.all(stmts)
}

struct GuardPlacement<'a> {
    vars: &'a [VarInfo],
    /// Enclosing variables that differ between the threads of a block.
    threads: Vec<Var>,
    /// Guards that were sunk, which must enclose each statement without barriers.
    sunk_guards: Vec<Guard>,
}

impl GuardPlacement<'_> {
    fn all(&mut self, stmts: Vec<MirStmt>) -> Vec<MirStmt> {
        let mut done = Vec::with_capacity(stmts.len());
        let mut apart = Vec::new();
        for stmt in stmts {
            if has_barrier(&stmt) {
                self.push_guarded(&mut apart, &mut done);
                done.extend(self.with_barrier(stmt));
            } else {
                apart.push(stmt);
            }
        }
        self.push_guarded(&mut apart, &mut done);
        done
    }

    /// Moves the statements in `apart`, which have no barrier, to `done`, inside the sunk guards.
    fn push_guarded(&self, apart: &mut Vec<MirStmt>, done: &mut Vec<MirStmt>) {
        let stmts = std::mem::take(apart);
        if self.sunk_guards.is_empty() {
            done.extend(stmts);
        } else if !stmts.is_empty() {
            done.push(MirStmt::When(self.sunk_guards.clone(), stmts));
        }
    }

    /// Places guards in a statement that contains a barrier.
    fn with_barrier(&mut self, stmt: MirStmt) -> Vec<MirStmt> {
        match stmt {
            MirStmt::Loop(this) => vec![MirStmt::Loop(self.nest_loop(this))],
            MirStmt::Case(var, arms) if self.threads.contains(&var) => {
                let mut all = Vec::new();
                for (value, body) in arms {
                    self.sunk_guards.push(Guard::Is(var, value));
                    all.extend(self.all(body));
                    self.sunk_guards.pop();
                }
                all
            }
            MirStmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| (value, self.all(body)));
                vec![MirStmt::Case(var, arms.collect())]
            }
            MirStmt::CacheRows(mut copy) => {
                copy.body = self.all(copy.body);
                vec![MirStmt::CacheRows(copy)]
            }
            MirStmt::ShareTrees(mut copy) => {
                copy.body = self.all(copy.body);
                vec![MirStmt::ShareTrees(copy)]
            }
            MirStmt::Private(mut private) => {
                private.body = self.all(private.body);
                vec![MirStmt::Private(private)]
            }
            MirStmt::ThreadSums(mut sums) => {
                sums.guards.clone_from(&self.sunk_guards);
                sums.body = self.all(sums.body);
                vec![MirStmt::ThreadSums(sums)]
            }
            MirStmt::When(guards, body) => self.sink_guards(guards, body),
            other => vec![other],
        }
    }

    fn nest_loop(&mut self, mut this: MirLoop) -> MirLoop {
        let (known, guards) = (self.threads.len(), self.sunk_guards.len());
        let apart = this.iter.clone();
        match &mut this.mode {
            LoopMode::Mapped(GpuMapping { dimension, needs_guard }) if dimension.level == GpuLevel::Block => {
                self.threads.push(this.iter.var);
                if std::mem::take(needs_guard) {
                    self.sunk_guards.push(Guard::Exists(apart));
                }
            }
            LoopMode::Mapped(_) => {}
            _ => {
                if let Some(longest) = self.with_upper_bounds(&this.iter) {
                    this.iter = longest;
                    this.mode = LoopMode::Serial;
                    self.sunk_guards.push(Guard::Exists(apart));
                }
            }
        }
        this.body = self.all(this.body);
        self.threads.truncate(known);
        self.sunk_guards.truncate(guards);
        this
    }

    /// The loop with the largest end that any thread of the block has, if ends differ between threads.
    fn with_upper_bounds(&self, iter: &Iter) -> Option<Iter> {
        let differs = |var: &Var| self.threads.contains(var);
        if !iter.stops.iter().any(|stop| stop.less.vars.iter().any(differs)) {
            return None;
        }
        let mut longest = iter.clone();
        for stop in &mut longest.stops {
            let (own, shared): (Vec<Var>, _) = stop.less.vars.iter().partition(|var| differs(var));
            stop.less.vars = shared;
            stop.less.plus += own.iter().map(|var| self.vars[var.0 as usize].least).sum::<i64>();
        }
        Some(longest)
    }

    /// Sinks guards that select threads of a block. Guards that select whole blocks stay around the
    /// statements.
    fn sink_guards(&mut self, guards: Vec<Guard>, body: Vec<MirStmt>) -> Vec<MirStmt> {
        let of_blocks = |guard: &Guard| matches!(guard, Guard::First(at) if at.level == GpuLevel::Grid);
        let (blocks, threads): (Vec<Guard>, Vec<Guard>) = guards.into_iter().partition(of_blocks);
        let before = self.sunk_guards.len();
        self.sunk_guards.extend(threads);
        let body = self.all(body);
        self.sunk_guards.truncate(before);
        if blocks.is_empty() { body } else { vec![MirStmt::When(blocks, body)] }
    }
}

/// Whether a statement contains a barrier, which all threads of a block must reach.
fn has_barrier(stmt: &MirStmt) -> bool {
    let any = |body: &[MirStmt]| body.iter().any(has_barrier);
    match stmt {
        MirStmt::CacheRows(copy) => copy.shared.is_some() || any(&copy.body),
        MirStmt::Private(private) => private.shared || any(&private.body),
        MirStmt::Loop(this) => any(&this.body),
        MirStmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body)),
        MirStmt::When(_, body) => any(body),
        MirStmt::ThreadSums(sums) => any(&sums.body),
        MirStmt::ShareTrees(_) | MirStmt::ZeroAll(_) | MirStmt::Fold(_) => true,
        MirStmt::Walks(_)
        | MirStmt::Base(_)
        | MirStmt::Launch(_)
        | MirStmt::CacheTrees(_)
        | MirStmt::Zero(..) => false,
    }
}
