//! Divides work between the threads of a launch: cooperative copies, and statements for one block or
//! thread.

use super::mapped::any_mapped;
use super::{Affine, CacheTrees, GpuMapping, Guard, LoopMode, MirStmt, ShareTrees, Var, VarInfo};
use crate::error::CompileError;
use sched_nest::{GpuDimension, GpuLevel};

/// Turns the copies of rows and trees in a launch into cooperative ones, which all threads of a block make
/// together. Copies of rows must be outside the loops over threads, so that every thread of the block reaches
/// them.
pub(super) struct SharedCopies<'a> {
    pub(super) vars: &'a [VarInfo],
    pub(super) block: [u32; 3],
    /// Enclosing variables that differ between the threads of a block.
    pub(super) threads: Vec<Var>,
}

impl SharedCopies<'_> {
    pub(super) fn all(&mut self, stmts: Vec<MirStmt>) -> Result<Vec<MirStmt>, CompileError> {
        let mut done = Vec::with_capacity(stmts.len());
        let mut rest = stmts.into_iter();
        while let Some(stmt) = rest.next() {
            if let MirStmt::CacheTrees(trees) = stmt {
                // All later statements of the loop walk the copies.
                let body = self.all(rest.collect())?;
                let trees = self.of_block(trees);
                done.push(MirStmt::ShareTrees(ShareTrees { trees, threads: self.block, body }));
                return Ok(done);
            }
            done.push(self.stmt(stmt)?);
        }
        Ok(done)
    }

    fn stmt(&mut self, stmt: MirStmt) -> Result<MirStmt, CompileError> {
        Ok(match stmt {
            MirStmt::CacheRows(copy) if !self.threads.is_empty() || copy.window.high.is_none() => {
                return Err(CompileError::ill_formed(
                    "a single thread caches rows, or an unbounded number of rows is cached",
                ));
            }
            MirStmt::CacheRows(mut copy) => {
                copy.shared = Some(self.block);
                copy.body = self.all(copy.body)?;
                MirStmt::CacheRows(copy)
            }
            MirStmt::Loop(mut this) => {
                let around = self.threads.len();
                let threads = |mapping: GpuMapping| mapping.dimension.level == GpuLevel::Block;
                if matches!(this.mode, LoopMode::Mapped(mapping) if threads(mapping)) {
                    self.threads.push(this.iter.var);
                }
                this.body = self.all(this.body)?;
                self.threads.truncate(around);
                MirStmt::Loop(this)
            }
            MirStmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| Ok((value, self.all(body)?)));
                MirStmt::Case(var, arms.collect::<Result<_, CompileError>>()?)
            }
            MirStmt::Private(mut private) => {
                private.body = self.all(private.body)?;
                MirStmt::Private(private)
            }
            other => other,
        })
    }

    /// The union of the trees that the threads of a block walk.
    fn of_block(&self, trees: CacheTrees) -> CacheTrees {
        let (own, shared): (Vec<Var>, _) = trees.from.vars.iter().partition(|var| self.threads.contains(var));
        let info = |var: &Var| &self.vars[var.0 as usize];
        let least: i64 = own.iter().map(|var| info(var).least).sum();
        let more = own.iter().map(|var| info(var).most.map_or(i64::MAX, |most| most - info(var).least));
        let count = more.fold(trees.count, i64::saturating_add);
        CacheTrees { from: Affine { vars: shared, plus: trees.from.plus + least }, count, ..trees }
    }
}

/// Restricts statements to the first block or thread of each dimension that no enclosing loop is mapped to.
/// Otherwise all blocks and threads would run them. `used` are the dimensions with several blocks or threads,
/// `covered` those that enclosing loops are mapped to.
pub(super) fn guard_unmapped(
    stmts: Vec<MirStmt>,
    used: &[GpuDimension],
    covered: &mut Vec<GpuDimension>,
) -> Vec<MirStmt> {
    let mut done = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if !is_shared(&stmt) {
            let missing: Vec<GpuDimension> =
                used.iter().copied().filter(|dimension| !covered.contains(dimension)).collect();
            done.push(guard_first(missing, stmt));
            continue;
        }
        done.push(match stmt {
            MirStmt::Loop(mut this) => {
                let before = covered.len();
                if let LoopMode::Mapped(mapping) = this.mode {
                    covered.push(mapping.dimension);
                }
                this.body = guard_unmapped(this.body, used, covered);
                covered.truncate(before);
                MirStmt::Loop(this)
            }
            MirStmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| (value, guard_unmapped(body, used, covered)));
                MirStmt::Case(var, arms.collect())
            }
            MirStmt::CacheRows(mut copy) => {
                copy.body = guard_unmapped(copy.body, used, covered);
                MirStmt::CacheRows(copy)
            }
            MirStmt::ShareTrees(mut copy) => {
                copy.body = guard_unmapped(copy.body, used, covered);
                MirStmt::ShareTrees(copy)
            }
            MirStmt::Private(mut private) => {
                let blocks = |dimension: &&GpuDimension| dimension.level == GpuLevel::Grid;
                let missing: Vec<GpuDimension> =
                    used.iter().filter(blocks).copied().filter(|one| !covered.contains(one)).collect();
                let before = covered.len();
                covered.extend(&missing);
                let mut body = Vec::with_capacity(private.body.len());
                for stmt in private.body {
                    match stmt {
                        MirStmt::ZeroAll(_) | MirStmt::Fold(_) => body.push(stmt),
                        stmt => body.extend(guard_unmapped(vec![stmt], used, covered)),
                    }
                }
                private.body = body;
                covered.truncate(before);
                guard_first(missing, MirStmt::Private(private))
            }
            other => other,
        });
    }
    done
}

/// Restricts a statement to the first block or thread of each of some dimensions.
fn guard_first(dimensions: Vec<GpuDimension>, stmt: MirStmt) -> MirStmt {
    let guards: Vec<Guard> = dimensions.into_iter().map(Guard::First).collect();
    if guards.is_empty() { stmt } else { MirStmt::When(guards, vec![stmt]) }
}

/// Whether several threads take part in a statement.
fn is_shared(stmt: &MirStmt) -> bool {
    let any = |body: &[MirStmt]| body.iter().any(is_shared);
    match stmt {
        MirStmt::CacheRows(copy) => copy.shared.is_some(),
        MirStmt::Private(private) => private.shared,
        MirStmt::ShareTrees(_) => true,
        MirStmt::Loop(this) => matches!(this.mode, LoopMode::Mapped(_)) || any(&this.body),
        MirStmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body)),
        other => any_mapped(std::slice::from_ref(other)),
    }
}
