//! Cost and bounds of each loop of a nest: cycles from the cost model; sizes, lanes and threads from the
//! plan. The result is data, or the nest as text with remarks below its loops.

use crate::caches::{Caches, bytes_text};
use sched_cost::{Breakdown, KernelCall, Limit, Machine, ModelShape, OriginCycles, breakdown};
use sched_ir::lir::{Module, Task};
use sched_ir::plan::WalkPlan;
use sched_ir::{Compiled, Stages};
use sched_nest::show::show_nest;
use sched_nest::sym::{Property, Sym};
use sched_nest::{Axis, Body, Loop, LoopId, Nest};
use schedc_driver::Model;
use serde::Serialize;
use std::collections::BTreeMap;

/// The calls for which bounds are computed.
#[derive(Clone, Copy, Debug)]
pub struct CallSize {
    /// Rows of a call.
    pub rows: u64,
    /// Largest number of threads of a call.
    pub threads: u64,
}

/// The cost of calls of a schedule, by loop. `docs/speed.md` documents the fields of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostExplanation {
    /// Cycles per row.
    pub cycles_per_row: f64,
    /// Microseconds per row.
    pub us_per_row: f64,
    /// The loops, from the outermost on.
    pub loops: Vec<LoopBounds>,
    /// The work outside of all loops.
    pub outside: Vec<PieceBounds>,
}

/// A loop of the nest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopBounds {
    /// The loop's name.
    pub name: String,
    /// Share of the call's time, with the loops inside.
    pub share: f64,
    /// Cycles per row.
    pub cycles_per_row: f64,
    /// The loop's pieces of work, without the loops inside.
    pub pieces: Vec<PieceBounds>,
    /// Sentences about caches, idle lanes and idle threads.
    pub remarks: Vec<String>,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PieceBounds {
    /// The kind of work: `iterations`, `copies`, `sums` or `columns`.
    pub task: &'static str,
    /// The stage whose results the columns are; `None` for other columns and other work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Its share of the time.
    pub share: f64,
    /// Cycles per row.
    pub cycles_per_row: f64,
    /// The limits that bound its time, the largest share first.
    pub limits: Vec<LimitShare>,
}

/// A limit, with its share of the time of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitShare {
    /// The name of the limit.
    pub limit: &'static str,
    /// Its share in the piece.
    pub share: f64,
}

/// Smallest share of a call's time at which the text lists a piece of work.
const MIN_SHOWN_SHARE: f64 = 0.01;
/// Smallest share of a piece of work at which remarks name a limit.
const MIN_NAMED_SHARE: f64 = 0.3;

/// The cost of calls, and the bounds of the loops; `None` without code from rows to margins.
pub fn explain_cost(
    model: &Model,
    compiled: &Compiled,
    machine: &Machine,
    calls: CallSize,
    caches: &Caches,
) -> Option<CostExplanation> {
    let stages = compiled.variants.rest();
    let machine = caches.applied_to(machine);
    let breakdown = call_breakdown(&compiled.lir, &ModelShape::of(model.forest()), &machine, calls)?;
    let context = BoundsContext { stages, calls, caches, machine: &machine, breakdown: &breakdown };
    let nest = &stages.hir.nest;
    let (mut loops, mut path) = (Vec::new(), Vec::new());
    nest.roots.iter().for_each(|root| {
        context.visit(nest, *root, &mut path, &mut loops);
    });
    let cycles_per_row = breakdown.cost.cycles / calls.rows.max(1) as f64;
    let us_per_row = cycles_per_row / machine.ghz / 1000.0;
    Some(CostExplanation { cycles_per_row, us_per_row, loops, outside: context.pieces("") })
}

fn call_breakdown(
    module: &Module,
    shape: &ModelShape,
    machine: &Machine,
    calls: CallSize,
) -> Option<Breakdown> {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let (rows, threads) = (number(calls.rows), number(calls.threads));
    breakdown(module, machine, KernelCall { rows, threads, column_major: false, shape })
}

/// The nest with the remarks on each loop below it.
pub fn nest_with_remarks(nest: &Nest, explained: &CostExplanation) -> String {
    let mut remarks: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in &explained.loops {
        let lines = remarks.entry(&one.name).or_default();
        lines.extend(one.pieces.iter().filter(|piece| piece.share >= MIN_SHOWN_SHARE).map(PieceBounds::text));
        lines.extend(one.remarks.iter().cloned());
    }
    // Remarks are found by names of loops over trees. Loops of other stages may have the same names.
    let trees = show_nest(&Nest { stages: Vec::new(), ..nest.clone() });
    let whole = show_nest(nest);
    let mut text = whole.strip_suffix(&trees).unwrap_or_default().to_owned();
    for line in trees.lines() {
        text += &format!("{line}\n");
        let indent = line.len() - line.trim_start().len() + 2;
        let name = line.trim_start().strip_prefix("for ").and_then(|rest| rest.split(' ').next());
        for remark in name.and_then(|name| remarks.get(name)).into_iter().flatten() {
            text += &format!("{:indent$}| {remark}\n", "");
        }
    }
    for piece in explained.outside.iter().filter(|piece| piece.share >= MIN_SHOWN_SHARE) {
        text += &format!("outside of the loops: {}\n", piece.text());
    }
    text
}

impl PieceBounds {
    /// The piece as a line.
    fn text(&self) -> String {
        let task = match (self.task, &self.stage) {
            ("copies", _) => "copies of rows: ".to_owned(),
            ("sums", _) => "sums: ".to_owned(),
            ("columns", None) => "columns: ".to_owned(),
            ("columns", Some(stage)) => format!("{stage}: "),
            _ => String::new(),
        };
        let named = self.limits.iter().enumerate();
        let named = named.filter(|(at, limit)| *at == 0 || limit.share >= MIN_NAMED_SHARE);
        let limits: Vec<&str> = named.map(|(_, limit)| limit.limit).collect();
        let (share, cycles) = (100.0 * self.share, self.cycles_per_row);
        format!("{task}{share:.0}% of the time, {cycles:.1} cycles a row, bound by {}", limits.join(" and "))
    }
}

struct BoundsContext<'a> {
    stages: &'a Stages,
    calls: CallSize,
    caches: &'a Caches,
    machine: &'a Machine,
    breakdown: &'a Breakdown,
}

impl BoundsContext<'_> {
    /// Adds the bounds of a loop and of the loops inside, and returns their share of the time.
    fn visit<'n>(
        &self,
        nest: &'n Nest,
        id: LoopId,
        path: &mut Vec<&'n Loop>,
        loops: &mut Vec<LoopBounds>,
    ) -> f64 {
        let Some(this) = nest.loops.get(id.0 as usize) else { return 0.0 };
        path.push(this);
        let (at, name, pieces) = (loops.len(), this.name.clone(), self.pieces(&this.name));
        let mut remarks: Vec<String> = self.threads(this).into_iter().collect();
        let mut share: f64 = pieces.iter().map(|piece| piece.share).sum();
        if this.body == Body::Walk {
            remarks.extend(self.walks(path));
        }
        loops.push(LoopBounds { name, share, cycles_per_row: 0.0, pieces, remarks });
        let inside: Vec<LoopId> = match &this.body {
            Body::Walk => Vec::new(),
            Body::Seq(inside) => inside.clone(),
            Body::Cases(cases) => cases.iter().flatten().copied().collect(),
        };
        share += inside.into_iter().map(|id| self.visit(nest, id, path, loops)).sum::<f64>();
        if let Some(own) = loops.get_mut(at) {
            (own.share, own.cycles_per_row) = (share, share * self.per_row());
        }
        path.pop();
        share
    }

    /// Cycles of a row.
    fn per_row(&self) -> f64 {
        self.breakdown.cost.cycles / self.calls.rows.max(1) as f64
    }

    /// The pieces of work of a loop, the largest first.
    fn pieces(&self, name: &str) -> Vec<PieceBounds> {
        let own = self.breakdown.by_origin.iter().filter(|piece| piece.origin.name == name);
        let mut pieces: Vec<PieceBounds> = own.map(|piece| self.piece(piece)).collect();
        pieces.sort_by(|one, other| other.share.total_cmp(&one.share));
        pieces
    }

    fn piece(&self, piece: &OriginCycles) -> PieceBounds {
        let cycles = piece.cycles();
        let share = cycles / self.breakdown.cost.cycles.max(f64::MIN_POSITIVE);
        let task = match piece.origin.task {
            Task::Iterations => "iterations",
            Task::Copies => "copies",
            Task::Sums => "sums",
            Task::Columns => "columns",
        };
        let limits = piece.limits.iter().map(|(limit, of)| LimitShare {
            limit: limit_name(*limit, self.machine.caches.len()),
            share: of / cycles.max(f64::MIN_POSITIVE),
        });
        PieceBounds {
            task,
            stage: piece.origin.stage.clone(),
            share,
            cycles_per_row: share * self.per_row(),
            limits: limits.collect(),
        }
    }

    /// Iterations of a loop if every tile is full. `None` if a bound is not known.
    fn trip(&self, this: &Loop) -> Option<u64> {
        let rows = i64::try_from(self.calls.rows).ok()?;
        let value = |sym: &Sym| {
            let known = |property| (property == Property::Rows).then_some(rows);
            sym.substitute(&known).ok()?.as_int()
        };
        let (start, stop, step) = (value(&this.start)?, value(&this.stop)?, value(&this.step)?);
        u64::try_from(stop - start).ok()?.div_ceil(u64::try_from(step).ok()?.max(1)).into()
    }

    /// A remark on the iterations that a parallel loop gives the threads of a call.
    fn threads(&self, this: &Loop) -> Option<String> {
        let threads = self.calls.threads.max(1);
        let trip = self.trip(this).filter(|_| this.annotations.parallel)?;
        let rounds = trip.div_ceil(threads).max(1);
        let idle = percent_idle(trip, rounds * threads);
        Some(match (threads, idle) {
            (1, _) => format!("threads: one runs all {trip} iterations"),
            (_, 0) => format!("threads: {trip} iterations keep {threads} threads busy"),
            _ => format!("idle threads: {trip} iterations for {threads} threads leave {idle}% of their time"),
        })
    }

    /// Remarks on the tables that the walks of a leaf loop read, and on the occupancy of their vectors.
    fn walks(&self, path: &[&Loop]) -> Vec<String> {
        let Some(leaf) = path.last() else { return Vec::new() };
        let Some(walk) = self.stages.plan.walks.values().find(|walk| walk.name == leaf.name) else {
            return Vec::new();
        };
        let lanes = leaf.annotations.vectorize.unwrap_or(1);
        let mut remarks = self.memory(path, walk);
        remarks.extend(self.idle_lanes(leaf, u64::from(lanes)));
        remarks
    }

    /// Remarks on the caches that hold trees and rows during the walks, and on the number of times that each
    /// tree is read.
    fn memory(&self, path: &[&Loop], walk: &WalkPlan) -> Vec<String> {
        let Some(stored) = self.stages.plan.storages.get(&walk.storage) else { return Vec::new() };
        let outermost = path.iter().position(|this| this.axis == Axis::Tree).unwrap_or(path.len());
        let inside = path.iter().skip(outermost).filter(|this| this.axis == Axis::Row);
        let rows = inside.filter_map(|this| self.trip(this)).product::<u64>().min(self.calls.rows.max(1));
        let times = match rows {
            1 => "read again for each row".to_string(),
            rows => format!("read once for {rows} rows"),
        };
        let trees = stored.bytes;
        let trees = format!("trees: {} in {}, {times}", bytes_text(trees), self.caches.holding_text(trees));
        let hir = &self.stages.hir;
        let (columns, element) = match &hir.bins {
            Some(bins) => (u64::from(bins.columns()), u64::from(bins.element().bytes())),
            None => (hir.forest.num_features as u64, hir.forest.types.input.bytes() as u64),
        };
        let block = rows * columns * element;
        let near = self.caches.holding_text(block);
        vec![trees, format!("rows: {rows} of {columns} columns, {} in {near}", bytes_text(block))]
    }

    /// A remark on idle lanes, if the loop's length is no multiple of the lanes.
    fn idle_lanes(&self, leaf: &Loop, lanes: u64) -> Option<String> {
        let tile = self.trip(leaf).filter(|tile| *tile > 0 && lanes > 1)?;
        let all = if leaf.axis == Axis::Row { self.calls.rows } else { tile };
        let tile = tile.min(all.max(1));
        let vectors = all / tile * tile.div_ceil(lanes) + (all % tile).div_ceil(lanes);
        let idle = percent_idle(all, vectors * lanes);
        let count =
            |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let served = count(all, if leaf.axis == Axis::Row { "row" } else { "tree" });
        let vectors = count(vectors, "vector");
        (idle > 0).then(|| format!("idle lanes: {idle}% of {vectors} of {lanes} for {served}"))
    }
}

/// The idle part of `places` lanes or turns of threads, of which `used` work, in percent.
fn percent_idle(used: u64, places: u64) -> u64 {
    let places = places.max(1);
    (100 * places.saturating_sub(used) + places / 2) / places
}

/// The name of a limit, on a machine with `levels` levels of memory.
fn limit_name(limit: Limit, levels: usize) -> &'static str {
    match limit {
        Limit::Latency => "latency",
        Limit::Instructions => "instructions",
        Limit::Arithmetic => "arithmetic",
        Limit::Lookups => "look-ups",
        Limit::Gathers => "gathers",
        Limit::Accesses => "loads and stores",
        Limit::Lines(level) if level >= levels => "memory",
        Limit::Lines(..=2) => "L2",
        Limit::Lines(_) => "L3",
        Limit::Branches => "branches guessed wrong",
        Limit::Call => "entering the code",
    }
}
