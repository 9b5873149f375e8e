//! Separates the code of a GPU: each outermost loop that `gpuDimension` maps becomes a launch. The code
//! around it runs on the host (SilvanForge, section 4.3).
//!
//! In each dimension, a launch has one block or thread for each iteration of the longest loop mapped to it. A
//! loop is guarded if there may be more blocks or threads than iterations.
//!
//! Sums begin with the base values. The first addition to a sum starts from its base value if that
//! addition is known (`mir/thread_sums.rs`). Otherwise a separate launch sets the base values before. Sums
//! begin with base margins of the rows instead if the caller has put these into the output.

use super::mapped::any_mapped;
use super::threads::{SharedCopies, guard_unmapped};
use super::{
    Affine, Bound, GpuMapping, Guard, Iter, LoopMode, Minuend, Mir, MirLaunch, MirLoop, MirStmt, Var,
    VarInfo, WalkRange, Window,
};
use super::{guards, owners, thread_sums};
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::MAX_THREADS;
use sched_nest::{Axis, GpuAxis, GpuDimension, GpuLevel};

/// Threads of a block in the launch that sets base values.
const BASE_THREADS: u32 = 256;

/// Turns the outermost mapped loops of a nest into launches. A nest without such loops stays unchanged.
///
/// # Errors
///
/// If the checker should have refused the nest: if walks or copies are outside all launches, if a block has
/// too many threads, or if threads cannot share a copy or sums.
pub fn separate_launches(mir: Mir) -> Result<Mir, CompileError> {
    if !any_mapped(&mir.body) {
        return Ok(mir);
    }
    let Mir { mut vars, body, uses, rows_per_run } = mir;
    let pass = LaunchBuilder { vars: &vars };
    let mut body = body.into_iter().map(|stmt| pass.host_stmt(stmt)).collect::<Result<Vec<_>, _>>()?;
    let is_base = |stmt: &MirStmt| matches!(stmt, MirStmt::Base(_));
    let from_base = body.iter().any(is_base) || seeded(Fault::GivenBaseIgnored);
    let starts_from_base = thread_sums::insert_thread_sums(&mut body, &vars, from_base);
    body.retain(|stmt| !(starts_from_base && is_base(stmt)));
    let body = body.into_iter().map(|stmt| base_launch(stmt, &mut vars)).collect::<Vec<_>>();
    Ok(Mir { vars, body, uses, rows_per_run })
}

/// Adds the guards of blocks and threads to each launch of a nest.
///
/// # Errors
///
/// If blocks or threads would add to the same sum at the same time.
pub fn guard_launches(mut mir: Mir) -> Result<Mir, CompileError> {
    if !any_mapped(&mir.body) {
        return Ok(mir);
    }
    add_guards(&mut mir.body, &mir.vars)?;
    Ok(mir)
}

/// Adds the guards of blocks and threads to each launch.
fn add_guards(stmts: &mut [MirStmt], vars: &[VarInfo]) -> Result<(), CompileError> {
    stmts.iter_mut().try_for_each(|stmt| match stmt {
        MirStmt::Launch(launch) => {
            let pass = LaunchBuilder { vars };
            let mut body =
                guard_unmapped(std::mem::take(&mut launch.body), &used_dimensions(launch), &mut Vec::new());
            owners::check_conflicts(&body, vars)?;
            pass.keep_first_block(&body, &mut launch.grid);
            pass.remove_exact_guards(&mut body, launch);
            launch.body = guards::place_guards(body, vars);
            Ok(())
        }
        other => other.inside_mut().into_iter().try_for_each(|body| add_guards(body, vars)),
    })
}

/// Dimensions in which a launch may have more than one block or thread.
fn used_dimensions(launch: &MirLaunch) -> Vec<GpuDimension> {
    let axes = [GpuAxis::X, GpuAxis::Y, GpuAxis::Z];
    let grid = axes.iter().filter(|axis| !launch.grid[axis_index(**axis)].is_empty());
    let block = axes.iter().filter(|axis| launch.block[axis_index(**axis)] > 1);
    let of = |level| move |axis: &GpuAxis| GpuDimension { level, axis: *axis };
    grid.map(of(GpuLevel::Grid)).chain(block.map(of(GpuLevel::Block))).collect()
}

/// Turns a [`MirStmt::Base`] into a separate launch, in which each thread sets the sums of one row.
fn base_launch(stmt: MirStmt, vars: &mut Vec<VarInfo>) -> MirStmt {
    let MirStmt::Base(_) = stmt else { return stmt };
    let threads = i64::from(BASE_THREADS);
    let mut var = |name: &str, most: Option<i64>, step: i64| {
        vars.push(VarInfo { name: name.to_string(), axis: Axis::Row, least: 0, most, step });
        Var(vars.len() as u32 - 1)
    };
    let (block, thread) = (var("base.block", None, threads), var("base.thread", Some(threads - 1), 1));
    let end = |limit, less| Bound { limit, less };
    let blocks =
        Iter { var: block, start: 0, step: threads, stops: vec![end(Minuend::Rows, Affine::default())] };
    let stops = vec![end(Minuend::Const(threads), Affine::default()), end(Minuend::Rows, Affine::var(block))];
    let rows = Iter { var: thread, start: 0, step: 1, stops };
    let row = Affine::var(block).with(thread);
    let mapped = |level, needs_guard, iter, body| {
        let dimension = GpuDimension { level, axis: GpuAxis::X };
        let mode = LoopMode::Mapped(GpuMapping { dimension, needs_guard });
        MirStmt::Loop(MirLoop { iter, mode, reduce: None, walks: WalkRange::default(), body })
    };
    let base = MirStmt::Base(Window { base: row, low: 0, high: Some(1) });
    let inner = mapped(GpuLevel::Block, true, rows, vec![base]);
    MirStmt::Launch(MirLaunch {
        name: "base".to_string(),
        grid: [vec![blocks.clone()], Vec::new(), Vec::new()],
        block: [BASE_THREADS, 1, 1],
        walks: WalkRange::default(),
        body: vec![mapped(GpuLevel::Grid, false, blocks, vec![inner])],
        last_block: None,
    })
}

/// Blocks and threads that a launch needs.
#[derive(Default)]
struct Extents {
    grid: [Vec<Iter>; 3],
    block: [i64; 3],
}

fn axis_index(axis: GpuAxis) -> usize {
    match axis {
        GpuAxis::X => 0,
        GpuAxis::Y => 1,
        GpuAxis::Z => 2,
    }
}

struct LaunchBuilder<'a> {
    vars: &'a [VarInfo],
}

impl LaunchBuilder<'_> {
    fn info(&self, var: Var) -> &VarInfo {
        &self.vars[var.0 as usize]
    }

    /// Converts a statement of the host. Its loops, and so its launches, run one after the other.
    fn host_stmt(&self, stmt: MirStmt) -> Result<MirStmt, CompileError> {
        let all = |pass: &Self, body: Vec<MirStmt>| {
            body.into_iter().map(|stmt| pass.host_stmt(stmt)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match stmt {
            MirStmt::Loop(this) if matches!(this.mode, LoopMode::Mapped(_)) => {
                MirStmt::Launch(self.launch(this)?)
            }
            MirStmt::Loop(mut this) => {
                this.body = all(self, this.body)?;
                MirStmt::Loop(this)
            }
            MirStmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| Ok((value, all(self, body)?)));
                MirStmt::Case(var, arms.collect::<Result<_, CompileError>>()?)
            }
            MirStmt::Walks(walks) => {
                let name = &self.info(walks.iter.var).name;
                let message = format!("the walks of `{name}` are outside all launches");
                return Err(CompileError::ill_formed(message));
            }
            MirStmt::CacheRows(_) | MirStmt::CacheTrees(_) => {
                return Err(CompileError::ill_formed("a copy is outside all launches"));
            }
            MirStmt::Private(mut private) => {
                private.body = all(self, private.body)?;
                MirStmt::Private(private)
            }
            other @ (MirStmt::Base(_)
            | MirStmt::When(..)
            | MirStmt::ThreadSums(_)
            | MirStmt::ShareTrees(_)
            | MirStmt::Launch(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_)) => other,
        })
    }

    /// Builds the launch of an outermost mapped loop.
    fn launch(&self, this: MirLoop) -> Result<MirLaunch, CompileError> {
        let (name, walks) = (self.name(this.iter.var), this.walks.clone());
        let body = vec![MirStmt::Loop(this)];
        let mut extents = Extents { grid: Default::default(), block: [1; 3] };
        self.extents(&body, &mut Vec::new(), &mut extents)?;
        let block = extents.block.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
        let threads = extents.block.iter().fold(1, |all: i64, extent| all.saturating_mul(*extent));
        if threads > i64::from(MAX_THREADS) {
            let message = format!("blocks of `{name}` have {threads} threads, more than {MAX_THREADS}");
            return Err(CompileError::ill_formed(message));
        }
        let body = SharedCopies { vars: self.vars, block, threads: Vec::new() }.all(body)?;
        Ok(MirLaunch { name, grid: extents.grid, block, walks, body, last_block: None })
    }

    /// Name of a loop as a C identifier.
    fn name(&self, var: Var) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        self.info(var).name.chars().map(plain).collect()
    }

    /// Collects the extents of the mapped loops in some statements of a launch. `inside` are the variables of
    /// the launch's loops around the statements.
    fn extents(
        &self,
        stmts: &[MirStmt],
        inside: &mut Vec<Var>,
        extents: &mut Extents,
    ) -> Result<(), CompileError> {
        for stmt in stmts {
            match stmt {
                MirStmt::Loop(this) => {
                    if let LoopMode::Mapped(mapping) = this.mode {
                        self.extent(this, mapping.dimension, inside, extents)?;
                    }
                    inside.push(this.iter.var);
                    self.extents(&this.body, inside, extents)?;
                    inside.pop();
                }
                MirStmt::Case(_, arms) => {
                    arms.iter().try_for_each(|(_, body)| self.extents(body, inside, extents))?;
                }
                MirStmt::CacheRows(copy) => self.extents(&copy.body, inside, extents)?,
                MirStmt::ShareTrees(copy) => self.extents(&copy.body, inside, extents)?,
                MirStmt::Private(private) => self.extents(&private.body, inside, extents)?,
                MirStmt::When(_, body) => self.extents(body, inside, extents)?,
                MirStmt::ThreadSums(sums) => self.extents(&sums.body, inside, extents)?,
                MirStmt::Walks(_)
                | MirStmt::Base(_)
                | MirStmt::CacheTrees(_)
                | MirStmt::Zero(..)
                | MirStmt::ZeroAll(_)
                | MirStmt::Fold(_)
                | MirStmt::Launch(_) => {}
            }
        }
        Ok(())
    }

    fn extent(
        &self,
        this: &MirLoop,
        dimension: GpuDimension,
        inside: &[Var],
        extents: &mut Extents,
    ) -> Result<(), CompileError> {
        let at = axis_index(dimension.axis);
        match dimension.level {
            GpuLevel::Grid => {
                let longest = self.with_upper_bounds(&this.iter, inside);
                if !extents.grid[at].contains(&longest) {
                    extents.grid[at].push(longest);
                }
            }
            GpuLevel::Block => {
                let trips = this
                    .iter
                    .most_trips(self.vars)
                    .ok_or_else(|| unknown_threads(&self.info(this.iter.var).name))?;
                extents.block[at] = extents.block[at].max(trips);
            }
        }
        Ok(())
    }

    /// Ensures that the grid has a first block if only that block runs some statement, even if all
    /// mapped loops are empty.
    fn keep_first_block(&self, stmts: &[MirStmt], grid: &mut [Vec<Iter>; 3]) {
        for stmt in stmts {
            match stmt {
                MirStmt::When(guards, body) => {
                    for guard in guards {
                        if let Guard::First(GpuDimension { level: GpuLevel::Grid, axis }) = guard {
                            self.keep_one_block(&mut grid[axis_index(*axis)]);
                        }
                    }
                    self.keep_first_block(body, grid);
                }
                MirStmt::Loop(this) => self.keep_first_block(&this.body, grid),
                MirStmt::Case(_, arms) => arms.iter().for_each(|(_, body)| self.keep_first_block(body, grid)),
                MirStmt::CacheRows(copy) => self.keep_first_block(&copy.body, grid),
                MirStmt::ShareTrees(copy) => self.keep_first_block(&copy.body, grid),
                MirStmt::Private(private) => self.keep_first_block(&private.body, grid),
                MirStmt::ThreadSums(sums) => self.keep_first_block(&sums.body, grid),
                _ => {}
            }
        }
    }

    /// Adds a loop with one iteration to the loops of a dimension, if all of these may be empty.
    fn keep_one_block(&self, loops: &mut Vec<Iter>) {
        if loops.iter().all(|iter| self.may_be_empty(iter))
            && let Some(first) = loops.first()
        {
            let stops = vec![Bound { limit: Minuend::Const(1), less: Affine::default() }];
            loops.push(Iter { start: 0, step: 1, stops, ..first.clone() });
        }
    }

    /// Whether the loop may have no iteration, depending on the number of rows or on other variables.
    fn may_be_empty(&self, iter: &Iter) -> bool {
        let constant = |stop: &Bound| match stop.limit {
            Minuend::Const(end) if stop.less.vars.is_empty() => Some(end - stop.less.plus),
            _ => None,
        };
        !iter.stops.iter().all(|stop| constant(stop).is_some_and(|end| end > iter.start))
    }

    /// The loop with its ends replaced by upper bounds that hold for all values of the variables in `inside`.
    fn with_upper_bounds(&self, iter: &Iter, inside: &[Var]) -> Iter {
        let mut longest = iter.clone();
        for stop in &mut longest.stops {
            let (known, outside): (Vec<Var>, _) = stop.less.vars.iter().partition(|var| inside.contains(var));
            stop.less.vars = outside;
            stop.less.plus += known.iter().map(|var| self.info(*var).least).sum::<i64>();
        }
        longest
    }

    /// Removes the guards of loops that have exactly as many iterations as there are blocks or threads.
    fn remove_exact_guards(&self, stmts: &mut [MirStmt], launch: &MirLaunch) {
        for stmt in stmts {
            match stmt {
                MirStmt::Loop(this) => {
                    let exact = |dimension: GpuDimension| self.is_exact(&this.iter, dimension, launch);
                    if let LoopMode::Mapped(mapping) = &mut this.mode {
                        mapping.needs_guard = !exact(mapping.dimension);
                    }
                    self.remove_exact_guards(&mut this.body, launch);
                }
                MirStmt::Case(_, arms) => {
                    arms.iter_mut().for_each(|(_, body)| self.remove_exact_guards(body, launch))
                }
                MirStmt::CacheRows(copy) => self.remove_exact_guards(&mut copy.body, launch),
                MirStmt::ShareTrees(copy) => self.remove_exact_guards(&mut copy.body, launch),
                MirStmt::Private(private) => self.remove_exact_guards(&mut private.body, launch),
                MirStmt::ThreadSums(sums) => self.remove_exact_guards(&mut sums.body, launch),
                MirStmt::When(_, body) => self.remove_exact_guards(body, launch),
                _ => {}
            }
        }
    }

    fn is_exact(&self, iter: &Iter, dimension: GpuDimension, launch: &MirLaunch) -> bool {
        let at = axis_index(dimension.axis);
        match dimension.level {
            GpuLevel::Grid => launch.grid[at].as_slice() == std::slice::from_ref(iter),
            GpuLevel::Block => {
                let constant = |stop: &Bound| stop.limit != Minuend::Rows && stop.less.vars.is_empty();
                iter.stops.iter().all(constant)
                    && iter.most_trips(self.vars) == Some(i64::from(launch.block[at]))
            }
        }
    }
}

fn unknown_threads(name: &str) -> CompileError {
    CompileError::ill_formed(format!("the number of threads of `{name}` is not known"))
}
