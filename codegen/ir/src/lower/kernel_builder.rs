//! A kernel under construction.

use super::ports::Ports;
use super::scope::{InScope, Scope};
use crate::lir::{Build, Builder, Place};
use crate::mir::Var;

/// A kernel under construction: where statements go, what it reads and writes, and what is in scope.
pub struct KernelBuilder<'a> {
    /// Statements go where it stands.
    pub b: Builder,
    /// The buffers of the call and of the model.
    pub ports: &'a Ports<'a>,
    /// What is in scope.
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
        let on_device = ports.lowering.place() == Place::Device;
        KernelBuilder { b, ports, scope: Scope::default(), on_device, threads: None }
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
