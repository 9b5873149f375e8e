//! Residency: for each access, the bytes that the core touches before it uses the same cache lines again, and
//! the number of lines that the access fetches.

use super::access::{LINE, LoopAccess, Motion, Site};
use crate::machine::Machine;
use sched_ir::lir::{Function, Space, Value};
use std::collections::{BTreeMap, HashMap};

/// The levels of memory in which an access finds its cache lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Residency {
    /// Reuse distances: shares of the accesses, each with the bytes that the core touches between two uses of
    /// a cache line.
    shares: Vec<(f64, f64)>,
    /// Lines that one access fetches, on average.
    lines: f64,
    /// Whether data decides the address, so that no prefetch hides the wait for the line.
    waits: bool,
}

/// The cost of the cache lines of accesses that are used again within one working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCost {
    /// The working set, in bytes, within which the lines are used again. It decides the level that serves
    /// them.
    pub bytes: f64,
    /// Cycles that one access takes of the bandwidth for cache lines, on average.
    pub busy: f64,
    /// Cycles by which one access is later than in the first-level cache, on average; 0 if lines are fetched
    /// ahead.
    pub wait: f64,
}

impl Residency {
    /// The costs of one access on a machine, by the levels that serve it.
    pub fn costs<'r>(&'r self, machine: &'r Machine) -> impl Iterator<Item = LineCost> + 'r {
        self.shares.iter().map(|&(share, bytes)| {
            let (latency, line) = machine.cost_beyond_first_cache(bytes, self.waits);
            let wait = if self.waits { share * latency } else { 0.0 };
            LineCost { bytes, busy: self.lines * share * line, wait }
        })
    }
}

/// An access with its residency, and the sums of its costs over all levels.
#[derive(Clone, Debug)]
pub struct PlacedAccess {
    /// The residency.
    pub residency: Residency,
    /// Cycles that one access takes of the bandwidth for cache lines, on average.
    pub busy: f64,
    /// Cycles by which one access is later than in the first-level cache, on average.
    pub wait: f64,
}

/// The accesses of a call with their residencies.
pub struct PlacedAccesses {
    /// Loads, by the value that they define.
    loads: Vec<Option<PlacedAccess>>,
    stores: HashMap<Site, PlacedAccess>,
}

impl PlacedAccesses {
    /// The access at a site.
    pub fn get(&self, site: Site) -> Option<&PlacedAccess> {
        match site.store {
            None => self.loads.get(site.value.0 as usize)?.as_ref(),
            Some(_) => self.stores.get(&site),
        }
    }
}

/// The residency of each access of a call. `sizes` has the bytes of each buffer.
pub(super) fn place(
    accesses: &[LoopAccess],
    function: &Function,
    sizes: &[f64],
    machine: &Machine,
) -> PlacedAccesses {
    let footprints = Footprints::of(accesses, sizes);
    let groups = MotionGroups::of(accesses);
    let placement = Placement { function, sizes, machine, footprints: &footprints };
    let mut placed = PlacedAccesses { loads: vec![None; function.types.len()], stores: HashMap::new() };
    for access in accesses {
        let residency = placement.of(access);
        let residency = Residency { lines: residency.lines * groups.share(access), ..residency };
        let sum = |of: fn(&LineCost) -> f64| residency.costs(machine).map(|cost| of(&cost)).sum();
        let (busy, wait) = (sum(|cost| cost.busy), sum(|cost| cost.wait));
        let one = PlacedAccess { residency, busy, wait };
        match access.site.store {
            None => {
                if let Some(load) = placed.loads.get_mut(access.site.value.0 as usize) {
                    *load = Some(one);
                }
            }
            Some(_) => {
                placed.stores.insert(access.site, one);
            }
        }
    }
    placed
}

/// The bytes that one iteration of each loop touches. A loop is named as in
/// [`super::access::LoopAround::name`], the call by `None`.
struct Footprints {
    /// By loop and buffer: the sum of the bytes of all accesses, and the most bytes that they can touch
    /// together. Sums are computed in the order of keys, so that they are the same in each run.
    touched: BTreeMap<(Option<Value>, usize), (f64, f64)>,
    /// By loop: bytes of all buffers.
    loops: HashMap<Option<Value>, f64>,
}

impl Footprints {
    fn of(accesses: &[LoopAccess], sizes: &[f64]) -> Footprints {
        let mut touched: BTreeMap<(Option<Value>, usize), (f64, f64)> = BTreeMap::new();
        for access in accesses {
            let size = size_of(access, sizes);
            let names = std::iter::once(None).chain(access.around.iter().map(|around| Some(around.name)));
            for (depth, name) in names.enumerate() {
                let (bytes, most) = access.touched_bytes(depth, size);
                let (sum, limit) = touched.entry((name, access.buffer)).or_default();
                (*sum, *limit) = (*sum + bytes, limit.max(most));
            }
        }
        let mut loops: HashMap<Option<Value>, f64> = HashMap::new();
        for ((name, _), (sum, limit)) in &touched {
            *loops.entry(*name).or_default() += sum.min(*limit);
        }
        Footprints { touched, loops }
    }

    /// Bytes that one iteration of a loop touches.
    fn bytes(&self, name: Option<Value>) -> f64 {
        self.loops.get(&name).copied().unwrap_or(0.0)
    }

    /// Share of the lines of an access that no other access of its buffer has touched in the same iteration.
    /// Accesses whose addresses data decides may touch the same lines.
    fn own_share(&self, name: Option<Value>, buffer: usize) -> f64 {
        self.touched.get(&(name, buffer)).map_or(1.0, |(sum, limit)| (limit / sum).min(1.0))
    }
}

/// Bytes of the buffer of an access.
fn size_of(access: &LoopAccess, sizes: &[f64]) -> f64 {
    sizes.get(access.buffer).copied().unwrap_or(f64::INFINITY)
}

/// Groups of accesses whose addresses move in the same way, so that they share cache lines: bytes and lines
/// of each group.
struct MotionGroups(HashMap<Motion, (f64, f64)>);

impl MotionGroups {
    fn of(accesses: &[LoopAccess]) -> MotionGroups {
        let mut groups: HashMap<Motion, (f64, f64)> = HashMap::new();
        for access in accesses.iter().filter(|access| access.data_decided_lines.is_none()) {
            let (bytes, lines) = groups.entry(access.motion()).or_default();
            *bytes += access.bytes;
            *lines += (access.bytes / LINE).max(1.0);
        }
        MotionGroups(groups)
    }

    /// The share of an access in the lines of its group.
    fn share(&self, access: &LoopAccess) -> f64 {
        let group = self.0.get(&access.motion()).filter(|_| access.data_decided_lines.is_none());
        group.map_or(1.0, |(bytes, lines)| (bytes / LINE).max(1.0) / lines)
    }
}

/// The inputs of the computation of residencies.
struct Placement<'p> {
    function: &'p Function,
    sizes: &'p [f64],
    machine: &'p Machine,
    footprints: &'p Footprints,
}

impl Placement<'_> {
    /// The residency of an access, without the share of its lines that other accesses of its motion group
    /// fetch.
    fn of(&self, access: &LoopAccess) -> Residency {
        let mut lines = 1.0;
        // If data decides the address: the shares of executions that use a line again in the loops visited
        // so far, and the remaining share.
        let (mut shares, mut rest) = (Vec::new(), 1.0);
        for (depth, around) in access.around.iter().enumerate().rev() {
            let fresh = access.new_lines(depth);
            if around.trips <= 1.0 || fresh >= 1.0 {
                continue;
            }
            let iteration = self.footprints.bytes(Some(around.name));
            if let Some(random) = access.data_decided_lines {
                let (first, touched) = self.first_touches(access, random, depth);
                let first = first.min(rest);
                // The access returns to the line after some iterations, in which it touches other lines.
                shares.push((rest - first, iteration.max(touched)));
                rest = first;
                continue;
            }
            // If one iteration fits the first-level cache, lines of the previous one are still there, and
            // only new lines are fetched.
            if fresh == 0.0 || !self.machine.fits_first_cache(iteration) {
                return residency(access, vec![(1.0, iteration)], lines);
            }
            lines *= fresh;
        }
        let space = self.function.buffers.get(access.buffer).map(|buffer| buffer.space);
        let total = self.footprints.bytes(None);
        // Each call uses the tables and the memory for results again. Its rows are new: no cache of the core
        // has them, but the TLB has their pages. Rows that exceed the last-level cache come from memory.
        let far = match space {
            Some(Space::Input) => self.machine.shared_cache_probe_bytes().max(size_of(access, self.sizes)),
            _ => total,
        };
        let first =
            access.data_decided_lines.map_or(rest, |lines| self.first_touches(access, lines, 0).0.min(rest));
        shares.extend([(rest - first, total), (first, far)]);
        residency(access, shares, lines)
    }

    /// Returns the share of an access's executions that are the first to touch their line in the loop at
    /// `depth`. Also returns the bytes of these lines. Each execution touches `lines` lines, which data
    /// decides.
    fn first_touches(&self, access: &LoopAccess, lines: f64, depth: usize) -> (f64, f64) {
        let (touched, _) = access.touched_bytes(depth, size_of(access, self.sizes));
        let own = self.footprints.own_share(access.enclosing_loop(depth), access.buffer);
        let firsts = touched / LINE * own;
        (firsts / (access.executions(depth) * lines), touched)
    }
}

/// The residency of an access with these shares. If no data is needed for its address, `new_lines` is the
/// share of its executions that go to a new line.
fn residency(access: &LoopAccess, shares: Vec<(f64, f64)>, new_lines: f64) -> Residency {
    let lines = match access.data_decided_lines {
        Some(lines) => lines,
        None => new_lines * (access.bytes / LINE).max(1.0),
    };
    Residency { shares, lines, waits: access.data_decided_lines.is_some() }
}
