//! What calls cost under candidates.

use super::candidates::Candidate;
use crate::compile::compile;
use crate::model::Model;
use crate::schedule::{ScheduleValues, Source};
use sched_cost::{Call, Facts, Machine, cost, fits_code_cache};
use sched_ir::lir::{KernelKind, Module};
use sched_lang::diagnostics::Severity;
use sched_lang::{Supported, check};
use sched_nest::{Nest, Variants};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Registers whose bytes are as many as the rows of the calls that narrower vectors are for.
const FEW_VECTORS: usize = 2;

/// A candidate with what calls cost under it.
pub struct Priced {
    /// The candidate.
    pub candidate: Candidate,
    /// Cycles of a call of each of the numbers of rows that were asked for.
    pub costs: Vec<f64>,
    /// Most rows of the calls that it is for, if it is for few: its vectors are narrower than registers.
    pub max_rows: Option<usize>,
    /// Whether rows come as columns.
    columns: bool,
    /// Its code, for calls of other sizes.
    module: Module,
}

impl Priced {
    /// Cycles of a call of so many rows.
    pub fn cost(&self, machine: &Machine, facts: &Facts, rows: usize) -> f64 {
        if self.max_rows.is_some_and(|most| rows > most) || rows < self.candidate.least_rows() {
            return f64::INFINITY;
        }
        let call = Call { rows, threads: 1, columns: self.columns, facts };
        cost(&self.module, machine, call).map_or(f64::INFINITY, |cost| cost.cycles)
    }

    /// Operations of its kernels, which are what compiling takes time for.
    pub fn operations(&self) -> usize {
        self.module.kernels.iter().map(|(_, function)| function.types.len()).sum()
    }
}

/// Those of some candidates that the model can be compiled under, with their costs for calls of some sizes. Several are lowered
/// at a time.
pub fn price_all(
    model: &Model,
    machine: &Machine,
    sizes: &[usize],
    candidates: Vec<Candidate>,
) -> Vec<Priced> {
    let facts = Facts::of(&model.forest);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(candidates.len().max(1));
    let work = || {
        while let Some((number, candidate)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, candidates.get(n)?)))
        {
            let one = price((model, &facts), machine, sizes, *candidate);
            if let (Some(one), Ok(mut found)) = (one, found.lock()) {
                found.push((number, one));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // Without another thread this one does it all.
            let _handle = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, one)| one).collect()
}

fn price(
    (model, facts): (&Model, &Facts),
    machine: &Machine,
    sizes: &[usize],
    candidate: Candidate,
) -> Option<Priced> {
    let few = FEW_VECTORS * machine.register_bits as usize / 8;
    let (nest, max_rows) = match nest_of(model, machine, &candidate.text(), None) {
        Some(nest) => (nest, None),
        None => (nest_of(model, machine, &candidate.text(), Some(few))?, Some(few)),
    };
    let module = compile(model, Variants::only(nest), &[KernelKind::Raw], machine).ok()?.lir;
    if candidate.is_long() && !module.kernels.iter().all(|(_, function)| fits_code_cache(function, machine)) {
        return None;
    }
    let columns = model.by_columns && module.columns_from.is_some();
    let mut priced = Priced { candidate, costs: Vec::new(), max_rows, columns, module };
    priced.costs = sizes.iter().map(|rows| priced.cost(machine, facts, *rows)).collect();
    Some(priced)
}

/// The nest of a text, for all calls or for those of few rows. None if it is illegal, or if the user would be warned of it: lanes
/// without trees, for instance.
fn nest_of(model: &Model, machine: &Machine, text: &str, max_rows: Option<usize>) -> Option<Nest> {
    let options = sched_lang::Options {
        supported: Supported::Compilable,
        vector_bits: Some(machine.register_bits),
        ..Source::options(Some(model), &ScheduleValues::default())
    };
    let whole = max_rows.map(|most| format!("when n_rows <= {most} {{\n{text}}}\n"));
    let checked = check(whole.as_deref().unwrap_or(text), &options);
    let warned = checked.diagnostics.iter().any(|said| said.severity >= Severity::Warning);
    Some(checked.nests.filter(|_| !warned)?.into_for_rows(1))
}
