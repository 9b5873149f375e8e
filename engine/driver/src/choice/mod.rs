//! The schedules that are used where none is given: of some candidates, those that the cost model finds cheapest.
//!
//! [`candidates`] are schedules that differ in what walks: rows or trees, in the lanes of vectors or one by one, over each
//! layout. Each is lowered, and [`sched_cost`] says what calls of several sizes cost under it. The cheapest ones become the
//! schedule's blocks, which end where the curves of their costs cross (`crossings`).

pub mod candidates;
mod crossings;
mod evaluate;
pub mod gpu;
mod one_call;

pub use candidates::{Candidate, Form, Layout};
pub use crossings::crossing;
pub use evaluate::{Priced, price_all};

use crate::machines;
use crate::model::Model;
use candidates::{Candidates, Known};
use crossings::Crossings;
use sched_cost::Machine;
use sched_forest::SetTests;
use sched_ir::quantize::BinMap;
use sched_llvm::Cpu;
use sched_nest::{ModelInfo, Variants};

/// Rows of the calls whose costs are compared.
pub const SIZES: [usize; 14] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024, 16_384];

/// Good schedules for a model, as the texts that the user could have written.
pub struct Chosen {
    /// For each number of rows.
    pub variants: Variants<String>,
    /// The rows of the only call that they are for.
    pub one_call: Option<usize>,
}

/// Where compiled code and its tables go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeDestination {
    /// Into memory, for one call of so many rows: it counts how long compiling takes.
    OneCall(usize),
    /// Into memory, where it is not known how many rows there will be.
    Memory,
    /// Into a file: what takes longer to compile pays.
    Artefact,
}

impl Chosen {
    /// The schedules for a model on a processor.
    pub fn new(model: &Model, cpu: Cpu, destination: CodeDestination) -> Chosen {
        Chosen::on(model, &machines::of(cpu), destination)
    }

    /// The schedules for a model on a machine.
    pub fn on(model: &Model, machine: &Machine, destination: CodeDestination) -> Chosen {
        let only = |text: String, one_call| Chosen { variants: Variants::only(text), one_call };
        if let CodeDestination::OneCall(rows) = destination {
            return only(one_call::cheapest(model, machine, rows).text(), Some(rows));
        }
        let priced = Chosen::considered(model, machine, destination);
        if priced.is_empty() {
            return only(candidates::plain().text(), None);
        }
        Chosen { variants: Crossings { priced: &priced, model, machine }.variants(), one_call: None }
    }

    /// The candidates for a model, with what calls cost under them.
    pub fn considered(model: &Model, machine: &Machine, destination: CodeDestination) -> Vec<Priced> {
        let facts = model.facts();
        let bins = BinMap::rows_of(&model.forest, tested(&facts));
        let known = Known { model: &facts, bins: bins.as_ref(), machine, destination };
        let candidates = Candidates::of(&known);
        let mut priced = evaluate::price_all(model, machine, &SIZES, candidates.first());
        // The best layouts are tried in more shapes.
        let costs: Vec<_> = priced.iter().map(|one| (&one.candidate, one.costs.as_slice())).collect();
        let more = candidates.more(&costs);
        priced.extend(evaluate::price_all(model, machine, &SIZES, more));
        priced
    }

    /// The schedule as the user could have written it: for most calls, and in blocks for those of few rows.
    pub fn text(&self) -> String {
        self.text_for(None)
    }

    /// The same with a line that says what it is for.
    pub fn text_for(&self, target: Option<&str>) -> String {
        let target = target.map_or_else(String::new, |target| format!("target {target}\n\n"));
        let call = match self.one_call {
            Some(1) => " for one call of 1 row".to_string(),
            Some(rows) => format!(" for one call of {rows} rows"),
            None => String::new(),
        };
        let mut all = format!("// chosen by schedc{call}\n{target}{}", self.variants.rest());
        for few in self.variants.bounded() {
            all += &format!("\nwhen n_rows <= {} {{\n", few.max_rows);
            all.extend(few.value.lines().map(|line| format!("    {line}\n")));
            all += "}\n";
        }
        all
    }
}

/// How sets of categories are tested in the layouts that are considered.
fn tested(facts: &ModelInfo) -> SetTests {
    if facts.class_features > 0 { SetTests::OfClasses } else { SetTests::OfColumns }
}
