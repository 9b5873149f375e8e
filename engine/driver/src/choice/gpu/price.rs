//! Costs of calls under schedules for GPUs, from the counts of the simulator.

use crate::compile::{compile, gpu_of};
use crate::failure::Failure;
use crate::machines;
use crate::model::Model;
use sched_cost::{GpuCall, GpuCost, GpuMachine, Machine, cost_on};
use sched_ir::lir::{KernelKind, Module, Scalar};
use sched_lang::Target;
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};

/// Most rows of the sample that are simulated. More rows take longer and change counts little.
const SAMPLED: usize = 1024;

/// Estimates the costs of calls of a model on a GPU.
pub struct Pricer<'a> {
    model: &'a Model,
    gpu: GpuMachine,
    /// The host's processor, whose code launches kernels.
    host: Machine,
    /// Row-major rows.
    sample: Vec<f64>,
    /// Steps of one row through all trees.
    steps: u64,
}

impl<'a> Pricer<'a> {
    /// A pricer for a model, the GPU that a target names, and a sample of rows.
    ///
    /// # Errors
    ///
    /// When the table `gpus!` has no costs of the GPU.
    pub fn new(model: &'a Model, target: &Target, mut sample: Vec<f64>) -> Result<Pricer<'a>, Failure> {
        let name = gpu_of(target)?.to_string();
        let gpu = GpuMachine::named(&name).ok_or_else(|| {
            Failure::usage(
                format!(
                    "what schedules cost on {name} is not known: there are figures for GPUs of NVIDIA alone"
                ),
                "name one of these, such as --target 'gpu(sm_90)', or time schedules with `schedc bench`",
            )
        })?;
        sample.truncate(SAMPLED * model.forest().num_features);
        let steps = model.facts().depths.iter().map(|depth| u64::from(*depth) + 1).sum();
        let host = machines::of(Cpu::default());
        Ok(Pricer { model, gpu, host, sample, steps })
    }

    /// The device.
    pub fn gpu(&self) -> &GpuMachine {
        &self.gpu
    }

    /// The cost of a call of `rows` rows under a nest. `None` if the nest cannot be compiled, maps no loop,
    /// or takes too long to simulate.
    pub fn price(&self, nest: Nest, rows: u64) -> Option<GpuCost> {
        let lanes = nest.loops.iter().filter_map(|one| one.annotations.vectorize).max();
        let module = compile(self.model, Variants::only(nest), &[KernelKind::Raw], &self.host).ok()?.lir;
        let (sample, row_bytes) = self.input(&module);
        let call = GpuCall {
            rows,
            sample: &sample,
            row_bytes,
            margins: self.model.forest().num_margins,
            steps: self.steps,
            together: lanes.map_or(1, |lanes| u64::from(lanes.clamp(1, 4))),
        };
        cost_on(&self.gpu, &module, &call)
    }

    /// The sample in the layout that the kernel reads, and the bytes of one row.
    fn input(&self, module: &Module) -> (Vec<u8>, usize) {
        let element = module.types.rows;
        let as_bytes = |values: &[f64]| -> Vec<u8> {
            match element {
                Scalar::F64 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
                _ => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
            }
        };
        let rows = self.sample.len() / self.model.forest().num_features.max(1);
        let bytes = match &module.columns {
            None => as_bytes(&self.sample),
            Some(columns) => as_bytes(&columns.rows(&self.sample)),
        };
        let row_bytes = bytes.len() / rows.max(1);
        (bytes, row_bytes)
    }
}
