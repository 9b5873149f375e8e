//! Places guards in a launch such that all threads of a block reach its barriers.
//!
//! Every thread of a block must reach a cooperative copy. Guards for missing iterations are therefore
//! sunk below the copy, onto the statements before and after it. A serial loop around the copy whose end
//! differs between threads runs to the largest end. If threads take different cases of a specialised loop,
//! every thread passes through every case; guards let it run only the statements of its own case.

use super::{Guard, Iter, Loop, Mapping, Mode, Stmt, Var, VarInfo};
use sched_nest::GpuLevel;

/// Places the guards in the statements of a launch.
pub(super) fn place_guards(stmts: Vec<Stmt>, vars: &[VarInfo]) -> Vec<Stmt> {
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
    fn all(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
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
    fn push_guarded(&self, apart: &mut Vec<Stmt>, done: &mut Vec<Stmt>) {
        let stmts = std::mem::take(apart);
        if self.sunk_guards.is_empty() {
            done.extend(stmts);
        } else if !stmts.is_empty() {
            done.push(Stmt::When(self.sunk_guards.clone(), stmts));
        }
    }

    /// Places guards in a statement that contains a barrier.
    fn with_barrier(&mut self, stmt: Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::Loop(this) => vec![Stmt::Loop(self.nest_loop(this))],
            Stmt::Case(var, arms) if self.threads.contains(&var) => {
                let mut all = Vec::new();
                for (value, body) in arms {
                    self.sunk_guards.push(Guard::Is(var, value));
                    all.extend(self.all(body));
                    self.sunk_guards.pop();
                }
                all
            }
            Stmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| (value, self.all(body)));
                vec![Stmt::Case(var, arms.collect())]
            }
            Stmt::CacheRows(mut copy) => {
                copy.body = self.all(copy.body);
                vec![Stmt::CacheRows(copy)]
            }
            Stmt::ShareTrees(mut copy) => {
                copy.body = self.all(copy.body);
                vec![Stmt::ShareTrees(copy)]
            }
            Stmt::Private(mut private) => {
                private.body = self.all(private.body);
                vec![Stmt::Private(private)]
            }
            Stmt::ThreadSums(mut sums) => {
                sums.guards.clone_from(&self.sunk_guards);
                sums.body = self.all(sums.body);
                vec![Stmt::ThreadSums(sums)]
            }
            Stmt::When(guards, body) => self.sink_guards(guards, body),
            other => vec![other],
        }
    }

    fn nest_loop(&mut self, mut this: Loop) -> Loop {
        let (known, guards) = (self.threads.len(), self.sunk_guards.len());
        let apart = this.iter.clone();
        match &mut this.mode {
            Mode::Mapped(Mapping { dimension, needs_guard }) if dimension.level == GpuLevel::Block => {
                self.threads.push(this.iter.var);
                if std::mem::take(needs_guard) {
                    self.sunk_guards.push(Guard::Exists(apart));
                }
            }
            Mode::Mapped(_) => {}
            _ => {
                if let Some(longest) = self.with_upper_bounds(&this.iter) {
                    this.iter = longest;
                    this.mode = Mode::Serial;
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
    fn sink_guards(&mut self, guards: Vec<Guard>, body: Vec<Stmt>) -> Vec<Stmt> {
        let of_blocks = |guard: &Guard| matches!(guard, Guard::First(at) if at.level == GpuLevel::Grid);
        let (blocks, threads): (Vec<Guard>, Vec<Guard>) = guards.into_iter().partition(of_blocks);
        let before = self.sunk_guards.len();
        self.sunk_guards.extend(threads);
        let body = self.all(body);
        self.sunk_guards.truncate(before);
        if blocks.is_empty() { body } else { vec![Stmt::When(blocks, body)] }
    }
}

/// Whether a statement contains a barrier, which all threads of a block must reach.
fn has_barrier(stmt: &Stmt) -> bool {
    let any = |body: &[Stmt]| body.iter().any(has_barrier);
    match stmt {
        Stmt::CacheRows(copy) => copy.shared.is_some() || any(&copy.body),
        Stmt::Private(private) => private.shared || any(&private.body),
        Stmt::Loop(this) => any(&this.body),
        Stmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body)),
        Stmt::When(_, body) => any(body),
        Stmt::ThreadSums(sums) => any(&sums.body),
        Stmt::ShareTrees(_) | Stmt::ZeroAll(_) | Stmt::Fold(_) => true,
        Stmt::Walks(_) | Stmt::Base(_) | Stmt::Launch(_) | Stmt::CacheTrees(_) | Stmt::Zero(..) => false,
    }
}
