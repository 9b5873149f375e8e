//! Proves that barriers, fences, tickets and products of matrices are in uniform control flow: all threads of
//! a block reach them, or none.
//!
//! A value is *varying* if threads of one block may compute different values for it. Thread numbers vary, and
//! so do loads from memory that threads write, and results of varying operands. Values that leave divergent
//! control flow vary, too. All other values are uniform, and so is control flow under uniform conditions.

use super::check_result::{CheckResult, ensure, value_name};
use crate::lir::{Block, Carried, Function, Launch, Op, Space, Stmt, Value};
use sched_nest::GpuLevel;

/// Checks that barriers and shared memory are in uniform control flow.
pub(super) fn check(function: &Function, launch: &Launch) -> CheckResult {
    let mut uniformity = Uniformity { function, varying: vec![false; function.types.len()], changed: true };
    // Loops pass values back to their start, so marking repeats until no value is added.
    while std::mem::take(&mut uniformity.changed) {
        uniformity.block(&launch.body);
    }
    uniformity.barriers(&launch.body, None)
}

struct Uniformity<'f> {
    function: &'f Function,
    varying: Vec<bool>,
    changed: bool,
}

impl Uniformity<'_> {
    fn varies(&self, value: Value) -> bool {
        self.varying[value.0 as usize]
    }

    fn mark(&mut self, value: Value, varies: bool) {
        let known = &mut self.varying[value.0 as usize];
        self.changed |= varies && !*known;
        *known |= varies;
    }

    /// Marks the varying values of a block.
    fn block(&mut self, block: &Block) {
        for stmt in block {
            match stmt {
                Stmt::Let(value, op) => self.mark(*value, self.result_varies(op)),
                Stmt::For(stmt) => {
                    let divergent = self.varies(stmt.lo) || self.varies(stmt.hi);
                    self.mark(stmt.iv, self.varies(stmt.lo));
                    self.enter(&stmt.carried);
                    self.block(&stmt.body);
                    self.leave(&stmt.carried, divergent);
                }
                Stmt::While(stmt) => {
                    self.enter(&stmt.carried);
                    self.block(&stmt.test);
                    self.block(&stmt.body);
                    self.leave(&stmt.carried, self.varies(stmt.cond));
                }
                Stmt::If(stmt) => {
                    self.block(&stmt.then);
                    self.block(&stmt.otherwise);
                    for j in &stmt.joined {
                        let arms = self.varies(j.then) || self.varies(j.otherwise);
                        self.mark(j.after, arms || self.varies(stmt.cond));
                    }
                }
                Stmt::Alloc(stmt) => self.block(&stmt.body),
                Stmt::Store(..)
                | Stmt::StoreMasked(..)
                | Stmt::AtomicAdd(..)
                | Stmt::Prefetch(_)
                | Stmt::Parallel(_)
                | Stmt::Launch(_)
                | Stmt::Barrier
                | Stmt::Fence
                | Stmt::Product(_)
                // One thread takes the ticket for all.
                | Stmt::Ticket(_) => {}
            }
        }
    }

    /// Marks carried values inside a loop, which vary if the first or the next value does.
    fn enter(&mut self, carried: &[Carried]) {
        for c in carried {
            self.mark(c.inside, self.varies(c.first) || self.varies(c.next));
        }
    }

    /// Marks carried values after a loop. They vary if threads leave the loop after different numbers
    /// of iterations.
    fn leave(&mut self, carried: &[Carried], divergent: bool) {
        self.enter(carried);
        for c in carried {
            self.mark(c.after, divergent || self.varies(c.inside));
        }
    }

    fn result_varies(&self, op: &Op) -> bool {
        let written =
            |space| matches!(space, Space::Output | Space::Private | Space::Shared | Space::Counters);
        let mut varies = match op {
            Op::Id(dimension) => dimension.level == GpuLevel::Block,
            op => op.buffer().is_some_and(|buffer| written(self.function.buffer(buffer).space)),
        };
        op.for_each_value(|value| varies |= self.varies(value));
        varies
    }

    /// Refuses barriers inside control flow that the varying value `divergent` decides.
    fn barriers(&self, block: &Block, divergent: Option<Value>) -> CheckResult {
        let by = |value: &Value| self.varies(*value).then_some(*value);
        let uniform = |what: &str| {
            ensure(divergent.is_none(), || {
                let decides = divergent.map_or_else(String::new, value_name);
                format!(
                    "{what} is in divergent control flow: {decides} differs between the threads of a block"
                )
            })
        };
        block.iter().try_for_each(|stmt| match stmt {
            Stmt::Barrier => uniform("a barrier"),
            Stmt::Fence => uniform("a fence"),
            Stmt::Ticket(_) => uniform("a ticket"),
            Stmt::Product(product) => {
                uniform("a product of matrices")?;
                // All threads compute the same sums, apart from their own numbers.
                let mut same = product.values().filter(|value| *value != product.thread);
                ensure(same.all(|value| !self.varies(value)), || {
                    "the threads of a block compute different products of matrices".to_owned()
                })
            }
            Stmt::Alloc(stmt) => {
                if self.function.buffer(stmt.buffer).space == Space::Shared {
                    uniform("shared memory")?;
                }
                self.barriers(&stmt.body, divergent)
            }
            Stmt::For(stmt) => self.barriers(&stmt.body, divergent.or(by(&stmt.lo)).or(by(&stmt.hi))),
            Stmt::While(stmt) => {
                let inside = divergent.or(by(&stmt.cond));
                self.barriers(&stmt.test, inside)?;
                self.barriers(&stmt.body, inside)
            }
            Stmt::If(stmt) => {
                let inside = divergent.or(by(&stmt.cond));
                self.barriers(&stmt.then, inside)?;
                self.barriers(&stmt.otherwise, inside)
            }
            _ => Ok(()),
        })
    }
}
