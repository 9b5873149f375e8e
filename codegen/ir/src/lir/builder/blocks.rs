//! Statements with blocks: loops, branches, launches and temporary memory.

use super::{Builder, unused};
use crate::lir::{
    Alloc, Block, BufferId, For, Launch, Parallel, Scalar, Space, Stmt, Value, WalkSteps, While,
};

/// Structured statements. Bodies are closures over the owner of the builder, so that a lowering pass
/// can keep its own state beside it.
pub trait BuildStmts: Sized {
    /// The builder.
    fn builder(&mut self) -> &mut Builder;

    /// Collects the statements that `body` appends.
    fn nested<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> (Block, R) {
        self.builder().open_block();
        let result = body(self);
        (self.builder().close_block(), result)
    }

    /// A counted loop. `body` gets the counter and the carried values, and returns the values for the
    /// next iteration. The result is the values after the loop.
    fn for_loop(
        &mut self,
        (lo, hi, step): (Value, Value, i64),
        first: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let index = self.builder().index();
        let iv = self.builder().fresh(index);
        self.builder().record_loop(iv, (lo, hi, step));
        let inside = self.builder().fresh_like(first);
        let (block, next) = self.nested(|b| body(b, iv, &inside));
        let b = self.builder();
        let carried = b.carry(first, &inside, &next);
        let after = carried.iter().map(|c| c.after).collect();
        b.push(Stmt::For(Box::new(For { iv, lo, hi, step, carried, body: block })));
        after
    }

    /// A loop with a test, for walks with these step counts. `test` returns the condition, `body` the
    /// carried values for the next iteration.
    fn while_loop(
        &mut self,
        walk_steps: WalkSteps,
        first: &[Value],
        test: impl FnOnce(&mut Self, &[Value]) -> Value,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let inside = self.builder().fresh_like(first);
        let (test, cond) = self.nested(|b| test(b, &inside));
        let (block, next) = self.nested(|b| body(b, &inside));
        let b = self.builder();
        let carried = b.carry(first, &inside, &next);
        let after = carried.iter().map(|c| c.after).collect();
        b.push(Stmt::While(Box::new(While { carried, walk_steps, test, cond, body: block })));
        after
    }

    /// A branch. Both arms return the values that the result joins.
    fn if_else(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Self) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        match self.builder().as_int(cond) {
            Some(0) => return otherwise(self),
            Some(_) => return then(self),
            None => {}
        }
        let (then, a) = self.nested(then);
        let (otherwise, b) = self.nested(otherwise);
        self.builder().branch(cond, (then, &a), (otherwise, &b))
    }

    /// Runs `body` if the condition holds.
    fn when(&mut self, cond: Value, body: impl FnOnce(&mut Self)) {
        let then = |b: &mut Self| {
            body(b);
            Vec::new()
        };
        self.if_else(cond, then, |_| Vec::new());
    }

    /// Parallel iterations; `body` gets the iteration number.
    fn parallel(&mut self, trip: Value, body: impl FnOnce(&mut Self, Value)) {
        let index = self.builder().index();
        let iv = self.builder().fresh(index);
        let (block, ()) = self.nested(|b| body(b, iv));
        self.builder().push(Stmt::Parallel(Box::new(Parallel { iv, trip, body: block })));
    }

    /// Code of a GPU: `body` appends the statements of a thread. A name in use gets a number.
    fn launch(&mut self, name: &str, grid: [Value; 3], block: [u32; 3], body: impl FnOnce(&mut Self)) {
        let (body, ()) = self.nested(body);
        let registers = self.builder().registers.take();
        self.builder().shared_bytes = 0;
        let launches = &mut self.builder().launches;
        let name = unused(name, |name| launches.iter().any(|taken| taken == name));
        launches.push(name.clone());
        self.builder().push(Stmt::Launch(Box::new(Launch { name, grid, block, registers, body })));
    }

    /// Allocates temporary memory for `body`. Inside a launch, each thread has its own.
    fn alloc(&mut self, name: &str, element: Scalar, bytes: Value, body: impl FnOnce(&mut Self, BufferId)) {
        self.alloc_in(Space::Private, name, element, bytes, body);
    }

    /// Allocates temporary memory in the given space for `body`.
    fn alloc_in(
        &mut self,
        space: Space,
        name: &str,
        element: Scalar,
        bytes: Value,
        body: impl FnOnce(&mut Self, BufferId),
    ) {
        let buffer = self.builder().buffer(name, space, element);
        self.builder().count_shared_bytes(space, bytes);
        let (block, ()) = self.nested(|b| body(b, buffer));
        self.builder().push(Stmt::Alloc(Box::new(Alloc { buffer, bytes, body: block })));
    }
}

impl BuildStmts for Builder {
    fn builder(&mut self) -> &mut Builder {
        self
    }
}
