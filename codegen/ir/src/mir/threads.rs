//! What the threads of a launch do together, and what only some of them do.

use super::mapped::{any_mapped, no_code_yet};
use super::{Guard, Mapping, Mode, Stmt};
use crate::error::CompileError;
use sched_nest::{GpuDimension, GpuLevel};

/// Makes the threads of a block copy rows together: all of them must come by, so that copies stand outside the loops over
/// threads.
pub(super) fn share(stmts: &mut [Stmt], block: [u32; 3], in_threads: bool) -> Result<(), CompileError> {
    stmts.iter_mut().try_for_each(|stmt| match stmt {
        Stmt::CacheRows(copy) if in_threads || copy.window.high.is_none() => {
            Err(no_code_yet("rows that are cached by single threads"))
        }
        Stmt::CacheRows(copy) => {
            copy.shared = Some(block);
            share(&mut copy.body, block, in_threads)
        }
        Stmt::Loop(this) => {
            let threads = |mapping: Mapping| mapping.dimension.level == GpuLevel::Block;
            let inside = in_threads || matches!(this.mode, Mode::Mapped(mapping) if threads(mapping));
            share(&mut this.body, block, inside)
        }
        Stmt::Case(_, arms) => arms.iter_mut().try_for_each(|(_, body)| share(body, block, in_threads)),
        Stmt::Private(private) => share(&mut private.body, block, in_threads),
        _ => Ok(()),
    })
}

/// Leaves to the first block or thread of a direction what stands in no loop that is mapped to it: the others come by, too.
/// `used` are the directions with several blocks or threads, `covered` those of the loops around.
pub(super) fn only_firsts(
    stmts: Vec<Stmt>,
    used: &[GpuDimension],
    covered: &mut Vec<GpuDimension>,
) -> Vec<Stmt> {
    let mut done = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if !is_shared(&stmt) {
            let missing: Vec<GpuDimension> =
                used.iter().copied().filter(|dimension| !covered.contains(dimension)).collect();
            done.push(only(missing, stmt));
            continue;
        }
        done.push(match stmt {
            Stmt::Loop(mut this) => {
                let before = covered.len();
                if let Mode::Mapped(mapping) = this.mode {
                    covered.push(mapping.dimension);
                }
                this.body = only_firsts(this.body, used, covered);
                covered.truncate(before);
                Stmt::Loop(this)
            }
            Stmt::Case(var, arms) => {
                let arms = arms.into_iter().map(|(value, body)| (value, only_firsts(body, used, covered)));
                Stmt::Case(var, arms.collect())
            }
            Stmt::CacheRows(mut copy) => {
                copy.body = only_firsts(copy.body, used, covered);
                Stmt::CacheRows(copy)
            }
            Stmt::Private(mut private) => {
                let blocks = |dimension: &&GpuDimension| dimension.level == GpuLevel::Grid;
                let missing: Vec<GpuDimension> =
                    used.iter().filter(blocks).copied().filter(|one| !covered.contains(one)).collect();
                let before = covered.len();
                covered.extend(&missing);
                let mut body = Vec::with_capacity(private.body.len());
                for stmt in private.body {
                    match stmt {
                        Stmt::ZeroAll(_) | Stmt::Fold(_) => body.push(stmt),
                        stmt => body.extend(only_firsts(vec![stmt], used, covered)),
                    }
                }
                private.body = body;
                covered.truncate(before);
                only(missing, Stmt::Private(private))
            }
            other => other,
        });
    }
    done
}

/// A statement for the first block or thread of some directions.
fn only(dimensions: Vec<GpuDimension>, stmt: Stmt) -> Stmt {
    let guards: Vec<Guard> = dimensions.into_iter().map(Guard::First).collect();
    if guards.is_empty() { stmt } else { Stmt::When(guards, vec![stmt]) }
}

/// Whether several threads take part in a statement.
fn is_shared(stmt: &Stmt) -> bool {
    let any = |body: &[Stmt]| body.iter().any(is_shared);
    match stmt {
        Stmt::CacheRows(copy) => copy.shared.is_some(),
        Stmt::Private(private) => private.shared,
        Stmt::Loop(this) => matches!(this.mode, Mode::Mapped(_)) || any(&this.body),
        Stmt::Case(_, arms) => arms.iter().any(|(_, body)| any(body)),
        other => any_mapped(std::slice::from_ref(other)),
    }
}
