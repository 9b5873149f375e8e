//! Contenders from checked schedules.

use crate::calls::Contender;
use crate::rows::RowOrder;
use sched_cost::{KernelCall, Machine, ModelShape, cost};
use sched_ir::lir::OutputKind;
use sched_lang::Target;
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use schedc_driver::compile::{RowRules, compile, compile_into_memory, entry_info, runs_on_device};
use schedc_driver::{Failure, Model, machines};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// A checked schedule that can be compiled to a contender.
#[derive(Clone)]
pub struct Draft {
    /// Its name in reports.
    pub name: String,
    /// Its nests. To time calls of one size, the nest for that size is enough and compiles faster.
    pub nests: Variants<Nest>,
    /// The target of the code.
    pub target: Target,
}

impl Draft {
    /// Compiles it. The code reports `text` as its schedule, which timings do not use.
    ///
    /// # Errors
    ///
    /// When the model does not go with the schedule, or LLVM fails.
    pub fn compile(self, model: &Model, cpu: Cpu, text: &str) -> Result<Contender, Failure> {
        let compiled = compile(model, self.nests, &[OutputKind::Raw], &machines::of(cpu))?;
        let about = entry_info(model, &compiled, text, cpu, RowRules::default());
        let code = compile_into_memory(&compiled, &self.target, cpu, &about, &[OutputKind::Raw])?;
        let on_device = runs_on_device(&compiled);
        Ok(Contender { name: self.name, code: Arc::new(code), order: RowOrder::Rows, on_device })
    }
}

/// Compiles many schedules, one thread per processor. Results are in the order of the schedules.
pub fn compile_all(model: &Model, cpu: Cpu, drafts: &[Draft]) -> Vec<Result<Contender, Failure>> {
    on_all_processors(drafts, |draft| draft.clone().compile(model, cpu, ""))
}

/// The cost model's predictions for calls of one model.
pub struct CostPredictor {
    shape: ModelShape,
    machine: Machine,
}

impl CostPredictor {
    /// Creates a predictor for a model and a processor.
    pub fn new(model: &Model, cpu: Cpu) -> CostPredictor {
        CostPredictor { shape: ModelShape::of(model.forest()), machine: machines::of(cpu) }
    }

    /// The cycles of a call, by its rows and threads; `None` for nests that do not compile or are for a GPU.
    pub fn predicted_cycles(
        &self,
        model: &Model,
        nests: Variants<Nest>,
        (rows, threads): (usize, usize),
    ) -> Option<f64> {
        let compiled = compile(model, nests, &[OutputKind::Raw], &self.machine).ok()?;
        let call = KernelCall { rows, threads, column_major: false, shape: &self.shape };
        let is_told = !runs_on_device(&compiled);
        is_told.then(|| cost(&compiled.lir, &self.machine, call)).flatten().map(|cost| cost.cycles)
    }

    /// [`predicted_cycles`](Self::predicted_cycles) of many schedules.
    pub fn cycles_of_all(&self, model: &Model, drafts: &[Draft], calls: (usize, usize)) -> Vec<Option<f64>> {
        on_all_processors(drafts, |draft| self.predicted_cycles(model, draft.nests.clone(), calls))
    }
}

/// Calls `each` with every schedule, on one thread per processor. Results are in the order of the schedules.
fn on_all_processors<R: Send>(drafts: &[Draft], each: impl Fn(&Draft) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let (at, Some(draft)) = take_draft(&next, drafts) {
            done.push((at, each(draft)));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(drafts.len());
    let mut all = std::thread::scope(|scope| {
        let spawn = |_| Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).ok();
        // If the system refuses more threads, this thread compiles the remainder.
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The stack of a thread that compiles, as large as that of a program's first thread.
const STACK_BYTES: usize = 8 << 20;

fn take_draft<'a>(next: &AtomicUsize, drafts: &'a [Draft]) -> (usize, Option<&'a Draft>) {
    let at = next.fetch_add(1, Ordering::Relaxed);
    (at, drafts.get(at))
}
