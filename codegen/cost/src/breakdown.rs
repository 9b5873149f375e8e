//! Where the cycles of a call go: how many each loop of the nest takes, and what it is that takes them.
//!
//! What a piece of code adds to the time of its iteration is told of its origin, and so is what it keeps busy. A loop then
//! says which of the two limits it: the parts of the core that all its iterations share, or what they wait for. Its time goes to
//! the origins inside by their share in that, so that all of them together are the time of the call.

use crate::loops::{COUNTING, Sampled};
use crate::memory::Served;
use crate::operation::Kind;
use crate::read::Reader;
use crate::work::{Part, Shared, Work};
use crate::{Call, Cost, Machine, whole};
use sched_ir::lir::{Module, Origin, Value};

/// What the time of code goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Each instruction waits for the result of another one.
    Latency,
    /// The core begins no more instructions in a cycle.
    Instructions,
    /// Arithmetic, comparisons and choices.
    Arithmetic,
    /// Look-ups in registers and lanes that change places.
    Lookups,
    /// Gathers.
    Gathers,
    /// Loads and stores that the first cache serves.
    Accesses,
    /// Lines that come from farther than the first cache: the level, from 2; the last one is main memory.
    Lines(usize),
    /// Branches that are guessed wrong.
    Branches,
    /// To enter the code, and to leave it.
    Call,
}

/// All of them, as far as a machine of so many levels of memory has them, in the order of their numbers.
const SIMPLE: [Limit; 8] = [
    Limit::Latency,
    Limit::Instructions,
    Limit::Arithmetic,
    Limit::Lookups,
    Limit::Gathers,
    Limit::Accesses,
    Limit::Branches,
    Limit::Call,
];
/// Levels of memory that are told apart.
const LEVELS: usize = 6;
const LIMITS: usize = SIMPLE.len() + LEVELS;

impl Limit {
    fn number(self) -> usize {
        match self {
            Limit::Lines(level) => SIMPLE.len() + level.min(LEVELS - 1),
            other => SIMPLE.iter().position(|limit| *limit == other).unwrap_or(0),
        }
    }

    fn of_number(number: usize) -> Limit {
        SIMPLE.get(number).copied().unwrap_or(Limit::Lines(number.saturating_sub(SIMPLE.len())))
    }
}

/// What the cycles of a call go to.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// All of them.
    pub cost: Cost,
    /// Those of each origin.
    pub pieces: Vec<Piece>,
}

/// The cycles of one origin, without those of loops inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What the code is for.
    pub origin: Origin,
    /// What its cycles go to, the most first.
    pub limits: Vec<(Limit, f64)>,
}

impl Piece {
    /// All its cycles.
    pub fn cycles(&self) -> f64 {
        self.limits.iter().map(|(_, cycles)| cycles).sum()
    }
}

/// What a call of the kernel from rows to margins costs, by loops. None if there is no such kernel.
pub fn breakdown(module: &Module, machine: &Machine, call: Call<'_>) -> Option<Breakdown> {
    let mut told = Told::default();
    let (cost, origins) = whole(module, machine, call, Some(&mut told))?;
    let pieces = told.0.into_iter().enumerate().filter_map(|(number, of)| {
        let origin = origins.all().get(number)?.clone();
        let cycles = of.cycles.iter().enumerate();
        let mut limits: Vec<(Limit, f64)> = cycles
            .filter(|(_, cycles)| **cycles > 0.0)
            .map(|(number, cycles)| (Limit::of_number(number), *cycles))
            .collect();
        limits.sort_by(|one, other| other.1.total_cmp(&one.1));
        (!limits.is_empty()).then_some(Piece { origin, limits })
    });
    Some(Breakdown { cost, pieces: pieces.collect() })
}

/// What is told of one origin.
#[derive(Clone, Copy, Debug, Default)]
struct Of {
    cycles: [f64; LIMITS],
    work: Work,
    /// Cycles of lines from each level, by its number.
    lines: [f64; LEVELS],
    /// Cycles that the statement that is read waits for such lines.
    waits: f64,
}

/// What is told of all origins, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Told(Vec<Of>);

impl Told {
    fn of(&mut self, origin: Option<usize>) -> &mut Of {
        let number = origin.unwrap_or(0);
        if self.0.len() <= number {
            self.0.resize(number + 1, Of::default());
        }
        &mut self.0[number]
    }

    /// So many times the same, added to others.
    pub fn add_to(&self, all: &mut Told, times: f64) {
        for (number, mine) in self.0.iter().enumerate() {
            let of = all.of(Some(number));
            for (sum, cycles) in of.cycles.iter_mut().zip(mine.cycles) {
                *sum += cycles * times;
            }
            for (sum, cycles) in of.lines.iter_mut().zip(mine.lines) {
                *sum += cycles * times;
            }
            of.work.and(&mine.work.times(times));
        }
    }

    /// So many times the same.
    pub fn times(&self, times: f64) -> Told {
        let mut all = Told::default();
        self.add_to(&mut all, times);
        all
    }

    /// Notes a piece of code: what it keeps busy, and by how much it makes its iteration longer.
    pub fn note(&mut self, origin: Option<usize>, work: &Work, longer: f64) {
        let of = self.of(origin);
        of.work.and(work);
        // What it has waited for lines since the last note is for these.
        let far = longer.clamp(0.0, std::mem::take(&mut of.waits));
        of.cycles[Limit::Lines(of.farthest()).number()] += far;
        of.cycles[Limit::Latency.number()] += longer.max(0.0) - far;
    }

    /// Notes from where an access is served that the first cache does not serve.
    pub fn note_access(
        &mut self,
        (origin, waits): (Option<usize>, bool),
        served: &Served,
        machine: &Machine,
    ) {
        let of = self.of(origin);
        for (share, bytes) in &served.shares {
            let (latency, line) = machine.beyond_first(*bytes, served.waits);
            if latency <= 0.0 && line <= 0.0 {
                continue;
            }
            let holding = machine.caches.iter().position(|cache| cache.bytes >= *bytes);
            let level = holding.unwrap_or(machine.caches.len().saturating_sub(1)).clamp(1, LEVELS - 2) + 1;
            let waits = if waits && served.waits { latency } else { 0.0 };
            of.lines[level] += share * (served.lines * line + waits);
            of.waits += share * waits;
        }
    }

    /// The time of a loop: what its iterations keep busy limits it, or the cycles that each piece took do.
    pub fn settle(&mut self, elapsed: f64, limit: Option<Shared>, issue: f64) {
        let Some(shared) = limit else {
            let all: f64 = self.0.iter().flat_map(|of| of.cycles).sum();
            let times = if all > 0.0 { elapsed / all } else { 0.0 };
            return self.0.iter_mut().for_each(|of| of.cycles.iter_mut().for_each(|cycles| *cycles *= times));
        };
        let all: f64 = self.0.iter().map(|of| of.work.busy(shared, issue)).sum();
        for of in &mut self.0 {
            let share = if all > 0.0 { of.work.busy(shared, issue) / all } else { 0.0 };
            of.cycles = [0.0; LIMITS];
            of.cycles[of.limit(shared).number()] = elapsed * share;
        }
    }

    /// Cycles that belong to no loop.
    pub fn note_call(&mut self, cycles: f64) {
        self.of(None).cycles[Limit::Call.number()] += cycles;
    }
}

impl Of {
    /// The level of memory that most of its lines come from.
    fn farthest(&self) -> usize {
        let levels = self.lines.iter().enumerate();
        levels.max_by(|one, other| one.1.total_cmp(other.1)).map_or(2, |(level, _)| level.max(2))
    }

    fn limit(&self, shared: Shared) -> Limit {
        let more = |part, than| self.work.part(part) > self.work.part(than);
        match shared {
            Shared::Vectors => Limit::Arithmetic,
            Shared::Lookups => Limit::Lookups,
            Shared::Ports if more(Part::Gathers, Part::Memory) => Limit::Gathers,
            Shared::Ports => Limit::Accesses,
            Shared::Lines => Limit::Lines(self.farthest()),
            Shared::Instructions => Limit::Instructions,
            Shared::Branches => Limit::Branches,
        }
    }
}

impl Reader<'_> {
    /// The number of a value's origin.
    pub(crate) fn origin(&self, value: Value) -> Option<usize> {
        self.function.origins.number(value)
    }

    /// Reads a statement, and notes it.
    pub(crate) fn told_of(&mut self, value: Value, work: &mut Work, read: impl FnOnce(&mut Self, &mut Work)) {
        if self.told.is_none() {
            return read(self, work);
        }
        let (mut own, before) = (Work::default(), self.latest);
        read(self, &mut own);
        work.and(&own);
        let (origin, longer) = (self.origin(value), self.latest - before);
        if let Some(told) = &mut self.told {
            told.note(origin, &own, longer);
        }
    }

    /// Notes that a loop counts.
    pub(crate) fn note_counting(&mut self, counter: Value) {
        let origin = self.origin(counter);
        if let Some(told) = &mut self.told {
            let mut work = Work::default();
            work.add(Kind::Scalar, 0.0, COUNTING);
            told.note(origin, &work, 0.0);
        }
    }

    /// Notes branches that were guessed wrong.
    pub(crate) fn note_branches(&mut self, counter: Value, cycles: f64) {
        let origin = self.origin(counter);
        if let Some(told) = &mut self.told {
            told.note(origin, &Work::alone(cycles), 0.0);
        }
    }

    /// Tells of a loop whose iterations have been read how long it takes.
    pub(crate) fn tell(&mut self, mut sampled: Sampled, waiting: f64, elapsed: f64) {
        let Some(all) = &mut self.told else { return };
        let (work, issue) = (*sampled.work(), self.machine.issue);
        let limit = (work.bound(issue) >= waiting).then(|| work.busiest(issue));
        let mut told = std::mem::take(&mut sampled.told);
        told.settle(elapsed, limit, issue);
        told.add_to(all, 1.0);
    }
}
