//! A kernel under construction.

use super::output::Formula;
use super::ports::{Ports, Results};
use super::scope::{InScope, Scope};
use crate::lir::{BufferId, Build, Builder, Origin, ProcessorKind, Task, Value};
use crate::mir::Var;

/// A kernel under construction, with its builder, its buffers and its scope.
pub struct KernelBuilder<'a> {
    /// Statements go where it stands.
    pub b: Builder,
    /// The buffers of the call and of the model.
    pub ports: &'a Ports<'a>,
    /// Variables, copies and sums in scope.
    pub scope: Scope,
    /// Whether memory is a device's, which only launches work on.
    pub on_device: bool,
    /// The threads of a block of the launch that is being made.
    pub threads: Option<[u32; 3]>,
}

impl Build for KernelBuilder<'_> {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }
}

impl<'a> KernelBuilder<'a> {
    /// A kernel with nothing in scope.
    pub fn new(b: Builder, ports: &'a Ports<'a>) -> KernelBuilder<'a> {
        let on_device = ports.lowering.place() == ProcessorKind::Device;
        KernelBuilder { b, ports, scope: Scope::default(), on_device, threads: None }
    }

    /// Value to store for a complete sum: the sum, or the prediction that it becomes.
    pub fn finished(&mut self, buffer: BufferId, sum: Value) -> Value {
        if self.ports.results != Results::Predictions || buffer != self.ports.out {
            return sum;
        }
        let output = &self.ports.lowering.hir.forest.output;
        let mut formula = Formula { element: self.ports.accumulator, b: &mut self.b };
        let margin = formula.all(&output.raw, sum, 0);
        formula.all(&output.value, margin, 0)
    }

    /// Attributes the code of `body` to the loop of a variable.
    pub fn for_loop_of(&mut self, var: Var, body: impl FnOnce(&mut Self)) {
        let name = self.ports.lowering.mir.vars.get(var.0 as usize).map(|info| info.name.clone());
        let around = self.b.origin();
        let name = name.unwrap_or_else(|| around.name.clone());
        let outer = self.b.enter(Origin { name, task: Task::Iterations, ..around });
        body(self);
        self.b.leave(outer);
    }

    /// Attributes the code of `body` to a task of the enclosing loop.
    pub fn doing<R>(&mut self, task: Task, body: impl FnOnce(&mut Self) -> R) -> R {
        let around = self.b.origin();
        let outer = self.b.enter(Origin { task, ..around });
        let result = body(self);
        self.b.leave(outer);
        result
    }

    /// Runs `body` with a variable in scope.
    pub fn with_var(&mut self, var: Var, bound: InScope, body: impl FnOnce(&mut Self)) {
        let outer = self.scope.vars.insert(var, bound);
        body(self);
        match outer {
            Some(outer) => self.scope.vars.insert(var, outer),
            None => self.scope.vars.remove(&var),
        };
    }
}
