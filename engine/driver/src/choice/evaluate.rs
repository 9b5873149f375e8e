//! The costs of calls under candidates.

use super::candidate::Candidate;
use super::layers::{LayerTile, trees_beside_layers};
use super::sizes::is_anchor;
use crate::compile::compile;
use crate::model::Model;
use crate::schedule::{ScheduleSource, ScheduleValues};
use sched_cost::{KernelCall, Machine, MarginsKernel, ModelShape, fits_code_cache};
use sched_ir::lir::{Module, OutputKind};
use sched_lang::diagnostics::Severity;
use sched_lang::{CheckPurpose, check};
use sched_nest::{ModelInfo, Nest, Variants};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Candidates with vectors narrower than registers are only for calls of at most this many rows per byte of a
/// register. Longer calls fill wide vectors.
const MOST_ROWS_PER_REGISTER_BYTE: usize = 2;

/// Candidates are priced at a size between anchors if their cost, interpolated, is at most this many times
/// the least one. Interpolated costs are up to a quarter too low or too high at sizes that begin a further
/// vector. The other candidates keep the interpolated cost, and cannot be the cheapest.
const CONTENDER_RATIO: f64 = 1.6;

/// A candidate with the costs of calls under it. Its code is not kept.
#[derive(Clone)]
pub struct PricedCandidate {
    /// The candidate.
    pub candidate: Candidate,
    /// Cycles of a call of each size, in the order of the priced sizes. Infinite for sizes above `max_rows`.
    /// Interpolated at sizes between anchors if other candidates are much cheaper there.
    pub costs: Vec<f64>,
    /// Most rows of a call under a candidate for few rows, whose vectors are narrower than registers.
    pub max_rows: Option<usize>,
    /// Operations of its kernel, to which compile time is proportional.
    pub operations: usize,
}

impl PricedCandidate {
    /// Cycles of a call of the size with index `size`; infinite if there is no such size.
    pub fn cost(&self, size: usize) -> f64 {
        self.costs.get(size).copied().unwrap_or(f64::INFINITY)
    }
}

/// A candidate with its code.
pub struct CandidateCode {
    candidate: Candidate,
    max_rows: Option<usize>,
    /// Whether rows arrive column-major and the kernel reads them so, without a transposition.
    column_major: bool,
    module: Module,
}

/// Cycles of calls with a candidate's code, and numbers of that code.
#[derive(Clone)]
struct Prices {
    max_rows: Option<usize>,
    operations: usize,
    /// Cycles of a call, by the number of its rows.
    costs: BTreeMap<usize, f64>,
}

/// Compiles a model with candidates, and predicts the cycles of calls by the cost model. Prices each
/// candidate once at each size, even if several destinations consider it.
pub struct Evaluator<'a> {
    pub(super) model: &'a Model,
    pub(super) machine: &'a Machine,
    shape: ModelShape,
    info: Arc<ModelInfo>,
    /// The prices of each candidate; `None` if the model cannot be compiled under it.
    prices: Mutex<HashMap<Candidate, Option<Prices>>>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of candidates for a model on a machine.
    pub fn new(model: &'a Model, machine: &'a Machine) -> Evaluator<'a> {
        let (shape, info) = (ModelShape::of(model.forest()), model.info());
        Evaluator { model, machine, shape, info, prices: Mutex::default() }
    }

    /// The text of a candidate for the model.
    pub fn text(&self, candidate: &Candidate) -> String {
        candidate.text(&self.info.stages)
    }

    /// Candidates that differ in one number, in the layout, or in the tile of layers.
    pub fn neighbours(&self, candidate: &Candidate) -> Vec<Candidate> {
        let mut all = candidate.neighbours();
        let rows = candidate.vector_rows().and_then(|rows| u32::try_from(rows).ok());
        let tiles = LayerTile::around(candidate.layers, rows, &self.info, self.machine);
        all.extend(tiles.into_iter().map(|layers| Candidate { layers, ..*candidate }));
        all
    }

    /// The candidates that the model can be compiled under, in their order, with the costs of calls of
    /// `sizes` rows. Several threads compile. All candidates are priced at the anchors among the sizes. In
    /// between, only candidates are priced that may be the cheapest, also in comparison with `rivals`, which
    /// were priced at the same sizes.
    pub fn price_all(
        &self,
        sizes: &[usize],
        candidates: &[Candidate],
        rivals: &[PricedCandidate],
    ) -> Vec<PricedCandidate> {
        let anchors = |one: &Candidate| -> Vec<usize> {
            sizes.iter().copied().filter(|size| is_anchor(*size, self.own_anchor(one))).collect()
        };
        self.price_in_parallel(&candidates.iter().map(|one| (*one, anchors(one))).collect::<Vec<_>>());
        let interpolated: Vec<PricedCandidate> =
            candidates.iter().filter_map(|one| self.priced(one, sizes, |_| false)).collect();
        let least: Vec<f64> = (0..sizes.len())
            .map(|at| {
                rivals.iter().chain(&interpolated).map(|one| one.cost(at)).fold(f64::INFINITY, f64::min)
            })
            .collect();
        let contends = |one: &PricedCandidate, at: usize| {
            least
                .get(at)
                .is_some_and(|least| one.cost(at).is_finite() && one.cost(at) <= CONTENDER_RATIO * least)
        };
        let contended = |one: &PricedCandidate| -> Vec<usize> {
            sizes.iter().enumerate().filter(|(at, _)| contends(one, *at)).map(|(_, size)| *size).collect()
        };
        let contested: Vec<(Candidate, Vec<usize>)> =
            interpolated.iter().map(|one| (one.candidate, contended(one))).collect();
        self.price_in_parallel(&contested);
        let priced = contested
            .iter()
            .filter_map(|(one, contended)| self.priced(one, sizes, |size| contended.contains(&size)));
        priced.collect()
    }

    /// A number of rows at which this candidate is priced in addition to the common anchors: the rows of a
    /// vector, if it has layers. Layers cost as much for a vector of rows as for one row, so the cost per row
    /// falls up to that number, and is level from there on.
    fn own_anchor(&self, candidate: &Candidate) -> Option<usize> {
        trees_beside_layers(&self.info.stages).and_then(|_| candidate.vector_rows())
    }

    /// The candidates that the model can be compiled under, with the costs of calls of one size.
    pub fn price_one_size(&self, rows: usize, candidates: &[Candidate]) -> Vec<PricedCandidate> {
        self.price_in_parallel(&candidates.iter().map(|one| (*one, vec![rows])).collect::<Vec<_>>());
        candidates.iter().filter_map(|one| self.priced(one, &[rows], |_| true)).collect()
    }

    /// Prices candidates, each at its sizes.
    fn price_in_parallel(&self, wanted: &[(Candidate, Vec<usize>)]) {
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(wanted.len());
        let work = || {
            while let Some((candidate, sizes)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.price(candidate, sizes);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // If the system has no other thread, this one does all the work.
                let _handle = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// Prices a candidate at the sizes for which it has no price yet.
    fn price(&self, candidate: &Candidate, sizes: &[usize]) {
        let before = self.prices.lock().ok().and_then(|prices| prices.get(candidate).cloned());
        let mut prices = match before {
            Some(None) => return,
            Some(Some(prices)) if sizes.iter().all(|size| prices.costs.contains_key(size)) => return,
            Some(prices) => prices,
            None => None,
        };
        if let Some(code) = self.compile(candidate).filter(|code| self.is_worth_running(code)) {
            let costs = self.costs(Some(&code));
            let prices = prices.get_or_insert_with(|| Prices {
                max_rows: code.max_rows,
                operations: code.module.kernels.iter().map(|(_, kernel)| kernel.types.len()).sum(),
                costs: BTreeMap::new(),
            });
            for size in sizes {
                prices.costs.entry(*size).or_insert_with(|| costs(*size));
            }
        }
        if let Ok(mut all) = self.prices.lock() {
            all.insert(*candidate, prices);
        }
    }

    /// A candidate with its costs: computed ones at anchors and at sizes for which `is_exact` holds,
    /// otherwise interpolated.
    fn priced(
        &self,
        candidate: &Candidate,
        sizes: &[usize],
        is_exact: impl Fn(usize) -> bool,
    ) -> Option<PricedCandidate> {
        let all = self.prices.lock().ok()?;
        let Prices { max_rows, operations, costs } = all.get(candidate)?.as_ref()?;
        let own = self.own_anchor(candidate);
        let is_anchor = |size: usize| is_anchor(size, own);
        let anchors: Vec<(usize, f64)> =
            costs.iter().filter(|(size, _)| is_anchor(**size)).map(|(size, cost)| (*size, *cost)).collect();
        let cost = |size: usize| {
            let known = costs.get(&size).filter(|_| is_anchor(size) || is_exact(size));
            known.copied().unwrap_or_else(|| match max_rows.is_none_or(|most| size <= most) {
                true => interpolated(&anchors, size),
                false => f64::INFINITY,
            })
        };
        let costs = sizes.iter().map(|size| cost(*size)).collect();
        Some(PricedCandidate { candidate: *candidate, costs, max_rows: *max_rows, operations: *operations })
    }

    /// Whether the code fits the instruction cache, if many vectors of walks advance together.
    fn is_worth_running(&self, code: &CandidateCode) -> bool {
        let mut kernels = code.module.kernels.iter();
        !code.candidate.may_exceed_instruction_cache()
            || kernels.all(|(_, kernel)| fits_code_cache(kernel, self.machine))
    }

    /// Compiles the model with a candidate. `None` if that fails.
    pub fn compile(&self, candidate: &Candidate) -> Option<CandidateCode> {
        let few = MOST_ROWS_PER_REGISTER_BYTE * self.machine.register_bits as usize / 8;
        let text = self.text(candidate);
        let (nest, max_rows) = match self.nest(&text, None) {
            Some(nest) => (nest, None),
            None => (self.nest(&text, Some(few))?, Some(few)),
        };
        let module = compile(self.model, Variants::only(nest), &[OutputKind::Raw], self.machine).ok()?.lir;
        let column_major = self.model.is_column_major && module.least_column_rows.is_some();
        Some(CandidateCode { candidate: *candidate, max_rows, column_major, module })
    }

    /// Cycles of a call by its rows. Infinite without code, and if the candidate is not for calls of this
    /// size.
    pub fn costs<'c>(&'c self, code: Option<&'c CandidateCode>) -> impl Fn(usize) -> f64 + 'c {
        let kernel = code.and_then(|code| Some((code, MarginsKernel::new(&code.module, self.machine)?)));
        move |rows| match &kernel {
            Some((code, kernel)) if code.max_rows.is_none_or(|most| rows <= most) => {
                kernel
                    .cost(KernelCall {
                        rows,
                        threads: 1,
                        column_major: code.column_major,
                        shape: &self.shape,
                    })
                    .cycles
            }
            _ => f64::INFINITY,
        }
    }

    /// The nest of a text, for all calls or for those of at most `max_rows` rows. `None` if the text is
    /// illegal, or deserves a warning, such as lanes without trees.
    fn nest(&self, text: &str, max_rows: Option<usize>) -> Option<Nest> {
        let options = sched_lang::CheckOptions {
            purpose: CheckPurpose::Compile,
            vector_bits: Some(self.machine.register_bits),
            ..ScheduleSource::options(Some(self.model), &ScheduleValues::default())
        };
        let whole = max_rows.map(|most| format!("when n_rows <= {most} {{\n{text}}}\n"));
        let checked = check(whole.as_deref().unwrap_or(text), &options);
        let warned = checked.diagnostics.iter().any(|diagnostic| diagnostic.severity >= Severity::Warning);
        Some(checked.nests.filter(|_| !warned)?.into_for_rows(1))
    }
}

/// The cost of a call of `rows` rows between sizes with known costs, in ascending order: a power of the rows
/// that equals the known costs on both sides. Beyond them it is proportional to the rows. Infinite if no cost
/// is known.
fn interpolated(known: &[(usize, f64)], rows: usize) -> f64 {
    let known =
        || known.iter().filter(|(_, cost)| cost.is_finite()).map(|(size, cost)| (*size as f64, *cost));
    let rows = rows as f64;
    let below = known().rfind(|(size, _)| *size <= rows);
    let above = known().find(|(size, _)| *size > rows);
    match (below, above) {
        (Some((few, least)), Some((many, most))) => {
            least * (most / least).powf((rows / few).ln() / (many / few).ln())
        }
        (Some((size, cost)), None) | (None, Some((size, cost))) => cost * rows / size,
        (None, None) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_between_sizes_follow_a_power_of_the_rows() {
        let known = [(1, 10.0), (16, 10.0), (64, 40.0), (1024, f64::INFINITY)];
        let costs = [1, 4, 16, 32, 64, 1024, 6400].map(|rows| interpolated(&known, rows));
        let expected = [10.0, 10.0, 10.0, 20.0, 40.0, 640.0, 4000.0];
        assert!(
            costs.iter().zip(expected).all(|(cost, expected)| (cost - expected).abs() < 1e-9),
            "{costs:?}"
        );
        assert_eq!(interpolated(&known[..0], 4), f64::INFINITY);
        assert_eq!(interpolated(&known[2..], 16), 10.0);
    }
}
