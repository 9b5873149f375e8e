//! Entrants: the distinct nests to time. Many texts have the same nest, which is timed once.

use crate::calls::Contender;
use crate::code::{CostPredictor, Draft, compile_all};
use sched_lang::Target;
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use schedc_driver::{Failure, Model};
use std::collections::{BTreeMap, BTreeSet};

/// Distinct nests, and their code.
#[derive(Default)]
pub struct Entrants {
    drafts: Vec<Draft>,
    /// The code of each entrant that was compiled, or the reason why there is none.
    code: BTreeMap<usize, Result<Contender, String>>,
    /// Predicted cycles of a call of each entrant.
    cycles: Vec<Option<f64>>,
}

impl Entrants {
    /// Adds a nest, if it is new. Returns the number of its entrant.
    pub fn enter(&mut self, nest: &Nest, target: &Target) -> usize {
        let is_it = |draft: &Draft| draft.nests.rest() == nest && draft.target == *target;
        self.drafts.iter().position(is_it).unwrap_or_else(|| {
            let nests = Variants::only(nest.clone());
            self.drafts.push(Draft { name: String::new(), nests, target: target.clone() });
            self.drafts.len() - 1
        })
    }

    /// Predicts the cycles of a call under each entrant by the cost model, without generating code. `calls`
    /// has the rows and the threads.
    pub fn predict(&mut self, model: &Model, cpu: Cpu, calls: (usize, usize)) {
        self.cycles = CostPredictor::new(model, cpu).cycles_of_all(model, &self.drafts, calls);
    }

    /// Predicted cycles of a call of an entrant; `None` without a prediction.
    pub fn predicted(&self, number: usize) -> Option<f64> {
        self.cycles.get(number).copied().flatten()
    }

    /// Compiles all entrants except the numbers in `skipped`.
    pub fn compile(&mut self, model: &Model, cpu: Cpu, skipped: &BTreeSet<usize>) {
        let wanted: Vec<usize> = (0..self.drafts.len()).filter(|number| !skipped.contains(number)).collect();
        let drafts: Vec<Draft> =
            wanted.iter().filter_map(|number| self.drafts.get(*number).cloned()).collect();
        let code = compile_all(model, cpu, &drafts);
        self.code = wanted
            .into_iter()
            .zip(code.into_iter().map(|result| result.map_err(|failure| reason(&failure))))
            .collect();
    }

    /// Numbers and code of the `wanted` entrants; entrants that did not compile are left out.
    pub fn contenders(&self, wanted: &[usize]) -> (Vec<usize>, Vec<Contender>) {
        let code = |number: &usize| Some((*number, self.code.get(number)?.as_ref().ok()?.clone()));
        wanted.iter().filter_map(code).unzip()
    }

    /// The reason why an entrant has no code.
    pub fn problem(&self, number: usize) -> Option<&str> {
        self.code.get(&number)?.as_ref().err().map(String::as_str)
    }
}

/// The reason of a failure, for a cell of a table.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => format!("{}: {}", diagnostic.code, diagnostic.message),
        Failure::Findings | Failure::Reported(_) => "it has errors".to_string(),
    }
}
