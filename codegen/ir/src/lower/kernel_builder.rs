//! A kernel under construction.

use super::ports::Ports;
use super::row_source::RowBuffer;
use super::scope::{InScope, Scope, WindowRows};
use super::sum_target::{CopiedSums, KeptSums, PrivateBuffer, SumTarget};
use crate::columns::code::ColumnCode;
use crate::lir::{BufferId, BuildStmts, Builder, Origin, ProcessorKind, Task, Value};
use crate::mir::{Accumulator, Affine, CacheId, Iter, PrivateId, SumDestination, Var, Window};
use crate::repr::{Buffers, Storage};

/// A kernel under construction: its builder, its buffers and its scope. The code of each statement is
/// in the file of its [`EmitStmt`].
pub struct KernelBuilder<'a> {
    /// Builder of the kernel's function.
    pub b: Builder,
    /// Buffers of the call and of the model.
    pub ports: &'a Ports<'a>,
    scope: Scope,
    on_device: bool,
    threads: Option<[u32; 3]>,
}

/// A statement of MIR with its code.
pub(super) trait EmitStmt {
    /// Emits the code of the statement.
    fn emit(&self, k: &mut KernelBuilder);
}

impl BuildStmts for KernelBuilder<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

impl<'a> KernelBuilder<'a> {
    /// A kernel with nothing in scope.
    pub fn new(b: Builder, ports: &'a Ports<'a>) -> KernelBuilder<'a> {
        let on_device = ports.lowering.processor() == ProcessorKind::Device;
        KernelBuilder { b, ports, scope: Scope::default(), on_device, threads: None }
    }

    /// Variables, copies and sums in scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether the kernel's memory is a device's, which only launches can access.
    pub fn is_on_device(&self) -> bool {
        self.on_device
    }

    /// Threads of a block in each dimension; `None` outside a launch.
    pub fn block_threads(&self) -> Option<[u32; 3]> {
        self.threads
    }

    /// The code of columns that each block of a launch computes from the call's rows. `None` if an earlier
    /// launch has computed them, if the kernel reads bins, or if the model has no computed columns.
    pub fn block_columns(&self) -> Option<ColumnCode<'a>> {
        let are_computed = self.ports.bins.is_some() || self.scope.device_columns().is_some();
        self.ports.column_code().filter(|_| !are_computed)
    }
}

/// Values of variables in scope.
impl KernelBuilder<'_> {
    /// Value of a sum of variables and a constant.
    pub fn affine(&mut self, sum: &Affine) -> Value {
        self.scope.affine(&mut self.b, sum)
    }

    /// Value of a variable.
    pub fn variable(&mut self, var: Var) -> Value {
        self.scope.value(&mut self.b, var)
    }

    /// Number of the current iteration of the loop with this variable.
    pub fn iteration(&mut self, var: Var) -> Value {
        self.scope.iteration(&mut self.b, var)
    }

    /// Exclusive end of a loop.
    pub fn loop_end(&mut self, iter: &Iter) -> Value {
        self.scope.loop_end(&mut self.b, iter)
    }

    /// Number of iterations of a loop, at least 0.
    pub fn trip(&mut self, iter: &Iter) -> Value {
        self.scope.trip(&mut self.b, iter)
    }

    /// Rows of a window.
    pub fn window(&mut self, window: &Window) -> WindowRows {
        self.scope.window(&mut self.b, window)
    }

    /// Number of values of a row in a copy of values.
    pub fn copied_columns(&self) -> i64 {
        if self.block_columns().is_some() { self.ports.tested_columns() } else { self.input_rows().1 }
    }

    /// Buffer and position of a target's sums.
    pub fn sums(&mut self, target: &SumDestination) -> SumTarget {
        self.scope.sums(&mut self.b, self.ports, target)
    }

    /// Index of the current row among the rows whose sums the thread keeps in registers, if it is known at
    /// compile time.
    pub fn kept_row(&self, accumulator: Accumulator) -> Option<i64> {
        self.scope.kept_row(&self.b, accumulator)
    }
}

/// Scopes around `body`, which end after it.
impl KernelBuilder<'_> {
    /// Attributes the code of `body` to the loop with this variable.
    pub fn attribute_to_loop(&mut self, var: Var, body: impl FnOnce(&mut Self)) {
        let name = self.ports.lowering.mir.vars.get(var.0 as usize).map(|info| info.name.clone());
        let around = self.b.origin();
        let name = name.unwrap_or_else(|| around.name.clone());
        let outer = self.b.enter_origin(Origin { name, task: Task::Iterations, stage: None, ..around });
        body(self);
        self.b.leave_origin(outer);
    }

    /// Attributes the code of `body` to a task of the enclosing loop.
    pub fn attribute_to_task<R>(&mut self, task: Task, body: impl FnOnce(&mut Self) -> R) -> R {
        let around = self.b.origin();
        let outer = self.b.enter_origin(Origin { task, stage: None, ..around });
        let result = body(self);
        self.b.leave_origin(outer);
        result
    }

    /// Runs `body` with a variable in scope.
    pub fn with_var(&mut self, var: Var, bound: InScope, body: impl FnOnce(&mut Self)) {
        let outer = self.scope.set_var(var, Some(bound));
        body(self);
        self.scope.set_var(var, outer);
    }

    /// Runs `body` with a copy of rows in scope.
    pub fn with_copy(&mut self, id: CacheId, copy: RowBuffer, body: impl FnOnce(&mut Self)) {
        self.scope.set_copy(id, Some(copy));
        body(self);
        self.scope.set_copy(id, None);
    }

    /// Runs `body` with columns in a device's memory, which walks and copies read in place of rows.
    pub fn with_device_columns(&mut self, columns: BufferId, body: impl FnOnce(&mut Self)) {
        self.scope.set_device_columns(Some(columns));
        body(self);
        self.scope.set_device_columns(None);
    }

    /// The buffer from which walks without a copy of rows load values, and the number of values of a row in
    /// it. Code that copies values to a GPU's shared memory loads them from there, too. The buffer holds the
    /// call's rows or, if an earlier launch on a GPU has computed columns from them, these columns.
    pub fn input_rows(&self) -> (BufferId, i64) {
        match self.scope.device_columns() {
            Some(columns) => (columns, self.ports.tested_columns()),
            None => (self.ports.rows, self.ports.features()),
        }
    }

    /// Runs `body` with a private buffer in scope.
    pub fn with_private(&mut self, id: PrivateId, buffer: PrivateBuffer, body: impl FnOnce(&mut Self)) {
        self.scope.set_private(id, Some(buffer));
        body(self);
        self.scope.set_private(id, None);
    }

    /// Runs `body` with copies of sums, to which walks add instead of the output.
    pub fn with_copied_sums(&mut self, sums: CopiedSums, body: impl FnOnce(&mut Self)) {
        let outer = self.scope.set_copied_sums(Some(sums));
        body(self);
        self.scope.set_copied_sums(outer);
    }

    /// Runs `body` with sums that the thread keeps in registers.
    pub fn with_kept_sums(&mut self, sums: KeptSums, body: impl FnOnce(&mut Self)) {
        let outer = self.scope.set_kept_sums(Some(sums));
        body(self);
        self.scope.set_kept_sums(outer);
    }

    /// Runs `body` with copies of trees, which replace the tables of their storages.
    pub fn with_trees<R>(
        &mut self,
        copies: impl IntoIterator<Item = (Storage, Buffers)>,
        body: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = self.scope.add_trees(copies);
        let result = body(self);
        self.scope.set_trees(outer);
        result
    }

    /// Runs `body` inside a launch with blocks of these threads.
    pub fn in_launch(&mut self, threads: [u32; 3], body: impl FnOnce(&mut Self)) {
        self.threads = Some(threads);
        body(self);
        self.threads = None;
    }
}
