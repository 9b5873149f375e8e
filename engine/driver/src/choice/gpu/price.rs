//! Costs of calls under schedules for GPUs.

use crate::compile::{compile, gpu_of};
use crate::failure::Failure;
use crate::machines;
use crate::model::Model;
use sched_cost::{GpuCost, GpuMachine, cost_on};
use sched_ir::lir::OutputKind;
use sched_lang::Target;
use sched_llvm::Cpu;
use sched_nest::{ModelInfo, Nest, Variants};

/// Whether the code generator accepts a nest for a model.
pub fn is_compilable(model: &Model, nest: Nest) -> bool {
    let host = machines::of(Cpu::default());
    compile(model, Variants::only(nest), &[OutputKind::Raw], &host).is_ok()
}

/// Estimates the costs of calls of a model on a GPU.
pub struct Pricer<'a> {
    model: &'a ModelInfo,
    gpu: GpuMachine,
}

impl<'a> Pricer<'a> {
    /// A pricer for a model and the GPU that a target names.
    ///
    /// # Errors
    ///
    /// When the cost model has no figures for the GPU.
    pub fn new(model: &'a ModelInfo, target: &Target) -> Result<Pricer<'a>, Failure> {
        let name = gpu_of(target)?.to_string();
        let gpu = GpuMachine::named(&name).ok_or_else(|| {
            Failure::usage(
                format!("the cost model has no figures for {name}, only for GPUs of NVIDIA"),
                "name a GPU of NVIDIA, such as --target 'gpu(sm_90)', or time schedules with `schedc bench`",
            )
        })?;
        Ok(Pricer { model, gpu })
    }

    /// A pricer for a model on the GPU that a target names. Uses the figures of a common GPU if the cost
    /// model has none for that one.
    pub fn with_similar_gpu(model: &'a ModelInfo, target: &Target) -> Option<Pricer<'a>> {
        let named = gpu_of(target).ok().and_then(|gpu| GpuMachine::named(&gpu.to_string()));
        Some(Pricer { model, gpu: named.or_else(GpuMachine::fallback)? })
    }

    /// The device.
    pub fn gpu(&self) -> &GpuMachine {
        &self.gpu
    }

    /// The cost of a call of `rows` rows under a nest. `None` if the nest maps no loop.
    pub fn price(&self, nest: &Nest, rows: u64) -> Option<GpuCost> {
        cost_on(&self.gpu, self.model, nest, rows)
    }
}
