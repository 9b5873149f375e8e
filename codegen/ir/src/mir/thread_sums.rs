//! Finds the sums that one thread of a launch owns. The thread starts the sums of its rows, adds its
//! trees to them, and stores them once.
//!
//! If a loop outside the threads adds to a sum repeatedly, every iteration but the first starts from
//! the value in memory. If the order of the additions is unknown, a separate launch sets the memory
//! before.

use super::mapped::any_mapped;
use super::slots;
use super::{
    Accumulator, Affine, Bound, Fold, Iter, LoopMode, Minuend, MirLoop, MirStmt, Private, StartValue,
    SumDestination, SumStart, ThreadSums, ThreadSumsId, Var, VarInfo,
};
use sched_nest::Axis;

/// Puts [`ThreadSums`] into all launches. With `from_base`, sums of the output start from the base values,
/// else from the margins that the output holds. Returns whether threads start from the base values, so that
/// no separate launch must set them.
pub(super) fn insert_thread_sums(body: &mut Vec<MirStmt>, vars: &[VarInfo], from_base: bool) -> bool {
    let mut pass = ThreadSumsPass { vars, next_id: 0 };
    let output = Accumulator::Output;
    let starts_from_base = from_base && pass.is_chain(body, output, false);
    let start =
        if starts_from_base { SumStart::Value(StartValue::Base, Vec::new()) } else { SumStart::Memory };
    let whole = std::mem::take(body);
    let starts = vec![(output, start)];
    *body = pass.all(whole, &SumScope { row: Affine::default(), starts, in_launch: false });
    starts_from_base
}

struct ThreadSumsPass<'a> {
    vars: &'a [VarInfo],
    next_id: u32,
}

/// The enclosing loops and sums of a statement that [`ThreadSumsPass`] visits.
#[derive(Clone)]
struct SumScope {
    /// Sum of the enclosing row loops.
    row: Affine,
    /// For each accumulator, the value with which its sums start.
    starts: Vec<(Accumulator, SumStart)>,
    in_launch: bool,
}

impl SumScope {
    /// Value with which the sums of a target start. Atomic sums start from memory, since other threads may
    /// have added to them.
    fn start(&self, target: SumDestination) -> SumStart {
        let known = self.starts.iter().find(|(of, _)| same_buffer(*of, target.accumulator) && !target.atomic);
        known.map_or(SumStart::Memory, |(_, start)| start.clone())
    }
}

/// A leaf loop's target, and the row loops of its thread around the walks, including the leaf loop if it
/// counts rows.
#[derive(Clone)]
struct ThreadWalks {
    target: SumDestination,
    loops: Vec<Iter>,
}

impl ThreadSumsPass<'_> {
    fn all(&mut self, stmts: Vec<MirStmt>, scope: &SumScope) -> Vec<MirStmt> {
        if scope.in_launch && !any_mapped(&stmts) {
            return self.of_thread(stmts, scope);
        }
        stmts.into_iter().map(|stmt| self.stmt(stmt, scope)).collect()
    }

    fn stmt(&mut self, stmt: MirStmt, scope: &SumScope) -> MirStmt {
        match stmt {
            MirStmt::Loop(mut this) => {
                this.body = self.all(std::mem::take(&mut this.body), &self.scope_inside(&this, scope));
                MirStmt::Loop(this)
            }
            MirStmt::Case(var, arms) => {
                let arm = |(value, body)| {
                    let scope = SumScope { row: scope.row.with_value(var, value), ..scope.clone() };
                    (value, self.all(body, &scope))
                };
                MirStmt::Case(var, arms.into_iter().map(arm).collect())
            }
            MirStmt::CacheRows(mut copy) => {
                copy.body = self.all(copy.body, scope);
                MirStmt::CacheRows(copy)
            }
            MirStmt::ShareTrees(mut copy) => {
                copy.body = self.all(copy.body, scope);
                MirStmt::ShareTrees(copy)
            }
            MirStmt::Launch(mut launch) => {
                launch.body = self.all(launch.body, &SumScope { in_launch: true, ..scope.clone() });
                MirStmt::Launch(launch)
            }
            MirStmt::Private(private) => MirStmt::Private(self.private(private, scope)),
            other => other,
        }
    }

    fn scope_inside(&self, this: &MirLoop, scope: &SumScope) -> SumScope {
        let mut inside = scope.clone();
        match self.axis(&this.iter) {
            Axis::Row => inside.row.vars.push(this.iter.var),
            // A loop with one iteration is always in its first one.
            Axis::Tree if this.iter.most_trips(self.vars) == Some(1) => {}
            Axis::Tree | Axis::Unit | Axis::Feature => {
                for (_, start) in &mut inside.starts {
                    if let (SumStart::Value(_, first), false) = (start, is_mapped(this)) {
                        first.push(this.iter.clone());
                    }
                }
            }
        }
        inside
    }

    /// Sets the values with which the sums of a buffer's slots and of its fold start. If walks write every
    /// slot, slots need not be set to zero before.
    fn private(&mut self, mut private: Private, scope: &SumScope) -> Private {
        let own = Accumulator::Slot(private.id, private.slots.first().map_or(Var(0), |slot| slot.var));
        let all_rows = self.is_chain(&private.body, own, scope.in_launch) && self.fills_window(&private);
        let written = if all_rows { written_slots(&private, own) } else { None };
        let start = match written {
            Some(count) => {
                private.body.retain(|stmt| !matches!(stmt, MirStmt::ZeroAll(_)));
                private.filled_slots =
                    Some(count).filter(|count| slots::slot_count(&private.slots) != Some(*count));
                SumStart::Value(StartValue::NegativeZero, Vec::new())
            }
            None => SumStart::Memory,
        };
        let mut inside = scope.clone();
        inside.starts.push((own, start));
        let body = std::mem::take(&mut private.body).into_iter().map(|stmt| match stmt {
            MirStmt::Fold(mut fold) => {
                fold.start = scope.start(fold.into);
                MirStmt::Fold(fold)
            }
            other => self.stmt(other, &inside),
        });
        private.body = body.collect();
        private
    }

    /// Puts the statements of one thread inside a [`ThreadSums`], which keeps their sums in the thread's
    /// registers.
    fn of_thread(&mut self, body: Vec<MirStmt>, scope: &SumScope) -> Vec<MirStmt> {
        let Some(ThreadWalks { target, loops }) = self.thread_walks(&body) else { return body };
        let start = scope.start(target);
        let row = loops.iter().fold(scope.row.clone(), |row, iter| row.with(iter.var));
        let id = ThreadSumsId(self.next_id);
        self.next_id += 1;
        vec![MirStmt::ThreadSums(ThreadSums { id, row, loops, target, start, guards: Vec::new(), body })]
    }

    /// Target and row loops that all leaf loops of a thread have in common; `None` if they differ.
    fn thread_walks(&self, body: &[MirStmt]) -> Option<ThreadWalks> {
        let mut all = Vec::new();
        self.collect(body, &mut Vec::new(), &mut all);
        let first = all.first()?.clone();
        let same = |other: &ThreadWalks| {
            other.target == first.target
                && other.loops.len() == first.loops.len()
                && first
                    .loops
                    .iter()
                    .zip(&other.loops)
                    .all(|(a, b)| *a == with_renamed_vars(b, &other.loops, &first.loops))
        };
        all.iter().all(same).then_some(first)
    }

    fn collect(&self, stmts: &[MirStmt], rows: &mut Vec<Iter>, into: &mut Vec<ThreadWalks>) {
        for stmt in stmts {
            match stmt {
                MirStmt::Walks(walks) => {
                    let own = (walks.over == Axis::Row).then_some(&walks.iter);
                    let loops = rows.iter().chain(own).cloned().collect();
                    into.push(ThreadWalks { target: walks.target, loops });
                }
                MirStmt::Loop(this) => {
                    let around = rows.len();
                    if self.axis(&this.iter) == Axis::Row {
                        rows.push(this.iter.clone());
                    }
                    self.collect(&this.body, rows, into);
                    rows.truncate(around);
                }
                MirStmt::Case(_, arms) => arms.iter().for_each(|(_, body)| self.collect(body, rows, into)),
                MirStmt::CacheRows(copy) => self.collect(&copy.body, rows, into),
                MirStmt::ShareTrees(copy) => self.collect(&copy.body, rows, into),
                _ => {}
            }
        }
    }

    /// Whether a single statement at each level of the nest adds to `of`. Then the first addition to each sum
    /// is known.
    fn is_chain(&self, stmts: &[MirStmt], of: Accumulator, in_launch: bool) -> bool {
        if in_launch && !any_mapped(stmts) {
            return self.thread_walks(stmts).is_some() && !stmts.iter().any(|stmt| adds(stmt, of, true));
        }
        let mut adding = stmts.iter().filter(|stmt| adds(stmt, of, false));
        let (Some(one), None) = (adding.next(), adding.next()) else { return false };
        match one {
            MirStmt::Loop(this) => self.has_first_iteration(this) && self.is_chain(&this.body, of, in_launch),
            MirStmt::Case(_, arms) => arms.iter().all(|(_, body)| self.is_chain(body, of, in_launch)),
            MirStmt::CacheRows(copy) => self.is_chain(&copy.body, of, in_launch),
            MirStmt::ShareTrees(copy) => self.is_chain(&copy.body, of, in_launch),
            MirStmt::Launch(launch) => self.is_chain(&launch.body, of, true),
            MirStmt::Private(private) => {
                let is_same = |fold: &Fold| same_buffer(fold.into.accumulator, of);
                let folds = |stmt: &&MirStmt| matches!(stmt, MirStmt::Fold(fold) if is_same(fold));
                let mut fold = private.body.iter().filter(folds);
                let adding = private.body.iter().filter(|stmt| adds(stmt, of, false)).count();
                match fold.next() {
                    Some(MirStmt::Fold(fold)) => {
                        adding == 1 && !fold.into.atomic && self.fills_window(private)
                    }
                    _ => self.is_chain(&private.body, of, in_launch),
                }
            }
            _ => false,
        }
    }

    /// Whether the inner loops walk exactly the rows of a buffer's window, each once. Each loop's step must
    /// equal the number of rows that the loops inside it walk. Only the number of rows may end a loop early.
    fn fills_window(&self, private: &Private) -> bool {
        let mut rows = Vec::new();
        if !self.row_loops(&private.body, &mut rows) {
            return false;
        }
        rows.sort_by_key(|iter| iter.step);
        let mut covered = Some(1_i64);
        for iter in rows {
            let whole = |stop: &Bound| stop.limit == Minuend::Rows || stop.less.vars.is_empty();
            if !iter.stops.iter().all(whole) {
                return false;
            }
            if iter.start == 0 && iter.most_trips(self.vars) == Some(1) {
                continue;
            }
            if covered != Some(iter.step) {
                return false;
            }
            covered = iter.most_trips(self.vars).and_then(|trips| trips.checked_mul(iter.step));
        }
        let window = &private.window;
        let apart = |rows: i64| window.base.vars.iter().all(|var| rows <= self.vars[var.0 as usize].step);
        match (window.high, covered) {
            (Some(high), Some(rows)) => high - window.low == rows && apart(rows),
            (None, None) => window.base.vars.is_empty(),
            _ => false,
        }
    }

    /// Collects the row loops in some statements. Returns whether all leaf loops in them are inside the same
    /// row loops.
    fn row_loops<'m>(&self, stmts: &'m [MirStmt], into: &mut Vec<&'m Iter>) -> bool {
        let mut own = stmts.iter().map(|stmt| {
            let mut rows = Vec::new();
            let alike = match stmt {
                MirStmt::Walks(walks) => {
                    rows.extend((walks.over == Axis::Row).then_some(&walks.iter));
                    true
                }
                MirStmt::Loop(this) => {
                    rows.extend((self.axis(&this.iter) == Axis::Row).then_some(&this.iter));
                    self.row_loops(&this.body, &mut rows)
                }
                MirStmt::Case(var, arms) => {
                    let bodies = arms.iter().flat_map(|(_, body)| body);
                    let trees = self.vars[var.0 as usize].axis == Axis::Tree;
                    trees && bodies.map(std::slice::from_ref).all(|body| self.is_rowless(body))
                }
                MirStmt::CacheRows(copy) => self.row_loops(&copy.body, &mut rows),
                MirStmt::ShareTrees(copy) => self.row_loops(&copy.body, &mut rows),
                MirStmt::Launch(launch) => self.row_loops(&launch.body, &mut rows),
                MirStmt::Private(inner) => self.row_loops(&inner.body, &mut rows),
                MirStmt::When(..) | MirStmt::ThreadSums(_) => false,
                MirStmt::Base(_)
                | MirStmt::CacheTrees(_)
                | MirStmt::Zero(..)
                | MirStmt::ZeroAll(_)
                | MirStmt::Fold(_) => {
                    return None;
                }
            };
            Some((alike, rows))
        });
        let mut own = own.by_ref().flatten();
        let Some((true, first)) = own.next() else { return false };
        if own.any(|(alike, rows)| !alike || rows != first) {
            return false;
        }
        into.extend(first);
        true
    }

    /// Whether some statements have no loop over rows.
    fn is_rowless(&self, stmts: &[MirStmt]) -> bool {
        let mut rows = Vec::new();
        self.row_loops(stmts, &mut rows) && rows.is_empty()
    }

    /// Whether the loop certainly has a first iteration, in which sums start.
    fn has_first_iteration(&self, this: &MirLoop) -> bool {
        let ends_behind = |iter: &Iter| {
            iter.stops.iter().all(|stop| match stop.limit {
                Minuend::Const(limit) if stop.less.vars.is_empty() => limit - stop.less.plus > iter.start,
                _ => false,
            })
        };
        self.axis(&this.iter) == Axis::Row || is_mapped(this) || ends_behind(&this.iter)
    }

    fn axis(&self, iter: &Iter) -> Axis {
        self.vars[iter.var.0 as usize].axis
    }
}

fn is_mapped(this: &MirLoop) -> bool {
    matches!(this.mode, LoopMode::Mapped(_))
}

/// Whether two accumulators are in the same buffer.
fn same_buffer(a: Accumulator, b: Accumulator) -> bool {
    match (a, b) {
        (Accumulator::Output, Accumulator::Output) => true,
        (Accumulator::Slot(a, _), Accumulator::Slot(b, _)) => a == b,
        _ => false,
    }
}

/// Whether a statement adds to an accumulator.
pub(super) fn adds_to(stmt: &MirStmt, of: Accumulator) -> bool {
    adds(stmt, of, false)
}

/// Whether a statement adds to an accumulator; with `atomically`, whether it does so atomically.
fn adds(stmt: &MirStmt, of: Accumulator, atomically: bool) -> bool {
    let any = |body: &[MirStmt]| body.iter().any(|stmt| adds(stmt, of, atomically));
    let here =
        |target: &SumDestination| same_buffer(target.accumulator, of) && (target.atomic || !atomically);
    match stmt {
        MirStmt::Walks(walks) => here(&walks.target),
        MirStmt::Fold(fold) => here(&fold.into),
        MirStmt::Loop(this) => any(&this.body),
        MirStmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body)),
        MirStmt::CacheRows(copy) => any(&copy.body),
        MirStmt::ShareTrees(copy) => any(&copy.body),
        MirStmt::Launch(launch) => any(&launch.body),
        MirStmt::When(_, body) => any(body),
        MirStmt::ThreadSums(sums) => any(&sums.body),
        MirStmt::Private(private) => any(&private.body),
        MirStmt::Base(_) | MirStmt::CacheTrees(_) | MirStmt::Zero(..) | MirStmt::ZeroAll(_) => false,
    }
}

/// Number of slots that walks write, if these are the first ones of the buffer. `None` if they are not, if
/// walks in different loops write them, or if a bound is unknown.
fn written_slots(private: &Private, of: Accumulator) -> Option<i64> {
    let loops =
        private.slots.iter().map(|slot| loop_of(&private.body, of, slot)).collect::<Option<Vec<_>>>()?;
    slots::filled_slots(&private.slots, &loops)
}

/// The loop with the variable of `slots`, if all additions to `of` are inside it.
fn loop_of<'m>(stmts: &'m [MirStmt], of: Accumulator, slots: &Iter) -> Option<&'m Iter> {
    let inside = |body: &'m Vec<MirStmt>| loop_of(body, of, slots);
    common_value(stmts.iter().filter(|stmt| adds(stmt, of, false)).map(|stmt| match stmt {
        MirStmt::Loop(this) if this.iter.var == slots.var => Some(&this.iter),
        MirStmt::Loop(this) => inside(&this.body),
        MirStmt::Case(_, arms) => common_value(arms.iter().map(|(_, body)| inside(body))),
        MirStmt::CacheRows(copy) => inside(&copy.body),
        MirStmt::ShareTrees(copy) => inside(&copy.body),
        MirStmt::Launch(launch) => inside(&launch.body),
        MirStmt::Private(private) => inside(&private.body),
        _ => None,
    }))
}

/// The common value of all items, if they have one.
fn common_value<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The loop with the variables of `from` replaced by those of `to`.
fn with_renamed_vars(iter: &Iter, from: &[Iter], to: &[Iter]) -> Iter {
    let other = |var: &Var| from.iter().position(|iter| iter.var == *var).map_or(*var, |at| to[at].var);
    let mut renamed = Iter { var: other(&iter.var), ..iter.clone() };
    for stop in &mut renamed.stops {
        stop.less.vars.iter_mut().for_each(|var| *var = other(var));
    }
    renamed
}
