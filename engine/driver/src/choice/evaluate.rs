//! The costs of calls under candidates.

use super::candidate::Candidate;
use crate::compile::compile;
use crate::model::Model;
use crate::schedule::{ScheduleValues, Source};
use sched_cost::{Call, Facts, Machine, cost, fits_code_cache};
use sched_ir::lir::{KernelKind, Module};
use sched_lang::diagnostics::Severity;
use sched_lang::{Supported, check};
use sched_nest::{Nest, Variants};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Candidates with vectors narrower than registers are only for calls of at most this many rows per byte of a
/// register. Longer calls fill wide vectors.
const FEW_REGISTERS: usize = 2;

/// A candidate with the costs of calls under it. Its code is not kept.
#[derive(Clone)]
pub struct Priced {
    /// The candidate.
    pub candidate: Candidate,
    /// Cycles of a call of each size, in the order in which the sizes were given. Infinite for sizes that it
    /// is not for.
    pub costs: Vec<f64>,
    /// Most rows of a call under a candidate for few rows, whose vectors are narrower than registers.
    pub max_rows: Option<usize>,
    /// Operations of its kernel, to which compile time is proportional.
    pub operations: usize,
}

/// A candidate with its code.
pub struct CandidateCode {
    candidate: Candidate,
    max_rows: Option<usize>,
    /// Whether rows arrive column-major and the kernel reads them so, without a transposition.
    columns: bool,
    module: Module,
}

/// Prices by the candidate and the sizes of calls; `None` for candidates that the model has no code under.
type Prices = HashMap<(Candidate, Vec<usize>), Option<Priced>>;

/// Compiles a model with candidates, and predicts the cycles of calls by the cost model. Prices each
/// candidate once, even if several destinations consider it.
pub struct Evaluator<'a> {
    pub(super) model: &'a Model,
    pub(super) machine: &'a Machine,
    facts: Facts,
    prices: Mutex<Prices>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of candidates for a model on a machine.
    pub fn new(model: &'a Model, machine: &'a Machine) -> Evaluator<'a> {
        Evaluator { model, machine, facts: Facts::of(model.forest()), prices: Mutex::default() }
    }

    /// The candidates that the model can be compiled under, in their order, with the costs of calls of
    /// `sizes` rows. Several threads compile.
    pub fn price_all(&self, sizes: &[usize], candidates: Vec<Candidate>) -> Vec<Priced> {
        let next = AtomicUsize::new(0);
        let priced = Mutex::new(Vec::new());
        let workers =
            std::thread::available_parallelism().map_or(1, usize::from).min(candidates.len().max(1));
        let work = || {
            while let Some((number, candidate)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, candidates.get(n)?)))
            {
                let one = self.price(sizes, candidate);
                if let (Some(one), Ok(mut priced)) = (one, priced.lock()) {
                    priced.push((number, one));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // If the system has no other thread, this one does all the work.
                let _handle = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut priced = priced.into_inner().unwrap_or_default();
        priced.sort_by_key(|(number, _)| *number);
        priced.into_iter().map(|(_, one)| one).collect()
    }

    fn price(&self, sizes: &[usize], candidate: &Candidate) -> Option<Priced> {
        let key = (*candidate, sizes.to_vec());
        if let Some(price) = self.prices.lock().ok().and_then(|prices| prices.get(&key).cloned()) {
            return price;
        }
        let price = self.new_price(sizes, candidate);
        if let Ok(mut prices) = self.prices.lock() {
            prices.insert(key, price.clone());
        }
        price
    }

    fn new_price(&self, sizes: &[usize], candidate: &Candidate) -> Option<Priced> {
        let code = self.compile(candidate)?;
        let kernels = &code.module.kernels;
        if candidate.is_long() && !kernels.iter().all(|(_, kernel)| fits_code_cache(kernel, self.machine)) {
            return None;
        }
        Some(Priced {
            candidate: *candidate,
            costs: sizes.iter().map(|rows| self.cost(&code, *rows)).collect(),
            max_rows: code.max_rows,
            operations: kernels.iter().map(|(_, kernel)| kernel.types.len()).sum(),
        })
    }

    /// Compiles the model with a candidate. `None` if that fails.
    pub fn compile(&self, candidate: &Candidate) -> Option<CandidateCode> {
        let few = FEW_REGISTERS * self.machine.register_bits as usize / 8;
        let text = candidate.text();
        let (nest, max_rows) = match self.nest(&text, None) {
            Some(nest) => (nest, None),
            None => (self.nest(&text, Some(few))?, Some(few)),
        };
        let module = compile(self.model, Variants::only(nest), &[KernelKind::Raw], self.machine).ok()?.lir;
        let columns = self.model.by_columns && module.columns_from.is_some();
        Some(CandidateCode { candidate: *candidate, max_rows, columns, module })
    }

    /// Cycles of a call of `rows` rows. Infinite if the candidate is not for calls of this size.
    pub fn cost(&self, code: &CandidateCode, rows: usize) -> f64 {
        if code.max_rows.is_some_and(|most| rows > most) || rows < code.candidate.least_rows() {
            return f64::INFINITY;
        }
        let call = Call { rows, threads: 1, columns: code.columns, facts: &self.facts };
        cost(&code.module, self.machine, call).map_or(f64::INFINITY, |cost| cost.cycles)
    }

    /// The nest of a text, for all calls or for those of at most `max_rows` rows. `None` if the text is
    /// illegal, or deserves a warning, such as lanes without trees.
    fn nest(&self, text: &str, max_rows: Option<usize>) -> Option<Nest> {
        let options = sched_lang::Options {
            supported: Supported::Compilable,
            vector_bits: Some(self.machine.register_bits),
            ..Source::options(Some(self.model), &ScheduleValues::default())
        };
        let whole = max_rows.map(|most| format!("when n_rows <= {most} {{\n{text}}}\n"));
        let checked = check(whole.as_deref().unwrap_or(text), &options);
        let warned = checked.diagnostics.iter().any(|diagnostic| diagnostic.severity >= Severity::Warning);
        Some(checked.nests.filter(|_| !warned)?.into_for_rows(1))
    }
}
