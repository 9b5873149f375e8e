//! Kernels prepared for estimates.

use super::costs::OperationCosts;
use super::reuse::LoadAddresses;
use crate::machine::Machine;
use sched_ir::lir::{Function, Module};

/// A function with the data that estimates of all call sizes share.
pub struct PreparedKernel<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) machine: &'a Machine,
    pub(super) costs: OperationCosts,
    pub(super) loads: LoadAddresses,
}

impl<'a> PreparedKernel<'a> {
    /// Prepares a function of a module for estimates on a machine.
    pub fn new(module: &'a Module, function: &'a Function, machine: &'a Machine) -> PreparedKernel<'a> {
        let (costs, loads) = (OperationCosts::new(function, machine), LoadAddresses::new(function));
        PreparedKernel { module, function, machine, costs, loads }
    }

    /// The machine.
    pub fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// The function.
    pub fn function(&self) -> &'a Function {
        self.function
    }
}
